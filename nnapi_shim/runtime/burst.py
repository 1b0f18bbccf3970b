"""Burst: a series of executions of one compilation, one after another."""

from _thread import allocate_lock

from nnapi_shim.errors import bad_data, bad_state
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.fast_path import Again, Lender, Lent


class Burst:
    """Runs executions of its compilation, one at a time."""

    def __init__(self, compilation: Compilation) -> None:
        """Raises BAD_STATE for a compilation that is not finished."""
        compilation.require_finished()
        self._compilation = compilation
        self._busy = allocate_lock()
        self._lent: Lent | None = None
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
        if self._lent is not None and self._lent.take_back() < 0:
            self._busy.release()
            return False
        self._lent = None
        return True

    def lend(self, lender: Lender) -> None:
        """Lend it for runs of executions that are lent."""
        if not self._busy.acquire(False):
            return
        try:
            if self._lent is None and not self._is_freed:
                self._lent = lender(Again(0, 0, id(self._compilation)))
                if self._is_freed and self._lent is not None:  # by another thread meanwhile
                    self._lent.release(self)
        finally:
            self._busy.release()

    def freed(self) -> None:
        """The program has let it go: it is lent no longer."""
        self._is_freed = True
        lent = self._lent
        if lent is not None:
            lent.release(self)
