"""Threads of the library for asynchronous executions; they wait for the next job when done, and
end when none comes for a while.
"""

import os
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable

Job = Callable[[], None]

IDLE_S = 10.0
"""How long a thread waits for its next job."""

_idle: list["_Worker"] = []


class _Worker:
    """A thread and the job it is to do next."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self.wake: LockType = allocate_lock()
        self.wake.acquire()

    def loop(self) -> None:
        while self.wake.acquire(timeout=IDLE_S) or self._is_wanted():
            job, self.job = self.job, None
            if job is not None:
                job()
                del job  # what it holds must not live until the next one
            _idle.append(self)

    def _is_wanted(self) -> bool:
        """Whether somebody has taken it for a job just before it would have ended."""
        try:
            _idle.remove(self)
        except ValueError:  # it stands there no more: the job follows
            return self.wake.acquire()
        return False


def run(job: Job) -> None:
    """Run a job, which must not raise, on a thread of its own; returns at once.

    Where no thread can be had, it has run when this returns.
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
