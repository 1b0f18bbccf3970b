"""The one place where exceptions become result codes: the boundary between C and Python.

An exported function returns NO_ERROR itself, so that a call that succeeds costs nothing here. When
it raises, `failed` answers in its place.
"""

from collections.abc import Callable
from typing import Any

from nnapi_shim import log
from nnapi_shim.errors import NnapiError, remember
from nnapi_shim.hal.enums import OperationType, ResultCode

NO_ERROR = 0
HEADER, TYPES_HEADER = "android/NeuralNetworks.h", "android/NeuralNetworksTypes.h"
"""Where the functions and operations are specified."""

EXPORTED: dict[str, Callable[..., Any]] = {}
"""Every exported function of the C API that is answered in Python, by its C name."""

_store_error: Callable[[bytes], None] | None = None


def exported(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as the body of the C function of the same name."""
    EXPORTED[function.__name__] = function
    return function


def attach_all(ffi: Any, lib: Any) -> None:
    """Make every exported function callable from C.

    An `int` function that fails without an answer of its own returns OP_FAILED: cffi would return
    0, and 0 is NO_ERROR.
    """
    global _store_error
    _store_error = lib.store_error
    for name, function in EXPORTED.items():
        if name.endswith("_free"):
            ffi.def_extern(name=f"py_{name}", onerror=_failed(name))(function)
        else:
            ffi.def_extern(name=f"py_{name}", onerror=_failed(name), error=ResultCode.OP_FAILED)(
                function
            )


def _failed(name: str) -> Callable[[Any, Any, Any], int | None]:
    is_free = name.endswith("_free")

    def failed(kind: Any, error: BaseException, trace: Any) -> int | None:
        code = report(name, error)
        return None if is_free else code

    return failed


def report(name: str, error: BaseException) -> int:
    """Log an error, keep it as the thread's last error, and give its result code."""
    if not isinstance(error, NnapiError):
        error = _as_nnapi_error(error)
    remember(error.again())
    message = f"{name}: {error} [{error.rule}]"
    if log.enabled("error"):
        operation = error.place("operation")
        see = f"{name} in {HEADER}"
        if operation is not None and operation.name in OperationType.__members__:
            see = f"ANEURALNETWORKS_{operation.name} in {TYPES_HEADER}"
        log.error(message, {"function": name, **error.as_dict(), "see": see})
    if _store_error is not None:
        _store_error(message.encode(errors="replace"))
    return int(error.code)


def _as_nnapi_error(error: BaseException) -> NnapiError:
    """An exception that no rule raised: no memory, or a defect of this library."""
    if isinstance(error, MemoryError):
        return NnapiError(ResultCode.OUT_OF_MEMORY, "out of memory", "memory")
    if log.enabled("error"):
        from traceback import format_exception

        log.error("unexpected error:\n" + "".join(format_exception(error)).rstrip())
    return NnapiError(
        ResultCode.OP_FAILED,
        f"unexpected {type(error).__name__}: {error} (please report this)",
        "unexpected",
    )
