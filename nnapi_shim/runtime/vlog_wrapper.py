"""Prepared models that log their runs on stderr: DEBUG_NN_VLOG with `execution`."""

from collections.abc import Callable
from time import monotonic_ns

from nnapi_shim import vlog
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.interfaces import IExecution, IPreparedModel
from nnapi_shim.hal.types import ExecutionResult, Request


class ToldPreparedModel:
    """As IPreparedModel. where: the devices that run it."""

    def __init__(self, prepared: IPreparedModel, where: str) -> None:
        self._prepared = prepared
        self._where = where

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> IExecution:
        """As IPreparedModel."""
        inputs = [list(argument.dimensions) for argument in request.inputs]
        vlog.write("execution", f"an execution on {self._where} with inputs {inputs}")
        execution = self._prepared.createReusableExecution(request, measure, loop_timeout_ns)
        return ToldExecution(execution, self._where)

    def execute(
        self, request: Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> ExecutionResult:
        """As IPreparedModel."""
        prepared = self._prepared
        return _logged(
            self._where,
            lambda: prepared.execute(request, measure, deadline_ns, loop_timeout_ns),
        )


class ToldExecution:
    """As IExecution."""

    def __init__(self, execution: IExecution, where: str) -> None:
        self._execution = execution
        self._where = where

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """As IExecution."""
        return _logged(self._where, lambda: self._execution.compute(deadline_ns))


def _logged(where: str, run: Callable[[], ExecutionResult]) -> ExecutionResult:
    began = monotonic_ns()
    try:
        result = run()
    except NnapiError as error:
        vlog.write("execution", f"a computation on {where} failed: {error}")
        raise
    took = (monotonic_ns() - began) / 1e3
    outputs = [list(shape.dimensions) for shape in result.output_shapes]
    vlog.write(
        "execution",
        f"a computation on {where}: {result.status.name}, outputs {outputs}, {took:.0f} us",
    )
    return result
