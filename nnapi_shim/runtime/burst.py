"""Burst: a series of executions of one compilation, one after another."""

from _thread import allocate_lock

from nnapi_shim.errors import bad_data, bad_state
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution


class Burst:
    """Runs executions of its compilation, one at a time."""

    def __init__(self, compilation: Compilation) -> None:
        """Raises BAD_STATE for a compilation that is not finished."""
        compilation.require_finished()
        self._compilation = compilation
        self._busy = allocate_lock()

    def compute(self, execution: Execution) -> None:
        """Run an execution; raises BAD_DATA for one of another compilation, BAD_STATE when busy."""
        if execution.compilation is not self._compilation:
            raise bad_data(
                "the execution and the burst belong to different compilations", "other_compilation"
            )
        if not self._busy.acquire(False):
            raise bad_state("the burst runs another execution", "busy")
        try:
            execution.compute()
        finally:
            self._busy.release()
