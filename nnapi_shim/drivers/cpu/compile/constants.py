"""Constants of a prepared model: addresses, repacked copies shared by its programs, a digest."""

from collections.abc import Callable

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.library import KernelLibrary
from nnapi_shim.drivers.cpu.program.program import StepsInOrder
from nnapi_shim.drivers.cpu.program.record import At, Buffer, Step
from nnapi_shim.drivers.cpu.program.shared_constants import own_values
from nnapi_shim.drivers.cpu.program.threads import ALONE, Crew
from nnapi_shim.errors import NnapiError, Where, op_failed
from nnapi_shim.hal.enums import OperandLifeTime, ResultCode
from nnapi_shim.hal.types import DataLocation, Dimensions, Model, Subgraph
from nnapi_shim.hints import TYPE_CHECKING, Any
from nnapi_shim.operations.declare import BoundOperand

if TYPE_CHECKING:
    from nnapi_shim.drivers.cpu.program.digest import Digest, Underway

WORTH_A_THREAD = 64 << 10
"""Packed bytes that take longer than another thread takes to begin: some 50 us."""

REFERENCE = OperandLifeTime.CONSTANT_REFERENCE


class OutOfTime(Exception):  # noqa: N818 (who calls knows what was late)
    """The deadline has passed while constants of an operation were packed."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self.where = where


class Constants:
    """Where the constants of a model lie, what `once` steps made of them, and their digest."""

    def __init__(self, model: Model, crew: Crew = ALONE) -> None:
        self.crew = crew
        """The threads of the model's runs, and of packing."""
        self._model = model
        self._packed: dict[Any, address.Block] = {}
        self._packed_twice: list[address.Block] = []
        self._own = own_values(model.operand_values)
        self.values = self._own.address
        """Address of the model's own constants."""
        self.halved: set[tuple[int, Dimensions]] = set()
        """Addresses and dimensions of float32 weights that passes allow to be kept as float16."""
        self._added: list[tuple[int, Any]] = []
        """Address of what `add` was given, and what keeps it."""
        self._digest: Underway | NnapiError | MemoryError | None = None

    @property
    def are_relaxed(self) -> bool:
        """Whether float32 may be computed with the range and precision of float16."""
        return self._model.relax_computation_float32_to_float16

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
        entry = block.address, block
        self._added.append(entry)
        at = len(self._added) - 1
        while self._added[at] is not entry:  # another thread has added one meanwhile
            at -= 1
        return DataLocation(len(self._model.pools) + at, 0, len(contents)), block.address

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
            self._digest = digest.begun(b"all", ranges, (self._model, self._own))
        except (NnapiError, MemoryError) as error:
            self._digest = error

    def digest(self) -> bytes:
        """The digest that `begin_digest` looks for; raises UNMAPPABLE."""
        found = self._digest
        if found is None or isinstance(found, Exception):
            raise found or op_failed(
                "the constants could not be looked at", "compilation.constants.unreadable"
            )
        return found.result()

    def fill(
        self,
        step: Step,
        constant_address: Callable[[BoundOperand], int | None],
        packing: "Packing",
        where: Where,
    ) -> bool:
        """Let `packing` run a `once` step if every operand that it reads is constant; whether so.

        Its result is kept under what determines it, so that the programs of other shapes find it.
        """
        values = [*step.record.values(step.fields)]
        reads_constants, is_own, output_at = False, True, 0
        for at, name in step.record.addresses:
            if name == "output":
                output_at = at
                continue
            value = values[at] = self._constant(values[at], constant_address)
            if value is None:
                return False
            reads_constants |= isinstance(value, int) and value != 0
            is_own = is_own and (self._own.has(value) or value in packing.own)
        output: Buffer = step.fields["output"]
        key = (step.kernel, *values[:output_at], *values[output_at + 1 :])
        block = self._own.packed.get(key) if is_own else self._packed.get(key)
        block = block or packing.blocks.get(key)
        if block is None:
            block = packing.row.block(output.length)
            values[output_at] = block.address
            packing.add(step, values, where)
            packing.blocks[key] = block
            packing.bytes += block.length
            if is_own:
                packing.own[block.address] = key
        output.address = block.address
        output.holds_weights = reads_constants
        return True

    def begin_packing(self, library: KernelLibrary, packing: "Packing", deadline_ns: int) -> None:
        """Let another thread run what has been put off, if it is much and there may be another."""
        packing.row.close()
        if self.crew.threads > 1 and packing.bytes >= WORTH_A_THREAD:
            packing.begun = StepsInOrder(library, packing.steps, deadline_ns, self.crew)
            packing.begun.begin((self, packing.blocks, packing.literals))

    def pack(self, library: KernelLibrary, packing: "Packing", deadline_ns: int) -> None:
        """Run what has been put off, and keep what it makes.

        deadline_ns: as in Builder; raises OutOfTime behind it.
        """
        if not packing.steps:
            return
        packing.row.close()
        packed = packing.begun or StepsInOrder(library, packing.steps, deadline_ns, self.crew)
        code, stopped = packed.result()
        if code == ResultCode.MISSED_DEADLINE_TRANSIENT:
            raise OutOfTime(packing.places[stopped])
        if code:
            kernel = packing.steps[stopped][0]
            raise op_failed(
                f"kernel {kernel} failed while constants were packed",
                "compilation.constants.packing",
            )
        unkept: set[Any] = set()
        for key, block in packing.blocks.items():
            if self._packed.setdefault(key, block) is not block:
                # Another thread has packed the same meanwhile; programs refer to either.
                self._packed_twice.append(block)
            # What was made of a block that is not kept would be found under an address that
            # belongs to something else one day.
            is_kept = unkept.isdisjoint(key) and (
                block.address not in packing.own or self._own.keep(key, block)
            )
            if not is_kept:
                unkept.add(block.address)

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


class Packing:
    """`once` steps that are put off until all of a program are known, to be run in one go."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, bytes, int]] = []
        """Kernel, record and tiles of each."""
        self.places: list[Where] = []
        """The operation that each comes from."""
        self.blocks: dict[Any, address.Block] = {}
        """What they make, under what determines it."""
        self.own: dict[int, Any] = {}
        """By its address, the key of what is made of the model's own constants alone."""
        self.row = address.Row()
        """Where they lie."""
        self.bytes = 0
        """How many they make."""
        self.begun: StepsInOrder | None = None
        """All of them, on another thread."""
        self.literals: list[Any] = []
        """What keeps the `bytes` that they read."""

    def add(self, step: Step, values: list[Any], where: Where) -> None:
        """A step with the values of its record; `bytes` of them are kept until it is run."""
        for at, value in enumerate(values):
            if isinstance(value, bytes):
                values[at], keep = address.address_of(value)
                self.literals.append(keep)
        self.steps.append((step.kernel, step.record.pack(*values), step.tiles))
        self.places.append(where)
