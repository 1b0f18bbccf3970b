"""Memory objects for constants, inputs and outputs: regions of files, and hardware buffers.

Memory made from a descriptor is in memory_desc.py.
"""

import os

from nnapi_shim import address, process, vlog
from nnapi_shim.errors import bad_data, op_failed, unmappable
from nnapi_shim.hal.types import Dimensions, IBuffer, Operand, Pool
from nnapi_shim.hints import Any
from nnapi_shim.pages import PROT_READ, PROT_WRITE, SharedPages, duplicated

Role = tuple[object, str, int]
"""A compilation, "input" or "output", and the index of the argument."""


class Memory(Pool):
    """A memory object of `size` bytes. Mapped when it is first used, unmapped with the object."""

    operand: Operand | None = None
    """The operand of memory made from a descriptor; None for memory of bytes."""
    buffer: IBuffer | None = None
    """Where the contents are if they lie on a device; such memory is not mapped."""
    is_sized = True
    """Whether `size` is the number of bytes."""
    is_initialized = True
    """Whether it has contents; only memory made from a descriptor can have none."""

    def __init__(self, size: int) -> None:
        self.size = size

    def check_region(self, offset: int, length: int) -> None:
        """Raise BAD_DATA unless `length` bytes from `offset` lie inside; (0, 0) is nothing."""
        if offset == 0 and length == 0:
            raise bad_data(
                "offset and length of the memory region are both 0", "memory.region-empty"
            )
        if offset + length > self.size:
            raise bad_data(
                f"the region of {length} bytes from {offset} exceeds the memory's {self.size}",
                "memory.region-end",
            )

    def check_constant(self, offset: int, length: int) -> None:
        """Raise BAD_DATA unless a constant may use this region."""
        self.check_region(offset, length)

    def check_argument(
        self, role: Role, dimensions: Dimensions | None, offset: int, length: int
    ) -> int | None:
        """Raise BAD_DATA unless an argument of an execution may use this region.

        dimensions: those of the type passed with it, or None.
        Returns the length of the argument in bytes; None if it is unknown.
        """
        self.check_region(offset, length)
        return length

    def map_for_output(self) -> int:
        """Address for results; raises UNMAPPABLE for read-only memory."""
        return self.map()

    def set_initialized(self, initialized: bool) -> None:
        """Record a write, successful or failed; no effect on shared memory."""


class FdMemory(Memory):
    """`size` bytes from `offset` of a file, mapped shared."""

    can_release = True

    def __init__(self, size: int, protect: int, fd: int, offset: int) -> None:
        super().__init__(size)
        self._protect = protect
        self._offset = offset
        self._published: dict[str, SharedPages] = {}
        self._fd = -1
        try:
            self._fd = duplicated(fd)
        except (OSError, ValueError) as error:
            raise op_failed(
                f"file descriptor {fd} cannot be duplicated: {error}",
                "memory.create-from-fd.duplicate",
            ) from None
        vlog.write("memory", f"{size} bytes from {offset} of file descriptor {fd}")

    def __del__(self, close: Any = os.close) -> None:  # when Python ends, `os` may be gone
        if self._fd >= 0:
            close(self._fd)

    def place(self) -> tuple[tuple[int, int], int]:
        """The file, by device and inode, and the offset in it."""
        file = os.fstat(self._fd)
        return (file.st_dev, file.st_ino), self._offset

    def map(self) -> int:
        """Address of the first byte; UNMAPPABLE if the file is too short or not mappable."""
        return self._mapped(PROT_READ, "PROT_READ; an input or constant needs it")

    def map_for_output(self) -> int:
        """As map; raises UNMAPPABLE when the memory was created without PROT_WRITE."""
        return self._mapped(PROT_WRITE, "PROT_WRITE; an output needs it")

    def _mapped(self, needed: int, words: str) -> int:
        if not self._protect & needed:
            raise unmappable(f"the memory was created without {words}", "memory.protection")
        mapping = self._published.get("mapping")
        if mapping is None:
            # If threads race for the first use, one wins; the others unmap theirs.
            mapping = self._published.setdefault("mapping", self._map())
        return mapping.address

    def _map(self) -> SharedPages:
        try:
            return SharedPages(self._fd, self._offset, self.size, self._protect)
        except (OSError, ValueError, OverflowError) as error:
            raise unmappable(
                f"memory of {self.size} bytes from offset {self._offset} of a file of "
                f"{os.fstat(self._fd).st_size} bytes cannot be mapped: {error}",
                "memory.cannot-map",
            ) from None


