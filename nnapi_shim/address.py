"""Raw memory: the address of a buffer, the bytes at an address, a function at an address.

The only place below `abi/` that uses cffi. It takes cffi's compiled half alone, which parses the
few C types needed here by itself: no declarations, no parser, nothing to import at start-up that
the library has not loaded already.
"""

import os
from errno import EFAULT, ENOMEM

import _cffi_backend

from nnapi_shim.hints import Any, Callable, Iterable, Iterator

_ffi = _cffi_backend.FFI()
_char_pointer = _ffi.typeof("char *")
_NULL = _ffi.NULL

type_of = _ffi.typeof

PAGE_BYTES = os.sysconf("SC_PAGESIZE")


def address_of(buffer: Any) -> tuple[int, Any]:
    """Address of a bytes-like object, and what must be kept alive while the address is used."""
    view = _ffi.from_buffer(buffer)
    return int(_ffi.cast("uintptr_t", view)), view


def view(address: int, length: int) -> Any:
    """The `length` bytes at `address` as a writable buffer; the caller keeps the memory alive."""
    return _ffi.buffer(_ffi.cast(_char_pointer, address), length)


def read(address: int, length: int) -> bytes:
    """A copy of the `length` bytes at `address`."""
    return bytes(_ffi.buffer(_ffi.cast(_char_pointer, address), length))


def write(address: int, data: bytes | bytearray) -> None:
    """Copy bytes to an address."""
    view(address, len(data))[:] = data


def words(address: int, kind: str, count: int) -> list[int]:
    """The `count` numbers at `address`, such as `words(a, "uint32_t", 4)`."""
    return _ffi.unpack(_ffi.cast(f"{kind} *", address), count)  # type: ignore[no-any-return]


def is_readable(address: int, length: int) -> bool:
    """Whether there is memory at an address that a program gave, to be looked at without risk."""
    return all(map(_is_readable_page, range(address & -PAGE_BYTES, address + length, PAGE_BYTES)))


def goes_on(address: int, length: int) -> bool:
    """Whether there is memory at all pages of a buffer behind the first."""
    behind = (address & -PAGE_BYTES) + PAGE_BYTES
    return is_readable(behind, max(0, address + length - behind))


def _is_readable_page(page: int) -> bool:
    """The kernel is asked to take a signal mask from there, for a purpose that it does not know:
    it looks at the memory first. That needs no file, and changes nothing.
    """
    if not 0 < page < 1 << 64:  # none is at 0, which the kernel takes for no mask at all
        return False
    if not _syscall:
        loaded = loaded_function("syscall", "long(*)(long, long, uintptr_t, uintptr_t, long)", ())
        number = _RT_SIGPROCMASK.get(os.uname().machine)
        _syscall.append(None if loaded is None or number is None else (loaded, number))
    ask = _syscall[0]
    if ask is None:
        return True  # nobody can tell
    (function, _), number = ask
    return bool(function(number, -1, page, 0, 8) != -1 or _ffi.errno != EFAULT)


def is_mapped(address: int, length: int) -> bool:
    """Whether the process has mapped all pages of a buffer; one system call for any length.

    msync(MS_ASYNC) writes nothing, and looks only at the list of mappings.
    """
    if not _msync:
        _msync.append(loaded_function("msync", "int(*)(uintptr_t, size_t, int)", ()))
    if _msync[0] is None:
        return True  # nobody can tell
    start = address & -PAGE_BYTES
    failed = _msync[0][0](start, address + length - start, _MS_ASYNC) == -1
    return not (failed and _ffi.errno == ENOMEM)


_MS_ASYNC = 1
_msync: list[Any] = []
"""The C library's function, looked up once; None if there is none."""

_RT_SIGPROCMASK = {
    "x86_64": 14,
    "aarch64": 135,
    "riscv64": 135,
    "loongarch64": 135,
    "ppc64le": 174,
}
_syscall: list[Any] = []
"""The C library's function of this name and what keeps it, and the number; looked up once."""


def copy(target: int, source: int, length: int) -> None:
    """Copy `length` bytes from one address to another; the ranges may overlap."""
    _ffi.memmove(_ffi.cast(_char_pointer, target), _ffi.cast(_char_pointer, source), length)


_process = _cffi_backend.load_library(None, os.RTLD_NOW)
_mmap = _process.load_function(
    _ffi.typeof("intptr_t(*)(uintptr_t, size_t, int, int, int, int64_t)"), "mmap"
)
_madvise = _process.load_function(_ffi.typeof("int(*)(uintptr_t, size_t, int)"), "madvise")
_munmap = _process.load_function(_ffi.typeof("int(*)(uintptr_t, size_t)"), "munmap")
_fcntl = _process.load_function(_ffi.typeof("int(*)(int, int, long)"), "fcntl")
_F_DUPFD_CLOEXEC = 1030
_MADV_DONTNEED = 4
_READ_WRITE, _PRIVATE_ANONYMOUS = 3, 0x22


