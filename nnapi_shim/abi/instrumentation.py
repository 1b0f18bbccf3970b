"""Calls with something around them, where the user asks for a capture or a trace.

Asked once, when the library starts: without either, the table of functions is as it always is.
"""

from collections.abc import Callable

from nnapi_shim.abi.boundary import EXPORTED
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hints import Any

Watcher = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""Takes the name of a function and the function, and gives one that does the same."""


def watch_all(watcher: Watcher) -> None:
    """Put a watcher around every exported function, before they are attached."""
    for name, function in EXPORTED.items():
        EXPORTED[name] = watcher(name, function)


def code_of(error: BaseException | None) -> int:
    """The result code that the program gets."""
    if error is None:
        return int(ResultCode.NO_ERROR)
    if isinstance(error, NnapiError):
        return int(error.code)
    return int(ResultCode.OUT_OF_MEMORY if isinstance(error, MemoryError) else ResultCode.OP_FAILED)
