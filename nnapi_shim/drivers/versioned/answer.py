"""Calls of third-party drivers; each ends with an answer or an NnapiError.

Only this module and the boundary to C catch every exception, because a driver may raise any.
"""

from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable
from time import monotonic_ns
from typing import Any

from nnapi_shim import log
from nnapi_shim.drivers.time_limit import time_limit_ns
from nnapi_shim.drivers.versioned.watchdog import Watchdog
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.v1_0 import ErrorStatus
from nnapi_shim.limits import TooLate
from nnapi_shim.settings import DRIVER_TIMEOUT

RESULT_CODES = {
    ErrorStatus.NONE: ResultCode.NO_ERROR,
    ErrorStatus.DEVICE_UNAVAILABLE: ResultCode.UNAVAILABLE_DEVICE,
    ErrorStatus.GENERAL_FAILURE: ResultCode.OP_FAILED,
    ErrorStatus.OUTPUT_INSUFFICIENT_SIZE: ResultCode.OUTPUT_INSUFFICIENT_SIZE,
    ErrorStatus.INVALID_ARGUMENT: ResultCode.BAD_DATA,
}
"""Status of HAL 1.0 -> the program's result code."""


_FAILURES = tuple(ResultCode)[1:]
_MOST_SHOWN = 200
"""Characters."""


def guarded(what: str, call: Callable[[], Any]) -> Any:
    """The result of `call`; other exceptions than NnapiError become OP_FAILED.

    what: the driver and its method, for the message.
    """
    try:
        return call()
    except NnapiError as error:
        if error.code not in _FAILURES:
            raise op_failed(f"{what} raised {error.message}", "driver.exception") from None
        raise error.at(what) from None
    except TooLate:  # of the compilation on this thread
        raise
    except BaseException as error:
        if _is_of_the_user(error):
            raise
        log.trace(error)
        hint = "" if log.enabled("debug") else "; NNAPI_SHIM_LOG=debug shows the traceback"
        raise op_failed(
            f"{what} raised {type(error).__name__}: {_text(error)}{_where(error)}{hint}",
            "driver.exception",
        ) from None


def _is_of_the_user(error: BaseException) -> bool:
    """Whether the user pressed Ctrl-C in a Python program: its handler runs on the main thread."""
    if not isinstance(error, KeyboardInterrupt):
        return False
    from signal import SIGINT, default_int_handler, getsignal
    from threading import main_thread

    is_here = get_ident() == main_thread().ident
    return is_here and getsignal(SIGINT) is default_int_handler


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())
    except BaseException:
        return "it cannot be shown"


def shown(value: Any) -> str:
    """A driver's value as text for a message."""
    try:
        text = repr(value)
    except BaseException:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."


def _where(error: BaseException) -> str:
    """File and line that raised an exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" ({trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno})"


def is_status(value: Any) -> bool:
    """Whether a driver's answer is an ErrorStatus or its number."""
    return isinstance(value, int) and value in RESULT_CODES


def require_success(what: str, status: Any) -> None:
    """Raise the error of a status, unless it is NONE."""
    if not is_status(status):
        raise op_failed(
            f"{what} answered {shown(status)}; it must be an ErrorStatus",
            "driver.answer.error-status",
        )
    if status != ErrorStatus.NONE:
        raise NnapiError(
            RESULT_CODES[status], f"{what} answered {ErrorStatus(status).name}", "driver.failed"
        )


class Answer:
    """The callback of a call: IPreparedModelCallback and IExecutionCallback in one.

    The first answer counts. Later ones, and answers after the time limit, are reported on stderr
    once per method. Any thread may call `notify`.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._arrived = allocate_lock()
        self._arrived.acquire()
        self._lock = allocate_lock()
        self._is_open = True
        self._status: Any = None
        self._value: Any = None
        self._error: NnapiError | None = None

    def notify(self, status: ErrorStatus, preparedModel: Any = None) -> None:  # noqa: N803
        """Receive the status of the call, and for prepareModel its result."""
        if self._first():
            self._status, self._value = status, preparedModel
            self._arrived.release()
        else:
            log.warning_once(
                ("answer", self._what),
                f"{self._what} answered once more, or too late, which is ignored; a call takes one "
                f"answer, within the time of {DRIVER_TIMEOUT.name}",
            )

    def _first(self) -> bool:
        with self._lock:
            was_open, self._is_open = self._is_open, False
            return was_open

    def _fail(self, error: NnapiError) -> None:
        if self._first():
            self._error = error
            self._arrived.release()

    def call(self, start: Callable[[], Any]) -> None:
        """Run a driver's method, which starts the work and returns a status."""
        try:
            status = guarded(self._what, start)
            require_success(self._what, status)
        except NnapiError as error:
            self._fail(error)
        except BaseException as error:  # an interrupt that is not this thread's
            self._fail(op_failed(f"{self._what} raised {type(error).__name__}", "driver.exception"))

    def get(self, start: Callable[[], Any], deadline_ns: int | None) -> Any:
        """Run a driver's method on a separate thread, and wait for its answer.

        A driver that never answers blocks only that thread. Raises the driver's error;
        MISSED_DEADLINE_PERSISTENT if the deadline passed before the start,
        MISSED_DEADLINE_TRANSIENT if later; OP_FAILED if there is no answer in time.
        """
        now = monotonic_ns()
        if deadline_ns is not None and now >= deadline_ns:
            raise NnapiError(
                ResultCode.MISSED_DEADLINE_PERSISTENT,
                f"the deadline passed before {self._what} began",
                "driver.deadline.before-start",
            )
        limit = time_limit_ns()
        end = min([t for t in (deadline_ns, limit and now + limit) if t], default=None)
        seconds = -1.0 if end is None else min((end - now) / 1e9, LONGEST_WAIT_S)
        watchdog = None if end is None else Watchdog(self._what, seconds)
        try:
            self._begin(start)
            arrived = self._arrived.acquire(timeout=seconds)
        finally:
            if watchdog is not None:
                watchdog.stop()
        if not arrived:
            if self._first():
                raise self._too_late(seconds, end == deadline_ns)
            self._arrived.acquire()  # the answer is arriving
        if self._error is not None:
            raise self._error.again()
        require_success(self._what, self._status)
        return self._value

    def _begin(self, start: Callable[[], Any]) -> None:
        try:
            start_new_thread(self.call, (start,))
        except RuntimeError as error:
            raise op_failed(
                f"there is no thread for {self._what}: {error}", "driver.no-thread"
            ) from None

    def _too_late(self, seconds: float, missed_deadline: bool) -> NnapiError:
        if missed_deadline:
            return NnapiError(
                ResultCode.MISSED_DEADLINE_TRANSIENT,
                f"the deadline passed while {self._what} was under way",
                "driver.deadline.passed",
            )
        return op_failed(
            f"{self._what} did not answer within {seconds:g} s (see {DRIVER_TIMEOUT.name})",
            "driver.timeout",
        )


def returned(what: str, call: Callable[[], Any]) -> Any:
    """The result of a driver's method without callback; raises the errors of Answer.get."""
    answer = Answer(what)

    def start() -> ErrorStatus:
        answer.notify(ErrorStatus.NONE, call())
        return ErrorStatus.NONE

    return answer.get(start, None)


LONGEST_WAIT_S = 1e8
"""Upper limit of a lock's timeout."""