HARDWARE_BUFFER_LIBRARIES = ("libnativewindow.so", "libandroid.so")
_DESC_BYTES = 40  # sizeof(AHardwareBuffer_Desc)
_BLOB = 0x21
_LEAST_BYTES = 8
"""Of a buffer, whoever made it."""
_CPU_READ_MASK, _CPU_WRITE_MASK = 0xF, 0xF0


class HardwareBufferMemory(Memory):
    """An AHardwareBuffer of the program, accessed by the functions that the program has loaded.

    A buffer of BLOB format is used like memory of a file. Buffers of other formats can be created
    and set as arguments, but no device runs on them: their layout is unknown.
    """

    since = 3

    def __init__(self, buffer: int) -> None:
        """Raises OP_FAILED if the process has no functions for hardware buffers, BAD_DATA for a
        pointer that is detectably no buffer.
        """
        self._acquired = 0
        if not address.is_readable(buffer, _LEAST_BYTES):
            message = f"there is no hardware buffer at {buffer:#x}; it must come from allocate"
            raise bad_data(message, "memory.hardware-buffer.unknown")
        self._libraries: list[Any] = []
        desc = address.Block(_DESC_BYTES)
        self._function("describe", "void(*)(uintptr_t, uintptr_t)")(buffer, desc.address)
        width, _, _, self._format = address.words(desc.address, "uint32_t", 4)
        (self._usage,) = address.words(desc.address + 16, "uint64_t", 1)
        if not self._format:
            message = f"what lies at {buffer:#x} is no hardware buffer; it must come from allocate"
            raise bad_data(f"{message}, and not be released", "memory.hardware-buffer.invalid")
        self.is_sized = self._format == _BLOB
        super().__init__(width if self.is_sized else 0)
        self._lock_buffer = self._function(
            "lock", "int(*)(uintptr_t, uint64_t, int32_t, uintptr_t, uintptr_t)"
        )
        self._unlock_buffer = self._function("unlock", "int(*)(uintptr_t, uintptr_t)")
        self._release_buffer = self._function("release", "void(*)(uintptr_t)")
        # The program is to keep the buffer as long as this memory. But an execution or a model may
        # hold on to the memory for longer than the program knows.
        self._function("acquire", "void(*)(uintptr_t)")(buffer)
        self._acquired = buffer
        vlog.write("memory", f"a hardware buffer of format {self._format}, {self.size} bytes")
        self._address = 0
        self._mapping = process.lock()

    def _function(self, name: str, signature: str) -> Any:
        """A function of AHardwareBuffer, from a library that the program has loaded."""
        symbol = f"AHardwareBuffer_{name}"
        loaded = address.loaded_function(symbol, signature, HARDWARE_BUFFER_LIBRARIES)
        if loaded is None:
            raise op_failed(
                f"{symbol} is not in this process; a program with hardware buffers links or loads "
                f"{' or '.join(HARDWARE_BUFFER_LIBRARIES)}",
                "memory.hardware-buffer.no-library",
            )
        function, library = loaded
        self._libraries.append(library)
        return function

    def __del__(self) -> None:
        if self._acquired:
            if self._address:
                self._unlock_buffer(self._acquired, 0)
            self._release_buffer(self._acquired)

    def check_constant(self, offset: int, length: int) -> None:
        """Raise BAD_DATA unless a constant may use this region (BLOB buffers only)."""
        if not self.is_sized:
            raise bad_data(
                f"a hardware buffer of format {self._format} cannot hold constants",
                "memory.hardware-buffer.constant",
            )
        self.check_region(offset, length)

    def check_argument(
        self, role: Role, dimensions: Dimensions | None, offset: int, length: int
    ) -> int | None:
        """As for other memory; a buffer of another format is used as a whole, (0, 0)."""
        if self.is_sized:
            return super().check_argument(role, dimensions, offset, length)
        if offset or length:
            raise bad_data(
                f"a hardware buffer of format {self._format} is used as a whole: offset is "
                f"{offset} and length {length}; both must be 0",
                "memory.whole-only",
            )
        return None

    def map(self) -> int:
        """Address of the first byte; raises UNMAPPABLE where the CPU may not read the buffer."""
        return self._locked(_CPU_READ_MASK, "CPU_READ usage; an input or constant needs it")

    def map_for_output(self) -> int:
        """As map; raises UNMAPPABLE where the CPU may not write to the buffer."""
        return self._locked(_CPU_WRITE_MASK, "CPU_WRITE usage; an output needs it")

    def _locked(self, needed: int, words: str) -> int:
        if not self.is_sized:
            raise unmappable(
                f"a hardware buffer of format {self._format} cannot be mapped; BLOB can",
                "memory.hardware-buffer.format",
            )
        if not self._usage & needed:
            raise unmappable(
                f"the hardware buffer was allocated without {words}", "memory.hardware-buffer.usage"
            )
        with self._mapping:
            if not self._address:
                self._address = self._lock()
            return self._address

    def _lock(self) -> int:
        """Lock the buffer for the lifetime of this object."""
        result = address.Block(8)
        # CPU usage bits only: a lock with other bits is refused.
        usage = self._usage & (_CPU_READ_MASK | _CPU_WRITE_MASK)
        error = self._lock_buffer(self._acquired, usage, -1, 0, result.address)
        if error:
            raise unmappable(
                f"the hardware buffer cannot be locked: error {error}",
                "memory.hardware-buffer.lock",
            )
        (where,) = address.words(result.address, "uintptr_t", 1)
        return where


