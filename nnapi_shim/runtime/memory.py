"""Memory: regions of a file descriptor that hold constants, inputs or outputs."""

import mmap
import os
from typing import Any

from nnapi_shim import address
from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Pool


class Memory(Pool):
    """A memory object of `size` bytes. Mapped when it is first used, unmapped with the object."""

    def __init__(self, size: int) -> None:
        self.size = size

    def check_region(self, offset: int, length: int) -> None:
        """Raise BAD_DATA unless `length` bytes from `offset` lie inside; (0, 0) is nothing."""
        if offset == 0 and length == 0:
            raise bad_data("offset and length of the memory region are both 0")
        if offset + length > self.size:
            raise bad_data(
                f"the region of {length} bytes from {offset} ends behind the memory's {self.size}"
            )

    def check_constant(self, offset: int, length: int) -> None:
        """Raise BAD_DATA unless a constant may lie there."""
        self.check_region(offset, length)

    def map_for_output(self) -> int:
        """Address for results; raises UNMAPPABLE for memory that may only be read."""
        return self.map()


class FdMemory(Memory):
    """`size` bytes from `offset` of a file, shared with whoever else has it mapped."""

    def __init__(self, size: int, protect: int, fd: int, offset: int) -> None:
        super().__init__(size)
        self._protect = protect
        self._offset = offset
        self._published: dict[str, tuple[int, mmap.mmap, Any]] = {}
        try:
            self._fd = os.dup(fd)
        except OSError as error:
            self._fd = -1
            raise op_failed(f"file descriptor {fd} cannot be duplicated: {error}") from None

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def map(self) -> int:
        """Address of the first byte; raises UNMAPPABLE where the file is too short or refuses."""
        return self._mapped(mmap.PROT_READ, "PROT_READ; an input or constant needs it")

    def map_for_output(self) -> int:
        """As map; raises UNMAPPABLE when the memory was created without PROT_WRITE."""
        return self._mapped(mmap.PROT_WRITE, "PROT_WRITE; an output needs it")

    def _mapped(self, needed: int, words: str) -> int:
        if not self._protect & needed:
            raise NnapiError(ResultCode.UNMAPPABLE, f"the memory was created without {words}")
        mapping = self._published.get("mapping")
        if mapping is None:
            # Of threads that race for the first use, one wins; the others drop what they mapped.
            mapping = self._published.setdefault("mapping", self._map())
        return mapping[0]

    def _map(self) -> tuple[int, mmap.mmap, Any]:
        """Map the file: the address, and what keeps it mapped."""
        extra = self._offset % mmap.PAGESIZE
        try:
            mapped = mmap.mmap(
                self._fd,
                self.size + extra,
                mmap.MAP_SHARED,
                self._protect,
                offset=self._offset - extra,
            )
        except (OSError, ValueError, OverflowError) as error:
            raise NnapiError(
                ResultCode.UNMAPPABLE,
                f"memory of {self.size} bytes from offset {self._offset} of a file of "
                f"{os.fstat(self._fd).st_size} bytes cannot be mapped: {error}",
            ) from None
        where, view = address.address_of(mapped)
        return where + extra, mapped, view
