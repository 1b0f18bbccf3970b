"""The one exception of the project, and the last error of each thread."""

from _thread import _local

from nnapi_shim.hal.enums import ResultCode


class NnapiError(Exception):
    """A refusal with the result code that a C program sees and a message that a human can read.

    Messages name what was given and what is allowed; where it happened (object, operation,
    operand) is added by the caller that knows it, with `at`.
    """

    def __init__(self, code: ResultCode, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"

    def at(self, place: str) -> "NnapiError":
        """The same refusal with its place in front, such as `CONV_2D (operation 4)`."""
        return NnapiError(self.code, f"{place}: {self.message}")


def bad_data(message: str) -> NnapiError:
    """A value, index, type or handle that the specification does not allow."""
    return NnapiError(ResultCode.BAD_DATA, message)


def bad_state(message: str) -> NnapiError:
    """A call that the state of its object does not allow."""
    return NnapiError(ResultCode.BAD_STATE, message)


def op_failed(message: str) -> NnapiError:
    """A value or shape that an operation rejects when it is reached in a computation."""
    return NnapiError(ResultCode.OP_FAILED, message)


def require(condition: object, code: ResultCode, message: str) -> None:
    """Raise NnapiError(code, message) unless `condition` holds."""
    if not condition:
        raise NnapiError(code, message)


_last = _local()


def remember(error: NnapiError) -> None:
    """Make `error` the last error of this thread."""
    _last.error = error


def last_error() -> NnapiError | None:
    """The last refusal on this thread through the C functions, or None."""
    return getattr(_last, "error", None)
