"""The library with the functions of one Android version, for programs that run under a profile.

It is a copy of libneuralnetworks.so in which the names of later functions begin one character
later, so that neither the linker nor dlsym() finds them. All code is that of the library itself. A
copy instead of libraries of the build: packages stay small, and nothing else has to be tested.
"""

import os
import struct
from pathlib import Path

from nnapi_shim import settings
from nnapi_shim.errors import op_failed
from nnapi_shim.folders import LIBRARY, get_library_dir
from nnapi_shim.formats import output_file
from nnapi_shim.hal.levels import FUNCTION_LEVELS

NEWEST = max(FUNCTION_LEVELS.values())
"""The API level from which on there are all functions."""

_LOCATION = "libneuralnetworks.location"
_DYNAMIC_SYMBOLS = 11
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


def folder_for(api_level: int) -> str | None:
    """The folder of the library for an API level; None if that has all functions.

    It is made at the first use, in the folder for state. Raises BAD_DATA if it cannot be written,
    FileNotFoundError if the library is not built.
    """
    if api_level >= NEWEST:
        return None
    source = Path(get_library_dir())
    folder = _state() / "phones" / f"api-{api_level}"
    location = _location(source, folder)
    hidden = {name for name, level in FUNCTION_LEVELS.items() if level > api_level}
    library = without_functions((source / LIBRARY).read_bytes(), hidden)
    for name, content in ((LIBRARY, library), (_LOCATION, location)):
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            output_file.write(path, content, overwrite=True)
            path.chmod(0o700)
    return str(folder)


def _state() -> Path:
    """The folder for state of this library."""
    home = settings.STATE.get() or Path.home() / ".local" / "state"
    return Path(home).absolute() / "nnapi_shim"


def _location(source: Path, folder: Path) -> bytes:
    """The location file of a library, for a copy in another folder (native/location.c)."""
    lines = []
    start, target = source.resolve(), folder.resolve()
    for line in (source / _LOCATION).read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        there = os.path.normpath(start / value)
        if key == "path":
            lines.append(f"path={os.path.relpath(there, target)}\n")
        elif key == "python":
            lines.append(f"python={there}\n")
    return "".join(lines).encode()


def without_functions(library: bytes, hidden: set[str]) -> bytes:
    """A shared library of 64 bits without some exported names. Raises OP_FAILED for other files."""
    if library[:6] != b"\x7fELF\x02\x01":
        raise op_failed(f"{LIBRARY} is no library of 64 bits", "tool.exec.library")
    changed = bytearray(library)
    header = _HEADER.unpack_from(library)
    sections = [
        _SECTION.unpack_from(library, header[6] + at * header[11]) for at in range(header[12])
    ]
    found = set()
    for section in sections:
        if section[1] != _DYNAMIC_SYMBOLS:
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name_at = _SYMBOL.unpack_from(library, at)[0]
            end = library.index(b"\0", names + name_at)
            name = library[names + name_at : end].decode()
            if name in hidden:
                struct.pack_into("<I", changed, at, name_at + 1)
                found.add(name)
    if found != hidden:
        missing = ", ".join(sorted(hidden - found))
        raise op_failed(f"{LIBRARY} does not export {missing}", "tool.exec.library-functions")
    return bytes(changed)
