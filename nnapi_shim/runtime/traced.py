"""Wraps functions of the runtime and the devices at start, to record slices of a trace."""

from functools import wraps

from nnapi_shim.drivers import observing
from nnapi_shim.drivers.cpu.compile.graph_lowering import GraphLowering
from nnapi_shim.drivers.cpu.compile.packing import Packing
from nnapi_shim.drivers.cpu.prepared_model import CpuPreparedModel
from nnapi_shim.drivers.observing import ObservedStep
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.types import ExecutionResult
from nnapi_shim.hints import Any, Callable, Sequence
from nnapi_shim.recording.trace import DEVICE, OPERATION, RUNTIME, Trace
from nnapi_shim.runtime import compilation, execution_plan, slicing
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.model import Model
from nnapi_shim.runtime.wrapped import WrappedPreparedModel


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
            names = {kernel for kernel, _, _ in self.steps if isinstance(kernel, str)}
            kernels = ", ".join(sorted(names))
            with trace.within("packing", DEVICE, kernels=kernels):
                function(self, *arguments)

    return run


def _prepared_on(trace: Trace, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def prepared_on(self: Compilation, device: IDevice, model: Any, *rest: Any) -> Any:
        operations = _ranges([item.number for item in model.main.operations])
        with trace.within(f"{device.name}: prepare", DEVICE, operations=operations):
            prepared = function(self, device, model, *rest)

        def traced(run: Callable[[], ExecutionResult]) -> ExecutionResult:
            with trace.within(f"{device.name}: run", DEVICE, operations=operations):
                return run()

        return WrappedPreparedModel(prepared, traced)

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


def _operation(trace: Trace, step: ObservedStep) -> None:
    operations = step.operations
    name = f"{operations[-1].name} ({operations[-1].number})" if operations else step.where
    arguments = {"operation": step.where}
    if step.kernel:
        arguments["kernel"] = step.kernel
    trace.slice(name, OPERATION, step.started_ns, step.ended_ns, step.thread, **arguments)
