"""The boundary between C and Python: converts exceptions to result codes.

An exported function returns NO_ERROR itself, so that a successful call has no overhead here. If it
raises, `failed` provides the result.
"""

from errno import ENOMEM

from nnapi_shim import log
from nnapi_shim.abi.cascades import cause
from nnapi_shim.errors import NnapiError, remember
from nnapi_shim.hal.enums import OperationType, ResultCode
from nnapi_shim.hints import Any, Callable

NO_ERROR = 0
HEADER, TYPES_HEADER = "android/NeuralNetworks.h", "android/NeuralNetworksTypes.h"
OWN_HEADER = "nnapi_shim.h"
"""Header files that specify the functions and operations."""

EXPORTED: dict[str, Callable[..., Any]] = {}
"""Every exported function that Python implements, by its C name."""

_store_error: Callable[[bytes], None] | None = None


def exported(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as the body of the C function of the same name."""
    EXPORTED[function.__name__] = function
    return function


def attach_all(ffi: Any, lib: Any) -> None:
    """Make every exported function callable from C.

    If `failed` itself fails, an `int` function returns OP_FAILED; the default of cffi, 0, is
    NO_ERROR.
    """
    global _store_error
    _store_error = lib.store_error
    ffi.def_extern(name="py_begin_thread")(_nothing)
    for name, function in EXPORTED.items():
        if name.endswith("_free"):
            ffi.def_extern(name=f"py_{name}", onerror=_failed(name))(function)
        else:
            ffi.def_extern(name=f"py_{name}", onerror=_failed(name), error=ResultCode.OP_FAILED)(
                function
            )


def _nothing() -> None:
    """The first call of each thread (native/boot.c)."""


def _failed(name: str) -> Callable[[Any, Any, Any], int | None]:
    is_free = name.endswith("_free")

    def failed(kind: Any, error: BaseException, trace: Any) -> int | None:
        try:
            code = report(name, error)
        except MemoryError:  # no memory even for a message
            code = _without_words(ResultCode.OUT_OF_MEMORY, _NO_MEMORY)
        except BaseException:  # otherwise the last error would be an earlier one
            code = _without_words(ResultCode.OP_FAILED, _NO_WORDS)
        return None if is_free else code

    return failed


_NO_MEMORY = b"OUT_OF_MEMORY: the call failed, and there is no memory to say why"
_NO_WORDS = b"OP_FAILED: the call failed, and so did telling why (please report this)"


def _without_words(code: ResultCode, message: bytes) -> int:
    if _store_error is not None:
        _store_error(message)
    return int(code)


def report(name: str, error: BaseException) -> int:
    """Log an error, store it as the last error of the thread, and return its result code.

    Imports no module and opens no file, as that may be the failure.
    """
    if not isinstance(error, NnapiError):
        error = _as_nnapi_error(error)
    begun_by = cause(name, error)
    if begun_by is not None:
        error = error.worded(f"{error.message}, because {begun_by[0]} was refused")
    remember(error.again())
    message = log.one_line(f"{name}: {error} [{error.rule}]")
    # Of the calls that follow from a refused one, only the first is reported.
    is_reported = begun_by is None or begun_by[1]
    level = "error" if is_reported else "debug"
    if log.enabled(level):
        operation = error.place("operation")
        see = f"{name} in {OWN_HEADER if name.startswith('nnapi_shim_') else HEADER}"
        if operation is not None and operation.name in OperationType.__members__:
            see = f"ANEURALNETWORKS_{operation.name} in {TYPES_HEADER}"
        log.write(level, message, {"function": name, **error.as_dict(), "see": see})
    if _store_error is not None:
        _store_error(message.encode(errors="replace"))
    return int(error.code)


def _as_nnapi_error(error: BaseException) -> NnapiError:
    """Convert other exceptions: out of memory, file errors, or a defect of this library."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == ENOMEM:
        why = f": {error}" if isinstance(error, MemoryError) and error.args else ""
        return NnapiError(ResultCode.OUT_OF_MEMORY, f"out of memory{why}", "library.out-of-memory")
    if isinstance(error, OSError | ImportError):
        log.trace(error)
        return NnapiError(
            ResultCode.OP_FAILED,
            f"a file of the library that is needed now cannot be had: {error}; what may need more "
            "later can be loaded beforehand with nnapi_shim_loadEverything()",
            "library.missing-file",
        )
    log.trace(error, "error")
    return NnapiError(
        ResultCode.OP_FAILED,
        f"unexpected {type(error).__name__}: {error} (please report this)",
        "library.unexpected",
    )
