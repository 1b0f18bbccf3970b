"""Prepared models whose runs happen within something else, such as a slice of a trace."""

from nnapi_shim.hal.interfaces import IExecution, IPreparedModel
from nnapi_shim.hal.types import ExecutionResult, Request
from nnapi_shim.hints import Callable

Around = Callable[[Callable[[], ExecutionResult]], ExecutionResult]
"""Calls the function that it gets, which runs the model, and returns its result."""


class WrappedPreparedModel(IPreparedModel):
    """Another prepared model, every run of which is a call of `around`."""

    def __init__(self, prepared: IPreparedModel, around: Around) -> None:
        self._prepared, self._around = prepared, around

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> IExecution:
        """As IPreparedModel."""
        execution = self._prepared.createReusableExecution(request, measure, loop_timeout_ns)
        return _WrappedExecution(execution, self._around)


class _WrappedExecution:
    def __init__(self, execution: IExecution, around: Around) -> None:
        self._execution, self._around = execution, around

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """As IExecution."""
        return self._around(lambda: self._execution.compute(deadline_ns))
