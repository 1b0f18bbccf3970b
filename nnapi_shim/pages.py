"""Pages of memory, of a file or of their own; descriptors that keep out of the program's way."""

import os

from nnapi_shim import address
from nnapi_shim.hints import NamedTuple

PROT_READ, PROT_WRITE = 1, 2
"""As in sys/mman.h, and in the API."""

LARGE_PAGE = 2 << 20
"""Bytes of a page that the memory unit of x86-64 knows beside those of 4 KB."""

_PRIVATE_ANONYMOUS = 0x22
_SHARED = 0x01
_FIRST_FREE = 3
_ZERO_DEVICE = os.makedev(1, 5)


def duplicated(fd: int) -> int:
    """A duplicate of a descriptor, none of the three that a program expects to be its standard
    ones: where it has closed these, the next file that it opens is to get their numbers.
    """
    return address.duplicate(fd, _FIRST_FREE)


def above_standard(fd: int) -> int:
    """The same file, which the caller has just opened, with none of these three numbers."""
    if fd >= _FIRST_FREE:
        return fd
    try:
        return duplicated(fd)
    finally:
        os.close(fd)


class Pages:
    """Mapped memory from `address` on, which goes with this object.

    Not mmap.mmap, which keeps a descriptor of its own for each, and takes the lowest number.
    """

    def __init__(self, length: int, protect: int = PROT_READ | PROT_WRITE) -> None:
        """`length` bytes of zeros. Raises OSError."""
        self._length = length
        self.address = self._start = address.map_pages(length, protect, _PRIVATE_ANONYMOUS, -1, 0)

    @classmethod
    def of_file(cls, fd: int, offset: int, length: int, protect: int) -> "Pages":
        """`length` bytes from `offset` of a file, shared with whoever else has it mapped.

        Raises OSError or OverflowError, ValueError where a plain file does not reach that far.
        """
        pages = cls.__new__(cls)
        pages._start = pages._length = 0  # for __del__, if this fails
        if os.fstat(fd).st_rdev == _ZERO_DEVICE:
            offset = 0  # each mapping is a file of its own, which is as long as the mapping
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


class _Rest(NamedTuple):
    """Free memory; pages: what it lies in, None until it is needed."""

    pages: Pages | None
    begin: int
    length: int


class Blocks:
    """Zeroed memory, 64-byte aligned, for many blocks, each of which is kept by itself.

    Where much is expected, they come from large pages, if the system gives any: a thousand small
    ones, touched for the first time, take as long as copying 20 MB.
    """

    def __init__(self, expected: int) -> None:
        """expected: bytes of all blocks, about."""
        whole = -(-expected // LARGE_PAGE) * LARGE_PAGE if expected >= LARGE_PAGE else 0
        self._rest = [_Rest(None, 0, whole)]
        """What is free; while a thread takes of it, it is not there for others."""

    def block(self, length: int) -> address.Block:
        """A block of so many bytes."""
        try:
            rest = self._rest.pop()
        except IndexError:
            return address.Block(length)
        if rest.pages is None and rest.length:
            rest = _opened(rest.length)
        if length > rest.length:
            self._rest.append(rest)
            return address.Block(length)
        taken = min(length + -length % 64, rest.length)
        self._rest.append(_Rest(rest.pages, rest.begin + taken, rest.length - taken))
        return address.Block.within(rest.pages, rest.begin, length)


def _opened(whole: int) -> "_Rest":
    try:
        pages = Pages(whole + LARGE_PAGE)
    except OSError:
        return _Rest(None, 0, 0)
    begin = -(-pages.address // LARGE_PAGE) * LARGE_PAGE
    address.prefer_large_pages(begin, whole)
    return _Rest(pages, begin, whole)


def is_too_short(fd: int, length: int) -> bool:
    """Whether a plain file has fewer bytes; nobody can tell of others."""
    file = os.fstat(fd)
    return (file.st_mode & 0o170000) == 0o100000 and file.st_size < length


def has_room(length: int) -> bool:
    """Whether the process can get that many bytes."""
    try:
        Pages(length)
    except OSError:
        return False
    return True
