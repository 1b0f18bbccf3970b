"""Worker threads for asynchronous executions; an idle thread waits for a job and ends after a
timeout.
"""

import os
from _thread import LockType, allocate_lock, start_new_thread

from nnapi_shim.hints import Callable

Job = Callable[[], None]

IDLE_S = 10.0
"""Idle timeout of a thread."""

_idle: list["_Worker"] = []


class _Worker:
    """A thread and its next job."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self.wake: LockType = allocate_lock()
        self.wake.acquire()

    def loop(self) -> None:
        while self.wake.acquire(timeout=IDLE_S) or self._is_wanted():
            job, self.job = self.job, None
            if job is not None:
                job()
                del job  # releases the objects of the job before the next one
            _idle.append(self)

    def _is_wanted(self) -> bool:
        """Whether a job was assigned between the timeout and the end of the thread."""
        try:
            _idle.remove(self)
        except ValueError:  # already removed from the list: the job follows
            return self.wake.acquire()
        return False


def run(job: Job) -> None:
    """Run a job, which must not raise, on a worker thread; returns at once.

    If no thread can be started, the job runs on the calling thread.
    """
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.job = job
        worker.wake.release()
        try:
            start_new_thread(worker.loop, ())
        except RuntimeError:
            job()
        return
    worker.job = job
    worker.wake.release()


os.register_at_fork(
    after_in_child=lambda: _idle.clear()
)  # a forked child has none of these threads
