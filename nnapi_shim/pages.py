"""Mapped memory, anonymous or of a file; descriptors above the standard ones."""

import os
from _weakref import ref

from nnapi_shim import address

PROT_READ, PROT_WRITE = 1, 2
"""As in sys/mman.h, and in the API."""

_PRIVATE_ANONYMOUS = 0x22
_SHARED = 0x01
_FIRST_FREE = 3
_ZERO_DEVICE = os.makedev(1, 5)


def duplicated(fd: int) -> int:
    """A duplicate of a descriptor, numbered 3 or above. If the program has closed a standard
    stream, the next file that the program opens must get that number.
    """
    return address.duplicate(fd, _FIRST_FREE)


def above_standard(fd: int) -> int:
    """The descriptor of a file just opened, moved to 3 or above."""
    if fd >= _FIRST_FREE:
        return fd
    try:
        return duplicated(fd)
    finally:
        os.close(fd)


class Pages:
    """Mapped memory at `address`, unmapped with this object.

    Not mmap.mmap, which keeps a duplicate descriptor with the lowest free number.
    """

    def __init__(self, length: int, protect: int = PROT_READ | PROT_WRITE) -> None:
        """`length` bytes of zeros. Raises OSError."""
        self._length = 0  # for __del__, if this fails
        self.address = self._start = address.map_pages(length, protect, _PRIVATE_ANONYMOUS, -1, 0)
        self._length = length

    @classmethod
    def of_file(cls, fd: int, offset: int, length: int, protect: int) -> "Pages":
        """A shared mapping of `length` bytes from `offset` of a file.

        Raises OSError or OverflowError, ValueError if a regular file is shorter.
        """
        pages = cls.__new__(cls)
        pages._start = pages._length = 0  # for __del__, if this fails
        if os.fstat(fd).st_rdev == _ZERO_DEVICE:
            offset = 0  # each mapping of /dev/zero is a new object of the length of the mapping
        elif is_too_short(fd, offset + length):
            raise ValueError("the file is too short")
        extra = offset % address.PAGE_BYTES
        whole = max(length + extra, 1)
        pages._start = address.map_pages(whole, protect, _SHARED, fd, offset - extra)
        pages._length = whole
        pages.address = pages._start + extra
        return pages

    def __del__(self) -> None:
        if self._length:
            address.unmap_pages(self._start, self._length)


_shared: dict[int, "ref[SharedPages]"] = {}
"""All shared memory, by address."""


class SharedPages:
    """Memory that another process can map as well: `length` bytes at `address` are those from
    `offset` of the file of `fd`, which its owner keeps open.
    """

    __slots__ = ("__weakref__", "_entry", "_pages", "address", "fd", "length", "offset", "protect")

    def __init__(self, fd: int, offset: int, length: int, protect: int) -> None:
        """Map it; raises as Pages.of_file."""
        self.address = 0  # for __del__, if this fails
        self._entry: ref[SharedPages] | None = None
        self._pages = Pages.of_file(fd, offset, length, protect)
        self.address = self._pages.address
        self.fd, self.offset, self.length, self.protect = fd, offset, length, protect
        self._entry = ref(self)
        _shared[self.address] = self._entry

    def __del__(self, shared: "dict[int, ref[SharedPages]]" = _shared) -> None:
        # The pages may have gone before, in a cycle, and others may be in their place already.
        if self.address and shared.get(self.address) is self._entry:
            del shared[self.address]


def shared_pages(address: int, length: int) -> SharedPages | None:
    """The shared memory that contains all of a buffer, or None."""
    at = address if address in _shared else max([a for a in [*_shared] if a < address], default=0)
    found = _shared.get(at)
    pages = None if found is None else found()
    if pages is None or address + length > pages.address + pages.length:
        return None
    return pages


def is_too_short(fd: int, length: int) -> bool:
    """Whether a regular file has fewer bytes; False for other files, whose size is unknown."""
    file = os.fstat(fd)
    return (file.st_mode & 0o170000) == 0o100000 and file.st_size < length


def has_room(length: int) -> bool:
    """Whether the process can map that many bytes."""
    try:
        Pages(length)
    except OSError:
        return False
    return True
