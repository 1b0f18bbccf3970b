"""Constants in the program's own file, which are read where they are and not copied.

A program may free or change a value of setOperandValue after finish (api-semantics.md 2), so values
are copied then. One in a read-only segment of the executable, such as a `static const` array, can
be neither freed nor changed: the loader never unmaps an executable, and writing there is an error.

A program may still write there after mprotect, for example to decrypt its model. The kernel then
gives the process its own copies of the pages; a value with such pages is copied as all others are.
If the program writes there after finish, later compilations read the value from its file again.
"""

import os

from nnapi_shim import address
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.hal.types import Model, Pool
from nnapi_shim.hints import Any, Iterator
from nnapi_shim.pages import PROT_READ, Pages

_AT_PHDR, _AT_PHENT, _AT_PHNUM = 3, 4, 5
_PT_LOAD, _PT_PHDR = 1, 6
_PF_W, _PF_R = 2, 4
_HEADER_WORDS = 7
"""64-bit words of a program header: type and flags, offset, address twice, two sizes, alignment."""

_PAGEMAP = "/proc/self/pagemap"
_PAGES_AT_ONCE = 1 << 13
_OF_FILE = {0b000, 0b101}
"""The upper three bits of a page's word: present, swapped, of a file or shared memory. A page that
the process has written to is present or swapped, and no longer the file's.
"""


_FILE = "/proc/self/exe"


class WrittenConstants(Pool):
    """A segment of the executable that the program has written to: `size` bytes at an address."""

    def __init__(self, where: int, size: int) -> None:
        self.size = size
        self._address = where

    def map(self) -> int:
        """Address of the first byte."""
        return self._address


class ProgramConstants(WrittenConstants):
    """A read-only segment of the executable, at `offset` of its file."""

    is_immutable = can_release = True

    def __init__(self, where: int, size: int, offset: int) -> None:
        super().__init__(where, size)
        self._offset = offset
        self._unchanged: list[tuple[Pages, Pool]] = []

    def unchanged(self) -> Pool:
        """The segment as it is in the file; as it is in memory, if the file cannot be read."""
        if not self._unchanged:
            try:
                pages = _mapped(self._offset, self.size)
            except (OSError, ValueError, OverflowError):
                return WrittenConstants(self._address, self.size)
            again = ProgramConstants(pages.address, self.size, self._offset)
            self._unchanged.append((pages, again))  # for good, as keys have addresses in it
        return self._unchanged[0][1]


def _mapped(offset: int, size: int) -> Pages:
    """Part of the executable's file. Raises ValueError if the process runs another one, as one that
    was started by `ld.so PROGRAM` does.
    """
    fd = os.open(_FILE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        table = _table_in_memory()
        if table is None or os.pread(fd, len(table[1]), table[0]) != table[1]:
            raise ValueError(f"{_FILE} is another file")
        return Pages.of_file(fd, offset, size, PROT_READ)
    finally:
        os.close(fd)


_segments: list[ProgramConstants] = []
_found: list[bool] = []
"""Whether `_segments` is known."""
_sandboxed: list[bool] = []


def stop() -> None:
    """Copy all values from now on: the program is about to give up the right to open files."""
    _sandboxed.append(True)


def segment_of(where: int, length: int) -> tuple[ProgramConstants, int] | None:
    """The segment that a value lies in, and its offset there; None if it must be copied."""
    if not _found:
        _segments.extend(_read_only_segments())
        _found.append(True)
    for segment in _segments:
        offset = where - segment.map()
        if 0 <= offset <= segment.size - length:
            return None if _sandboxed or _is_written(where, length) else (segment, offset)
    return None


def unchanged(model: Model) -> Model:
    """A model whose values in the executable are as they were at finish.

    Between its values of a segment may be others; if one of these was written to, nothing is lost.
    """
    if _sandboxed:
        return model
    spans: dict[int, tuple[int, int]] = {}
    for graph in (model.main, *model.referenced):
        for operand in graph.operands:
            if operand.lifetime is OperandLifeTime.CONSTANT_REFERENCE:
                number, offset, length = operand.location
                if isinstance(model.pools[number], ProgramConstants):
                    begin, end = spans.get(number, (offset, 0))
                    spans[number] = min(begin, offset), max(end, offset + length)
    pools: list[Any] = list(model.pools)
    for number, (begin, end) in spans.items():
        if _is_written(pools[number].map() + begin, end - begin):
            pools[number] = pools[number].unchanged()
    return model if pools == [*model.pools] else model._replace(pools=tuple(pools))


def _headers() -> tuple[int, list[list[int]]]:
    """The address of the executable's program headers, and their words; 0 if they are not known."""
    loaded = address.loaded_function("getauxval", "unsigned long(*)(unsigned long)", ())
    if loaded is None:
        return 0, []
    auxiliary: Any = loaded[0]
    start, size, count = map(auxiliary, (_AT_PHDR, _AT_PHENT, _AT_PHNUM))
    if not start or size != 8 * _HEADER_WORDS:
        return 0, []
    words = list(address.words(start, "uint64_t", _HEADER_WORDS * count))
    return start, [words[at : at + _HEADER_WORDS] for at in range(0, len(words), _HEADER_WORDS)]


def _table_in_memory() -> tuple[int, bytes] | None:
    """The offset of the program headers in the executable's file, and their bytes in memory."""
    start, headers = _headers()
    for header in headers:
        if header[0] & 0xFFFFFFFF == _PT_PHDR:
            return header[1], address.read(start, 8 * _HEADER_WORDS * len(headers))
    return None


def _read_only_segments() -> Iterator[ProgramConstants]:
    """The read-only segments of the executable, from its program headers in memory."""
    start, headers = _headers()
    bases = [start - header[2] for header in headers if header[0] & 0xFFFFFFFF == _PT_PHDR]
    if not bases:
        return
    for kind, offset, virtual_address, _, file_bytes, _, _ in headers:
        is_read_only = kind >> 32 & (_PF_R | _PF_W) == _PF_R
        if kind & 0xFFFFFFFF == _PT_LOAD and is_read_only:
            yield ProgramConstants(bases[0] + virtual_address, file_bytes, offset)


def _is_written(where: int, length: int) -> bool:
    """Whether the process has written to a page of a mapped file, or this cannot be told."""
    first, end = where // address.PAGE_BYTES, -(-(where + length) // address.PAGE_BYTES)
    try:
        pagemap = os.open(_PAGEMAP, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        for at in range(first, end, _PAGES_AT_ONCE):
            count = min(_PAGES_AT_ONCE, end - at)
            data = os.pread(pagemap, 8 * count, 8 * at)
            if len(data) != 8 * count:
                return True
            highest = set(data[7::8])  # bytes; words are little-endian
            if not {byte >> 5 for byte in highest} <= _OF_FILE:
                return True
        return False
    except OSError:
        return True
    finally:
        os.close(pagemap)