def map_pages(length: int, protect: int, flags: int, fd: int, offset: int) -> int:
    """mmap(2): the address of new pages. Raises OSError, OverflowError for what is no length."""
    return _checked(_mmap(0, length, protect, flags, fd, offset))


def _checked(result: int) -> int:
    """The result of a system call; raises OSError for -1."""
    if result == -1:
        raise OSError(_ffi.errno, os.strerror(_ffi.errno))
    return result


def unmap_pages(address: int, length: int) -> None:
    """munmap(2)."""
    _munmap(address, length)


def drop_pages(address: int, length: int) -> None:
    """Drop the whole pages of a range from the process. Of a file or shared memory they are read
    again when they are used; others would be zeroed.
    """
    start, end = (address + PAGE_BYTES - 1) & -PAGE_BYTES, (address + length) & -PAGE_BYTES
    if start < end:
        _madvise(start, end - start, _MADV_DONTNEED)


def duplicate(fd: int, lowest: int) -> int:
    """A duplicate of a descriptor with a number of at least `lowest`. Raises OSError.

    Python's module fcntl does the same, and may be a library, which would have to be loaded first.
    """
    return _checked(_fcntl(fd, _F_DUPFD_CLOEXEC, lowest))


class with_variable:  # noqa: N801 - reads as a statement
    """A variable of the environment for C code that runs within this block, such as b"A=1".

    Not setenv(): that may free what another thread of the program is reading. The copy of the list
    that is in force meanwhile is never freed, for the same reason.
    """

    def __init__(self, definition: bytes, without: tuple[bytes, ...] = ()) -> None:
        """without: how the names of variables begin that are left out meanwhile."""
        self._definition, self._without = definition, without

    def __enter__(self) -> None:
        symbol = _process.load_function(_ffi.typeof("void(*)(void)"), "environ")
        self._list = _ffi.cast("char ***", _ffi.cast("uintptr_t", symbol))
        self._before = self._list[0]
        kept: list[Any] = []
        at = 0
        while self._before and self._before[at]:
            if not bytes(_ffi.string(self._before[at])).startswith(self._without):
                kept.append(self._before[at])
            at += 1
        added = _ffi.new("char[]", self._definition)
        self._changed = _ffi.new("char *[]", [added, *kept, _NULL])
        _immortal.append((self._changed, added))
        self._list[0] = self._changed

    def __exit__(self, *_: object) -> None:
        if self._list[0] == self._changed:
            self._list[0] = self._before
        else:  # the program has set a variable meanwhile, and so made a list of its own
            os.unsetenv(self._definition.partition(b"=")[0])


_immortal: list[Any] = []


def function(address: int, signature: str) -> Callable[..., Any]:
    """The C function at `address`, such as `function(a, "int64_t(*)(uintptr_t, int64_t)")`.

    Calls release Python's lock.
    """
    return _ffi.cast(signature, address)  # type: ignore[no-any-return]


_OWN_PAGES = 1 << 17
"""Bytes of a block from which on it has pages of its own: they are zero without being written."""

_HUGE_PAGE = PAGE_BYTES * PAGE_BYTES // 8
"""Bytes of a huge page: those of a page full of addresses of pages, 8 bytes each; 2 MiB, 32 MiB and
512 MiB for pages of 4, 16 and 64 KiB."""
_MADV_HUGEPAGE = 14


class _OwnPages:
    """Pages that go with the object. As many as fill huge ones begin where these can, if there is
    room to look for such a place.
    """

    address = _length = 0

    def __init__(self, length: int) -> None:
        self.address, self._length = 0, length
        whole = length + _HUGE_PAGE
        if length >= _HUGE_PAGE and (start := self._mapped(whole)):
            self.address = (start + _HUGE_PAGE - 1) & -_HUGE_PAGE
            self._give_back(start, self.address)
            self._give_back(self.address + length, start + whole)
        else:
            self.address = self._mapped(length)
        if not self.address:
            raise MemoryError

    @staticmethod
    def _mapped(length: int) -> int:
        """New pages; 0 where there are not so many."""
        try:
            return map_pages(length, _READ_WRITE, _PRIVATE_ANONYMOUS, -1, 0)
        except OSError:
            return 0

    def use_huge(self, length: int) -> None:
        """Tell the kernel that huge pages are welcome where so many bytes fill them. They are of
        what is used anyhow, and a processor looks less often into its tables.
        """
        if length >= _HUGE_PAGE:
            _madvise(self.address, length & -_HUGE_PAGE, _MADV_HUGEPAGE)

    def cut(self, length: int) -> None:
        """Keep no more than so many bytes."""
        self._give_back(self.address + length, self.address + self._length)
        self._length = length

    @staticmethod
    def _give_back(start: int, end: int) -> None:
        """What lies between two addresses, of whole pages."""
        start = (start + PAGE_BYTES - 1) & -PAGE_BYTES
        if start < end:
            unmap_pages(start, end - start)

    def __del__(self) -> None:
        if self.address and self._length:
            unmap_pages(self.address, self._length)