def copy(source: Memory, target: Memory) -> None:
    """Copy a whole memory to another; a target made from a descriptor then has contents.

    Raises BAD_DATA for a source without contents and for memories that do not match, UNMAPPABLE
    for one that cannot be accessed. A failure leaves such a target without contents.
    """
    copied = False
    try:
        if source is not target:
            _check_copy(source, target)
            if source.buffer is not None or target.buffer is not None:
                _copy_by_device(source, target)
            elif isinstance(source, FdMemory) and isinstance(target, FdMemory):
                # Both may map the same file at different addresses.
                where = target.map_for_output()
                address.write(where, address.read(source.map(), source.size))
            else:
                address.copy(target.map_for_output(), source.map(), source.size)
        copied = True
    finally:
        target.set_initialized(copied)


def _copy_by_device(source: Memory, target: Memory) -> None:
    """Copy to or from a device, or between two, through memory of the process."""
    size = source.size
    if source.buffer is None:
        assert target.buffer is not None
        target.buffer.copyFrom(source.map(), size)
    elif target.buffer is None:
        source.buffer.copyTo(target.map_for_output(), size)
    else:
        between = address.Block(size)
        source.buffer.copyTo(between.address, size)
        target.buffer.copyFrom(between.address, size)


def _check_copy(source: Memory, target: Memory) -> None:
    """Raise BAD_DATA unless the contents of one memory fit the other."""
    if not source.is_initialized:
        raise bad_data("the source memory has no contents yet", "memory.copy.no-contents")
    one, other = source.operand, target.operand
    if one is not None and other is not None:
        if not is_same_kind(one, other) or one.dimensions != other.dimensions:
            raise bad_data(
                f"the source holds {described(one)}, the target {described(other)}",
                "memory.copy.operand",
            )
    elif source.is_sized and target.is_sized and source.size != target.size:
        raise bad_data(
            f"the source has {source.size} bytes, the target {target.size}", "memory.copy.size"
        )


def is_same_kind(one: Operand, other: Operand) -> bool:
    """Whether operands agree in type, scale, zero point and scales per channel."""
    return (one.type, one.scale, one.zero_point, one.channel_quant) == (
        other.type,
        other.scale,
        other.zero_point,
        other.channel_quant,
    )


def described(operand: Operand) -> str:
    """An operand in a message, such as `TENSOR_QUANT8_ASYMM[2, 3] (scale 0.5, zeroPoint 128)`."""
    text = f"{operand.type.name}{list(operand.dimensions)}"
    if operand.channel_quant is not None:
        return f"{text} ({len(operand.channel_quant.scales)} scales)"
    if operand.scale or operand.zero_point:
        return f"{text} (scale {operand.scale:g}, zeroPoint {operand.zero_point})"
    return text
