"""Packing: runs the `once` steps of a program, which have only constant inputs, at compilation.

All `once` steps of a program run together, so that the threads share them. Between them are steps
that drop the pages of constants in files: these have been read, and would stay in memory beside
what was made of them.
"""

from _struct import pack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.library import KernelLibrary, c_function
from nnapi_shim.drivers.cpu.program.program import StepsInOrder
from nnapi_shim.drivers.cpu.program.record import At, Buffer, Step
from nnapi_shim.errors import Where, op_failed
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any, Callable, Sequence
from nnapi_shim.limits import TooLate
from nnapi_shim.operations.declare import BoundOperand

WORTH_A_THREAD = 64 << 10
"""Packed bytes from which packing takes longer than starting a thread, about 50 us."""

WORTH_DROPPING = 1 << 19
"""Bytes of constants whose pages are dropped at a time."""

AddressOf = Callable[[BoundOperand], int | None]
"""The address of a constant operand; None for any other operand."""


class Packing:
    """The `once` steps of one program. constants: keep the results."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self.steps: list[tuple[str | int, bytes, int]] = []
        """Kernel, by name or address, record and tiles of each step."""
        self._origins: list[Where] = []
        """The operation of each step."""
        self._blocks: dict[Any, address.Block] = {}
        """Key -> result; the key is the kernel with all arguments."""
        self._shared: dict[int, Any] = {}
        """Address -> key, of results that depend only on the model's own constants."""
        self._row = address.Row()
        """The memory of the results."""
        self._bytes = 0
        self._running: StepsInOrder | None = None
        """The steps, while another thread runs them."""
        self._literals: list[Any] = []
        """Owners of the `bytes` that steps read."""
        self._read: dict[int, int] = {}
        """Address -> length, of constants in files whose pages are still to be dropped."""
        self._read_bytes = 0
        """The lengths together."""

    def postpone(self, step: Step, address_of: AddressOf, origin: Where) -> bool:
        """Take over a `once` step if all its inputs are constant; returns whether they are.

        The key of a result is the kernel with all arguments, so programs of other shapes share it.
        """
        fields, record, constants = step.fields, step.record, self._constants
        reads_constants, is_shared, place = False, True, 0
        addresses: dict[str, int | bytes] = {}
        for at, name in record.addresses:
            if name == "output":
                place = at
                continue
            value = _constant(fields[name], address_of)
            if value is None:
                return False
            addresses[name] = value
            reads_constants |= type(value) is int and value != 0
            is_shared = is_shared and (constants.is_shared(value) or value in self._shared)
        values = [*record.values({**fields, **addresses})]
        key = (step.kernel, *values[:place], *values[place + 1 :])
        output: Buffer = fields["output"]
        block = constants.packed(key, is_shared) or self._blocks.get(key)
        if block is None:
            block = self._row.block(output.length)
            self._drop_pages(WORTH_DROPPING)
            values[place] = block.address
            self._add(step, values, origin)
            self._note_files([fields[name] for name in addresses], address_of)
            self._blocks[key] = block
            self._bytes += block.length
            if is_shared:
                self._shared[block.address] = key
        output.address = block.address
        output.holds_weights = reads_constants
        return True

    def _add(self, step: Step, values: list[Any], origin: Where) -> None:
        """Add a step with the values of its record; owns literal `bytes` until the step has run."""
        for at, _ in step.record.addresses:
            if type(values[at]) is bytes:
                values[at], owner = address.address_of(values[at])
                self._literals.append(owner)
        self.steps.append((step.kernel, step.record.pack(*values), step.tiles))
        self._origins.append(origin)

    def _note_files(self, values: Sequence[Any], address_of: AddressOf) -> None:
        """Note constants in files that a step reads."""
        for value in values:
            while isinstance(value, At):
                value = value.base
            where = address_of(value) if isinstance(value, BoundOperand) else None
            if where is not None:
                length = byte_size(value)
                if self._constants.releasable(where, length):
                    self._read_bytes += length - self._read.get(where, 0)
                    self._read[where] = length

    def _drop_pages(self, least: int) -> None:
        """Add steps that drop pages of constants in files, if at least so many bytes were read."""
        if self._read_bytes < least:
            return
        if not _releaser:
            _releaser.append(c_function("nnapi_shim_getPageReleaser", "uint64_t(*)(void)")())
        for where, length in self._read.items():
            self.steps.append((_releaser[0], pack("<2q", where, length), 1))
            self._origins.append(self._origins[-1])
        self._read.clear()
        self._read_bytes = 0

    def begin(self, library: KernelLibrary, deadline_ns: int) -> None:
        """Start the steps on another thread, if the run has threads and the results are at least
        WORTH_A_THREAD bytes.
        """
        self._row.close()
        self._drop_pages(1)
        constants = self._constants
        if constants.crew.threads > 1 and self._bytes >= WORTH_A_THREAD:
            self._running = StepsInOrder(library, self.steps, deadline_ns, constants.crew)
            self._running.begin((constants, self._blocks, self._literals))

    def run(self, library: KernelLibrary, deadline_ns: int) -> None:
        """Run the steps, or wait for the thread that runs them, and keep the results.

        deadline_ns: as in GraphLowering; raises TooLate.
        """
        if not self.steps:
            return
        self._row.close()
        self._drop_pages(1)
        constants = self._constants
        steps = self._running or StepsInOrder(library, self.steps, deadline_ns, constants.crew)
        code, stopped = steps.result()
        if code == ResultCode.MISSED_DEADLINE_TRANSIENT:
            raise TooLate(self._origins[stopped])
        if code:
            kernel = self.steps[stopped][0]
            raise op_failed(
                f"kernel {kernel} failed while constants were packed",
                "compilation.constants.packing",
            )
        constants.keep(self._blocks, self._shared)


_releaser: list[int] = []
"""The address of the C function that drops pages."""


def _constant(value: Any, address_of: AddressOf) -> int | bytes | None:
    """The address or the literal bytes of an ADDRESS field of a `once` step; None if the value is
    not constant.
    """
    offset = 0
    while isinstance(value, At):
        offset += value.offset
        value = value.base
    if value is None:
        return 0
    if isinstance(value, bytes):
        return value[offset:]
    where = value.address if isinstance(value, Buffer) else address_of(value)
    return None if where is None else where + offset
