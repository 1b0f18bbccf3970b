"""Wraps the exported functions for a capture or a trace.

The settings are read once, when the library starts; without them nothing is wrapped.
"""

from nnapi_shim.abi.boundary import EXPORTED
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hints import Any, Callable

Watcher = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""Wraps a function: (name, function) -> function with the same behaviour."""


def watch_all(watcher: Watcher) -> None:
    """Wrap every exported function, before they are attached."""
    for name, function in EXPORTED.items():
        EXPORTED[name] = watcher(name, function)


def code_of(error: BaseException | None) -> int:
    """The result code returned to the program."""
    if error is None:
        return int(ResultCode.NO_ERROR)
    if isinstance(error, NnapiError):
        return int(error.code)
    return int(ResultCode.OUT_OF_MEMORY if isinstance(error, MemoryError) else ResultCode.OP_FAILED)
