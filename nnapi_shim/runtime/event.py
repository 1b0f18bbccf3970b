"""Event: the end of an asynchronous execution."""

from _thread import allocate_lock
from collections.abc import Callable

from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.runtime import worker

_KEPT = frozenset(
    (
        ResultCode.OUTPUT_INSUFFICIENT_SIZE,
        ResultCode.MISSED_DEADLINE_TRANSIENT,
        ResultCode.MISSED_DEADLINE_PERSISTENT,
        ResultCode.RESOURCE_EXHAUSTED_TRANSIENT,
        ResultCode.RESOURCE_EXHAUSTED_PERSISTENT,
        ResultCode.UNAVAILABLE_DEVICE,
        ResultCode.BAD_DATA,
    )
)


class Event:
    """Signalled once, when its work has ended; every wait gives the same outcome."""

    def __init__(self, work: Callable[[], None]) -> None:
        """Start `work` on a thread of the library."""
        self._error: NnapiError | None = None
        self._pending = allocate_lock()
        self._pending.acquire()
        worker.run(lambda: self._run(work))

    def _run(self, work: Callable[[], None]) -> None:
        self._error = op_failed("the execution ended unexpectedly")
        try:
            work()
            self._error = None
        except NnapiError as error:
            self._error = error
        except MemoryError:
            self._error = op_failed("out of memory")
        finally:
            self._pending.release()

    def wait(self) -> None:
        """Return when the work has ended; raises what it raised, converted for an event."""
        with self._pending:
            error = self._error
        if error is None:
            return
        if error.code is ResultCode.UNEXPECTED_NULL:
            raise NnapiError(ResultCode.BAD_DATA, error.message)
        if error.code not in _KEPT:
            raise op_failed(error.message)
        raise error
