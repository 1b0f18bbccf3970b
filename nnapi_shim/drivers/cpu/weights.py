"""Constants of a prepared model: addresses, repacked copies shared by its programs, a digest."""

from collections.abc import Callable

from nnapi_shim import address
from nnapi_shim.drivers.cpu.library import KernelLibrary
from nnapi_shim.drivers.cpu.own_values import own_values
from nnapi_shim.drivers.cpu.program import run_step
from nnapi_shim.drivers.cpu.record import ADDRESS, At, Buffer, Step
from nnapi_shim.drivers.cpu.threads import ALONE, Crew
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal.enums import OperandLifeTime, ResultCode
from nnapi_shim.hal.types import DataLocation, Model, Subgraph
from nnapi_shim.hints import TYPE_CHECKING, Any
from nnapi_shim.operations.declare import BoundOperand

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.digest import Digest, Underway

REFERENCE = OperandLifeTime.CONSTANT_REFERENCE


class OutOfTime(Exception):  # noqa: N818 (who calls knows what was late)
    """The deadline has passed while constants were packed."""


class Constants:
    """Where the constants of a model lie, what `once` steps made of them, and their digest."""

    def __init__(self, model: Model, crew: Crew = ALONE) -> None:
        self.crew = crew
        """The threads of the model's runs, and of packing."""
        self.values, self._keep = address.address_of(model.operand_values)
        """Address of the model's own constants."""
        self._model = model
        self._packed: dict[Any, address.Block] = {}
        self._own = own_values(model.operand_values)
        self._added: list[tuple[int, Any]] = []
        """Address of what `add` was given, and what keeps it."""
        self._digest: Underway | NnapiError | MemoryError | None = None

    def addresses(self, graph: Subgraph) -> dict[int, int]:
        """Operand -> address, of all constants of a graph."""
        found: dict[int, int] = {}
        for index, operand in enumerate(graph.operands):
            if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
                found[index] = self.values + operand.location.offset
            elif operand.lifetime is REFERENCE:
                found[index] = self.pool(operand.location.pool_index) + operand.location.offset
        return found

    def pool(self, number: int) -> int:
        """Address of one of the model's memories; raises UNMAPPABLE."""
        pools = self._model.pools
        return pools[number].map() if number < len(pools) else self._added[number - len(pools)][0]

    def add(self, contents: bytes) -> tuple[DataLocation, int]:
        """Keep a constant that the model does not have: where operands say that it lies, as if the
        model had one more memory, and its address.
        """
        block = address.Block(len(contents))
        address.view(block.address, len(contents))[:] = contents
        self._added.append((block.address, block))
        number = len(self._model.pools) + len(self._added) - 1
        return DataLocation(number, 0, len(contents)), block.address

    def is_added(self, place: DataLocation) -> bool:
        """Whether what an operand refers to comes from `add`."""
        return place.pool_index >= len(self._model.pools)

    def begin_digest(self, digest: "Digest") -> None:
        """Find the digest of all constants, of many on a thread meanwhile."""
        values = self._model.operand_values
        ranges = [(self.values, len(values))]
        try:
            for graph in (self._model.main, *self._model.referenced):
                for operand in graph.operands:
                    if operand.lifetime is REFERENCE:
                        where = operand.location
                        ranges.append((self.pool(where.pool_index) + where.offset, where.length))
            self._digest = digest.begun(b"all", ranges, self._model)
        except (NnapiError, MemoryError) as error:
            self._digest = error

    def digest(self) -> bytes:
        """The digest that `begin_digest` looks for; raises UNMAPPABLE."""
        found = self._digest
        if found is None or isinstance(found, Exception):
            raise found or op_failed("the constants could not be looked at")
        return found.result()

    def fill(
        self,
        library: KernelLibrary,
        step: Step,
        constant_address: Callable[[BoundOperand], int | None],
        deadline_ns: int,
    ) -> bool:
        """Run a `once` step now if every operand that it reads is constant; whether it was run.

        deadline_ns: as in Builder; raises OutOfTime behind it.
        Its result is kept under what determines it, so that the programs of other shapes find it.
        """
        values: list[Any] = []
        reads_constants, is_own = False, True
        for name, kind in step.record.fields.items():
            value = step.fields[name]
            if kind == ADDRESS and name != "output":
                value = self._constant(value, constant_address)
                if value is None:
                    return False
                reads_constants |= isinstance(value, int) and value != 0
                is_own = is_own and self._own.has(value)
            values.append(value)
        output: Buffer = step.fields["output"]
        at = list(step.record.fields).index("output")
        key = (step.kernel, *values[:at], *values[at + 1 :])
        block = self._own.packed.get(key) if is_own else self._packed.get(key)
        if block is None:
            block = address.Block(output.length)
            values[at] = block.address
            self._run(library, step, values, deadline_ns)
            self._packed[key] = block
        if is_own:
            block = self._own.kept(key, block)
        output.address = block.address
        output.holds_weights = reads_constants
        return True

    def _constant(
        self, value: Any, constant_address: Callable[[BoundOperand], int | None]
    ) -> int | bytes | None:
        """What an ADDRESS field of a `once` step stands for: an address or literal bytes; None for
        what a run has to compute.
        """
        offset = 0
        while isinstance(value, At):
            offset += value.offset
            value = value.base
        if value is None:
            return 0
        if isinstance(value, bytes):
            return value[offset:]
        where = value.address if isinstance(value, Buffer) else constant_address(value)
        return None if where is None else where + offset

    def _run(self, library: KernelLibrary, step: Step, values: list[Any], deadline_ns: int) -> None:
        literals = [address.address_of(v) if isinstance(v, bytes) else None for v in values]
        words = [v if kept is None else kept[0] for v, kept in zip(values, literals, strict=True)]
        block, keep = address.address_of(step.record.pack(*words))
        code = run_step(library, step.kernel, block, step.tiles, deadline_ns, self.crew)
        del keep, literals
        if code == ResultCode.MISSED_DEADLINE_TRANSIENT:
            raise OutOfTime
        if code:
            raise op_failed(f"kernel {step.kernel} failed while constants were packed")
