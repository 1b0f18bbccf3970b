"""The C API from Python, name by name: functions, constants, and `ffi` for C data.

    from nnapi_shim import capi

    model = capi.ffi.new("ANeuralNetworksModel **")
    assert capi.ANeuralNetworksModel_create(model) == capi.ANEURALNETWORKS_NO_ERROR

Calls go through libneuralnetworks.so, which runs in this same interpreter: handles made here are
those of the tables in nnapi_shim.abi. The declarations are read from the public headers.
"""

import re
from pathlib import Path

import cffi

from nnapi_shim.api.names import close_to
from nnapi_shim.folders import LIBRARY, foreign_architecture, get_include, get_library_dir
from nnapi_shim.hints import Any

_HEADERS = (
    "android/NeuralNetworksTypes.h",
    "android/NeuralNetworks.h",
    "android/NeuralNetworksExtensions.h",
    "nnapi_shim.h",
)
_MARKED = re.compile(
    r"/\* nnapi_shim: declarations begin \*/(.*)/\* nnapi_shim: declarations end \*/", re.DOTALL
)


def _declarations(folder: Path) -> str:
    """The declarations between the markers of the headers, without preprocessor directives."""
    parts = []
    for header in _HEADERS:
        marked = _MARKED.search((folder / header).read_text(encoding="utf-8"))
        if marked is None:
            raise ImportError(f"{folder / header} lacks the comments that mark its declarations")
        parts.append(marked[1])
    return "\n".join(parts)


def _library() -> str:
    path = str(Path(get_library_dir(), LIBRARY))
    if foreign := foreign_architecture(path):
        raise ImportError(
            f"{path} is for another architecture, {foreign}: install nnapi_shim on this machine"
        )
    return path


ffi = cffi.FFI()
try:
    ffi.cdef(_declarations(Path(get_include())))
    lib: Any = ffi.dlopen(_library())
except FileNotFoundError as error:
    raise ImportError(f"nnapi_shim.capi needs what is not there: {error}") from None


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return getattr(lib, name)
    except AttributeError:
        close = close_to(name, dir(lib))
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise AttributeError(f"the C API of NNAPI has no {name}{hint}") from None


def __dir__() -> list[str]:
    return ["ffi", "lib", *dir(lib)]