class Block:
    """Zeroed memory, 64-byte aligned, freed with the object: `address`, `length` in bytes."""

    __slots__ = ("_owner", "address", "length")

    def __init__(self, length: int) -> None:
        self.length = length
        if length >= _OWN_PAGES:
            self._owner = owner = _OwnPages(length)
            owner.use_huge(length)
            self.address = owner.address
        else:
            self._owner = _ffi.new("char[]", length + 64)
            self.address = (int(_ffi.cast("uintptr_t", self._owner)) + 63) & ~63


class Row:
    """Blocks one behind the other, so that together they fill huge pages as none does alone, where
    these are not larger than the room for them.

    Their memory is freed when all of them are.
    """

    _ROOM = 1 << 24
    """Bytes that are asked for at a time; `close` gives back what is left."""

    def __init__(self) -> None:
        self._pages: _OwnPages | None = None
        self._used = 0

    def block(self, length: int) -> Block:
        """The next one; by itself where there is no such room. Raises MemoryError."""
        pages, at = self._pages, self._used
        if pages is None or at + length > self._ROOM:
            self.close()
            try:
                pages, at = _OwnPages(max(self._ROOM, length)), 0
            except MemoryError:
                return Block(length)
        self._pages, self._used = pages, at + max(length + 63 & ~63, 64)
        block = Block.__new__(Block)
        block.address, block.length, block._owner = pages.address + at, length, pages
        return block

    def close(self) -> None:
        """Before the first block is written to: no more follow."""
        if self._pages is not None:
            self._pages.cut(self._used)
            self._pages.use_huge(self._used)
            self._pages = None


def text(address: int) -> bytes:
    """The zero-terminated string at `address`."""
    return bytes(_ffi.string(_ffi.cast(_char_pointer, address)))


_Method: Any = type(Row().close)
"""types.MethodType: a function with its first argument."""


def at_the_end(function: int, argument: int, owner: Any) -> Any:
    """What calls the C function at an address when it goes, with `argument` and some pointer other
    than NULL, and keeps `owner` until that has returned.

    Nothing of it is Python: no handler of a signal comes between, to raise.
    """
    called = _ffi.cast("int32_t(*)(uintptr_t, void *)", function)
    return _ffi.gc(_ffi.new_handle(owner), _Method(called, argument))


def of_function(function: Any) -> int:
    """The address of a C function that was looked up in a library."""
    return int(_ffi.cast("uintptr_t", function))


def loaded_function(
    name: str, signature: str, libraries: Iterable[str], load: bool = False
) -> tuple[Callable[..., Any], Any] | None:
    """A C function that the process has loaded already, and what must be kept while it is used.

    libraries: names of shared libraries to look in where the program's own scope lacks it, as when
    they were loaded for one part of the program only. None of them is loaded for this, unless
    `load` says so: then they are paths.
    """
    type = _ffi.typeof(signature)
    for library in _places(libraries, load):
        try:
            loaded = _cffi_backend.load_library(library, os.RTLD_NOW)
            return loaded.load_function(type, name), loaded
        except (OSError, AttributeError):
            continue
    return None


def _places(libraries: Iterable[str], load: bool) -> Iterator[str | None]:
    """What `loaded_function` looks in; which files are loaded is asked only if it comes to that."""
    yield None
    yield from libraries if load else _loaded_files(libraries)


def _loaded_files(libraries: Iterable[str]) -> list[str]:
    """The files of those libraries that are loaded.

    Not by RTLD_NOLOAD: for a library that could be loaded and is not, dlopen() gives neither a
    handle nor an error, which cffi does not expect.
    """
    endings = tuple(f"/{name}" for name in libraries)
    if not endings:
        return []
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            files = {line.rstrip("\n").partition("/")[2] for line in maps}
    except OSError:
        return []
    return [f"/{file}" for file in sorted(files) if f"/{file}".endswith(endings)]
