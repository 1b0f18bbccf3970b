"""Raw memory: the address of a buffer, the bytes at an address, a function at an address.

The only place below `abi/` that uses cffi. It takes cffi's compiled half alone, which parses the
few C types needed here by itself: no declarations, no parser, nothing to import at start-up that
the library has not loaded already.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

import _cffi_backend

_ffi = _cffi_backend.FFI()
_char_pointer = _ffi.typeof("char *")
_NULL = _ffi.NULL

type_of = _ffi.typeof


def address_of(buffer: Any) -> tuple[int, Any]:
    """Address of a bytes-like object, and what must be kept alive while the address is used."""
    view = _ffi.from_buffer(buffer)
    return int(_ffi.cast("uintptr_t", view)), view


def view(address: int, length: int) -> Any:
    """The `length` bytes at `address` as a writable buffer; the caller keeps the memory alive."""
    return _ffi.buffer(_ffi.cast(_char_pointer, address), length)


def read(address: int, length: int) -> bytes:
    """A copy of the `length` bytes at `address`."""
    return bytes(view(address, length))


def words(address: int, kind: str, count: int) -> list[int]:
    """The `count` numbers at `address`, such as `words(a, "uint32_t", 4)`."""
    return _ffi.unpack(_ffi.cast(f"{kind} *", address), count)  # type: ignore[no-any-return]


def is_readable(address: int, length: int) -> bool:
    """Whether there is memory at an address that a program gave, to be looked at without risk."""
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True  # nobody can tell
    try:
        return len(os.pread(memory, length, address)) == length
    except (OSError, OverflowError):
        return False
    finally:
        os.close(memory)


def copy(target: int, source: int, length: int) -> None:
    """Copy `length` bytes from one address to another; the ranges may overlap."""
    _ffi.memmove(_ffi.cast(_char_pointer, target), _ffi.cast(_char_pointer, source), length)


def function(address: int, signature: str) -> Callable[..., Any]:
    """The C function at `address`, such as `function(a, "int64_t(*)(uintptr_t, int64_t)")`.

    Calls release Python's lock.
    """
    return _ffi.cast(signature, address)  # type: ignore[no-any-return]


class Block:
    """Zeroed memory, 64-byte aligned, freed with the object: `address`, `length` in bytes."""

    __slots__ = ("_owner", "address", "length")

    def __init__(self, length: int) -> None:
        self._owner = _ffi.new("char[]", length + 64)
        self.address = (int(_ffi.cast("uintptr_t", self._owner)) + 63) & ~63
        self.length = length


def text(address: int) -> bytes:
    """The zero-terminated string at `address`."""
    return bytes(_ffi.string(_ffi.cast(_char_pointer, address)))


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
    for library in (None, *(libraries if load else _loaded_files(libraries))):
        try:
            loaded = _cffi_backend.load_library(library, os.RTLD_NOW)
            return loaded.load_function(type, name), loaded
        except (OSError, AttributeError):
            continue
    return None


def _loaded_files(libraries: Iterable[str]) -> list[str]:
    """The files of those libraries that are loaded.

    Not by RTLD_NOLOAD: for a library that could be loaded and is not, dlopen() gives neither a
    handle nor an error, which cffi does not expect.
    """
    wanted = tuple(f"/{name}" for name in libraries)
    if not wanted:
        return []
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            files = {line.rstrip("\n").partition("/")[2] for line in maps}
    except OSError:
        return []
    return [f"/{file}" for file in sorted(files) if f"/{file}".endswith(wanted)]
