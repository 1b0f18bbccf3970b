"""Prepared models that log their runs on stderr: DEBUG_NN_VLOG with `execution`."""

from functools import partial
from time import monotonic_ns

from nnapi_shim import vlog
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.interfaces import IExecution, IPreparedModel
from nnapi_shim.hal.types import ExecutionResult, Request
from nnapi_shim.hints import Callable
from nnapi_shim.runtime.wrapped import WrappedPreparedModel


class LoggingPreparedModel(WrappedPreparedModel):
    """As IPreparedModel. where: the devices that run it."""

    def __init__(self, prepared: IPreparedModel, where: str) -> None:
        super().__init__(prepared, partial(_logged, where))
        self._where = where

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> IExecution:
        """As IPreparedModel."""
        inputs = [list(argument.dimensions) for argument in request.inputs]
        vlog.write("execution", f"an execution on {self._where} with inputs {inputs}")
        return super().createReusableExecution(request, measure, loop_timeout_ns)


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
