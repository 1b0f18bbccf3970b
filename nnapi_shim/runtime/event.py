"""Event: the end of an execution that was started, or a fence of the program."""

import os
from _thread import allocate_lock

from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hints import Any, Callable, Generator
from nnapi_shim.pages import duplicated
from nnapi_shim.process import generation, lock
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
    """Signalled once; every wait has the same outcome. Thread-safe."""

    has_fence = False
    """Whether it wraps the file descriptor of a fence."""

    def wait(self) -> None:
        """Wait until it is signalled; raises the error of the work."""
        raise NotImplementedError

    def wait_for_end(self) -> None:
        """Wait until it is signalled; ignores errors."""
        try:
            self.wait()
        except NnapiError:
            return

    def __await__(self) -> Generator[Any, None, None]:
        """For coroutines: `wait()` on another thread, without blocking the event loop."""
        from asyncio import get_running_loop

        return get_running_loop().run_in_executor(None, self.wait).__await__()

    def duplicated_fence(self) -> int:
        """A new file descriptor of its fence; raises BAD_DATA if there is none."""
        raise bad_data(
            "the event has no fence; ANeuralNetworksEvent_wait waits for it. Events of "
            "createFromSyncFenceFd have a fence, and those of startComputeWithDependencies on "
            "devices that return fences",
            "event.no-fence",
        )


_UNEXPECTED = op_failed("the execution ended unexpectedly", "event.unexpected-end")


class ExecutionEvent(Event):
    """The end of asynchronous work. A wait that comes before the worker thread has begun does the
    work itself, which saves the wake-up latency.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        """Start `work`."""
        self._error: NnapiError | None = None
        self._generation = generation[0]
        self._work: Callable[[], None] | None = work
        self._taken = allocate_lock()
        self._pending = allocate_lock()
        self._pending.acquire()
        worker.run(self._run)

    def _run(self) -> None:
        """Do the work, unless another thread has begun it."""
        if not self._taken.acquire(False):
            return
        work, self._work = self._work, None
        assert work is not None
        self._error = _UNEXPECTED
        try:
            work()
            self._error = None
        except NnapiError as error:
            self._error = error.again()
        except MemoryError:
            self._error = op_failed("out of memory", "event.out-of-memory")
        finally:
            self._pending.release()

    def wait(self) -> None:
        """Wait for the end of the work; raises its error, converted for an event."""
        if self._work is not None:
            self._run()
        if self._generation != generation[0] and self._pending.locked():
            raise op_failed(
                "the execution runs in the process that this one was forked from, and ends there",
                "event.forked",
            )
        with self._pending:
            error = self._error
        if error is None:
            return
        if error.code is ResultCode.UNEXPECTED_NULL:
            raise error.with_code(ResultCode.BAD_DATA)
        if error.code not in _KEPT:
            raise error.with_code(ResultCode.OP_FAILED)
        raise error.again()


class ComputedEvent(Event):
    """The event of a computation that has already succeeded; the first wait completes it."""

    def __init__(self, complete: Callable[[], None]) -> None:
        """complete: called by the first wait, before any wait returns."""
        self._complete: Callable[[], None] | None = complete
        self._lock = lock()

    def wait(self) -> None:
        """Return at once."""
        with self._lock:
            if self._complete is not None:
                self._complete()
                self._complete = None


class FenceEvent(Event):
    """A fence: a file descriptor that becomes readable when it is signalled."""

    has_fence = True

    def __init__(self, fd: int) -> None:
        """Keeps a duplicate of the descriptor; raises BAD_DATA for one that is not open."""
        self._fd = -1
        self._outcome: ResultCode | None = None
        if fd <= 0:
            raise bad_data(
                f"sync_fence_fd is {fd}; it must be greater than 0", "event.create-from-fd.number"
            )
        try:
            self._fd = duplicated(fd)
        except OSError as error:
            raise bad_data(
                f"file descriptor {fd} cannot be duplicated: {error}",
                "event.create-from-fd.not-open",
            ) from None

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def duplicated_fence(self) -> int:
        """A new file descriptor of the fence, for the caller to close."""
        try:
            return duplicated(self._fd)
        except OSError as error:
            raise op_failed(
                f"the fence cannot be duplicated: {error}", "event.fence-not-duplicated"
            ) from None

    def wait(self) -> None:
        """Return when it is signalled; raises OP_FAILED for a fence in an error state."""
        if self._outcome is None:
            self._outcome = self._poll()
        if self._outcome is not ResultCode.NO_ERROR:
            raise op_failed("the fence is in an error state", "event.fence-error")

    def _poll(self) -> ResultCode:
        from select import POLLERR, POLLIN, POLLNVAL, poll  # few programs have fences

        poller = poll()
        poller.register(self._fd, POLLIN)
        ((_, state),) = poller.poll()
        return ResultCode.OP_FAILED if state & (POLLERR | POLLNVAL) else ResultCode.NO_ERROR
