"""Wraps functions of the runtime and the devices at start, to record slices of a trace."""

from collections.abc import Callable, Sequence
from functools import wraps

from nnapi_shim.drivers import observing
from nnapi_shim.drivers.cpu.compile.graph_lowering import GraphLowering
from nnapi_shim.drivers.cpu.compile.packing import Packing
from nnapi_shim.drivers.cpu.prepared_model import CpuPreparedModel
from nnapi_shim.drivers.observing import ObservedStep
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.types import ExecutionResult, Request
from nnapi_shim.hints import Any
from nnapi_shim.recording.trace import DEVICE, OPERATION, RUNTIME, Trace
from nnapi_shim.runtime import compilation, execution_plan, slicing
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.model import Model


def trace_all(trace: Trace) -> None:
    """Trace everything below the API from now on."""
    owner: Any
    for owner, name, label, category in (
        (Model, "finish", "check the model", RUNTIME),
        (compilation, "partitioned", "partition", RUNTIME),
        (compilation, "whole", "partition", RUNTIME),
        (slicing, "sliced", "slice the model", RUNTIME),
        (Execution, "_bind", "bind", RUNTIME),
        (Execution, "_run", "run", RUNTIME),
        (execution_plan.PlanExecution, "compute", "run partitions", RUNTIME),
        (GraphLowering, "lower_all", "lowering", DEVICE),
        (GraphLowering, "program", "assembly", DEVICE),
        (CpuPreparedModel, "_use_cache", "cache", DEVICE),
    ):
        setattr(owner, name, _sliced(trace, getattr(owner, name), label, category))
    for owner, name, around in (
        (Packing, "run", _packing),
        (Compilation, "_prepared_on", _prepared_on),
    ):
        setattr(owner, name, around(trace, getattr(owner, name)))
    observing.begin(lambda step: _operation(trace, step))


def _sliced(
    trace: Trace, function: Callable[..., Any], name: str, category: str
) -> Callable[..., Any]:
    @wraps(function)
    def sliced(*arguments: Any, **named: Any) -> Any:
        with trace.within(name, category):
            return function(*arguments, **named)

    return sliced


def _packing(trace: Trace, function: Callable[..., None]) -> Callable[..., None]:
    @wraps(function)
    def run(self: Packing, *arguments: Any) -> None:
        if self.steps:
            kernels = ", ".join(sorted({kernel for kernel, _, _ in self.steps}))
            with trace.within("packing", DEVICE, kernels=kernels):
                function(self, *arguments)

    return run


def _prepared_on(trace: Trace, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def prepared_on(self: Compilation, device: IDevice, model: Any, *rest: Any) -> Any:
        numbers = [item.number for item in model.main.operations]
        with trace.within(f"{device.name}: prepare", DEVICE, operations=_ranges(numbers)):
            prepared = function(self, device, model, *rest)
        return _TracedPreparedModel(trace, prepared, device.name, _ranges(numbers))

    return prepared_on


def _ranges(numbers: Sequence[int]) -> str:
    """Such as `0-3, 5`."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


class _TracedPreparedModel:
    """IPreparedModel that records the runs of another as slices."""

    def __init__(self, trace: Trace, prepared: IPreparedModel, name: str, operations: str) -> None:
        self._trace, self._prepared = trace, prepared
        self._name, self._operations = name, operations

    def createReusableExecution(  # noqa: N802 (the name in the HAL)
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> "_TracedExecution":
        """As IPreparedModel."""
        made = self._prepared.createReusableExecution(request, measure, loop_timeout_ns)
        return _TracedExecution(self._trace, made, self._name, self._operations)

    def execute(
        self, request: Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> ExecutionResult:
        """As IPreparedModel."""
        with self._trace.within(f"{self._name}: run", DEVICE, operations=self._operations):
            return self._prepared.execute(request, measure, deadline_ns, loop_timeout_ns)


class _TracedExecution:
    """IExecution that records the runs of another as slices."""

    def __init__(self, trace: Trace, execution: IExecution, name: str, operations: str) -> None:
        self._trace, self._execution = trace, execution
        self._name, self._operations = name, operations

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """As IExecution."""
        with self._trace.within(f"{self._name}: run", DEVICE, operations=self._operations):
            return self._execution.compute(deadline_ns)


def _operation(trace: Trace, step: ObservedStep) -> None:
    operations = step.operations
    name = f"{operations[-1].name} ({operations[-1].number})" if operations else step.where
    arguments = {"operation": step.where}
    if step.kernel:
        arguments["kernel"] = step.kernel
    trace.slice(name, OPERATION, step.started_ns, step.ended_ns, step.thread, **arguments)
