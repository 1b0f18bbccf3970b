"""Burst: a series of executions of one compilation, one after another."""

from _thread import allocate_lock

from nnapi_shim.errors import bad_data, bad_state
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.fast_path import FastRun, Publisher, Slot


class Burst:
    """Runs executions of its compilation, one at a time."""

    def __init__(self, compilation: Compilation) -> None:
        """Raises BAD_STATE for a compilation that is not finished."""
        compilation.require_finished()
        self._compilation = compilation
        self._busy = allocate_lock()
        self._slot: Slot | None = None
        self._is_freed = False

    def compute(self, execution: Execution) -> None:
        """Run an execution; raises BAD_DATA for one of another compilation, BAD_STATE when busy."""
        if execution.compilation is not self._compilation:
            raise bad_data(
                "the execution and the burst belong to different compilations",
                "burst.other-compilation",
            )
        if not self._taken():
            raise bad_state("the burst runs another execution", "burst.busy")
        try:
            execution.compute()
        finally:
            self._busy.release()

    def _taken(self) -> bool:
        """Whether it is this thread's now."""
        if not self._busy.acquire(False):
            return False
        if self._slot is not None and self._slot.reclaim() < 0:
            self._busy.release()
            return False
        self._slot = None
        return True

    def publish(self, publisher: Publisher) -> None:
        """Publish it for the fast path, for runs of published executions."""
        if not self._busy.acquire(False):
            return
        try:
            if self._slot is None and not self._is_freed:
                self._slot = publisher(FastRun(0, 0, id(self._compilation)))
                if self._is_freed and self._slot is not None:  # by another thread meanwhile
                    self._slot.release(self)
        finally:
            self._busy.release()

    def freed(self) -> None:
        """The program has freed it: release its slot of the fast path."""
        self._is_freed = True
        slot = self._slot
        if slot is not None:
            slot.release(self)
