"""Profile of a run: the time of each operation and of each step of a device."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from time import monotonic_ns
from typing import Any

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.devices import Choice
from nnapi_shim.api.model import Model
from nnapi_shim.api.running import Runner
from nnapi_shim.api.view import OperationView
from nnapi_shim.drivers import is_built_in
from nnapi_shim.drivers.observing import ObservedStep, observed
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hal.types import is_known
from nnapi_shim.tools.explain import explain
from nnapi_shim.tools.fusion import fused_into
from nnapi_shim.tools.inputs import Picture, read_or_made_up
from nnapi_shim.tools.machine import Peaks, peaks
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.observed_run import (
    ObservedRun,
    seconds_of,
    steps_of,
    trace_events,
    write_trace,
)
from nnapi_shim.tools.operand_info import OperandInfo, operand_info
from nnapi_shim.tools.report import Progress, Report, untold
from nnapi_shim.tools.work import Shapes, flops, is_integer, moved_bytes


@dataclass(frozen=True)
class StepProfile:
    """A step of a device for an operation, or for several fused ones.

    kernel: the kernel on nnapi-cpu; "" on nnapi-reference, where an operation is one step.
    where: the operation; within an IF or WHILE with the enclosing ones. calls: number of calls in
    one run. seconds: sum of all calls in one run, median of all runs, without the time that timing
    adds (Profile.timing_seconds).
    """

    device: str
    kernel: str
    where: str
    calls: int
    seconds: float


@dataclass(frozen=True)
class OperationProfile:
    """An operation; operations are listed in execution order.

    seconds: sum of its steps in one run, median of all runs; 0.0 if the device has no separate step
    for it, None for a device whose steps cannot be observed. share: of the observed time. flops,
    bytes: its arithmetic operations and memory traffic, None if they depend on data.
    flops_per_second, bytes_per_second, of_peak_flops, of_peak_bytes: rates and their fractions of
    the machine's peaks, or None. bound: `compute` or `memory`, the nearer peak. fused_into: number
    of the operation whose steps do its work, or None.
    is_integer: whether the arithmetic is that of quantized numbers.
    """

    number: int
    name: str
    device: str
    outputs: tuple[OperandInfo, ...]
    seconds: float | None
    share: float | None
    flops: int | None
    bytes: int | None
    flops_per_second: float | None
    bytes_per_second: float | None
    of_peak_flops: float | None
    of_peak_bytes: float | None
    bound: str
    is_integer: bool
    steps: tuple[StepProfile, ...]
    fused_into: int | None = None


@dataclass(frozen=True)
class Kind:
    """The sums of all operations of a type."""

    name: str
    count: int
    seconds: float
    share: float


@dataclass(frozen=True)
class Profile(Report):
    """A profile.

    run_seconds: median of runs without observation. observed_seconds: median of runs with timed
    steps; the difference is the cost of observation. seen_seconds: sum of all steps.
    timing_seconds: the measured time of a step without work, subtracted from that of each step.
    """

    model: str
    devices: tuple[str, ...]
    runs: int
    made_up: bool
    run_seconds: float
    observed_seconds: float
    seen_seconds: float
    flops: int | None
    peaks: Peaks | None
    operations: tuple[OperationProfile, ...]
    kinds: tuple[Kind, ...]
    timing_seconds: float = 0.0
    runs_seen: tuple[ObservedRun, ...] = field(repr=False, default=())

    def to_json(self) -> dict[str, Any]:
        """The report without single runs; `trace` has them."""
        result = super().to_json()
        del result["runs_seen"]
        return result

    def trace(self) -> dict[str, Any]:
        """All observed runs as JSON trace events for Perfetto and Chrome."""
        return trace_events(self.runs_seen)

    def save_trace(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the trace; raises BAD_DATA if it cannot be written."""
        write_trace(path, self.runs_seen, overwrite)


def profile(
    source: Source,
    devices: Choice | None = None,
    *,
    inputs: Sequence[str | os.PathLike[str]] = (),
    runs: int = 20,
    warm_up: int = 3,
    against_peaks: bool = True,
    picture: Picture | None = None,
    seed: int = 0,
    progress: Progress = untold,
) -> Profile:
    """Profile a model.

    devices: as in Compilation. inputs: files, as in read_inputs; without files, random numbers from
    `seed`. runs: number of observed runs, after `warm_up` runs. against_peaks: whether to measure
    the machine's peaks.

    Steps are observed on nnapi-cpu and nnapi-reference. Raises NnapiError.
    """
    model = model_of(source)
    total = 2 * runs + warm_up
    compilation = Compilation(model, devices)
    arrays = read_or_made_up(compilation, inputs, picture, seed)
    values = tuple(all_inputs(model, compilation, arrays))
    unobserved = Runner(compilation.runtime, compilation.all_inputs, compilation.all_outputs)
    for done in range(warm_up):
        progress(done, total, "warming up")
        unobserved.run(values)
    alone = []
    for done in range(runs):
        progress(warm_up + done, total, "runs")
        began = monotonic_ns()
        unobserved.run(values)
        alone.append(monotonic_ns() - began)
    observed_runs = []
    steps: list[ObservedStep] = []
    # Executions are bound to their observer, so this runner is a new one.
    observed_runner = Runner(compilation.runtime, compilation.all_inputs, compilation.all_outputs)
    with observed(steps.append):
        observed_runner.run(values)
        for done in range(runs):
            progress(warm_up + runs + done, total, "observed runs")
            steps.clear()
            began = monotonic_ns()
            observed_runner.run(values)
            observed_runs.append(ObservedRun(began, monotonic_ns(), tuple(steps)))
    return _Result(
        name_of(source),
        model,
        compilation,
        devices,
        arrays,
        observed_runs,
        peaks() if against_peaks else None,
    ).profile(not inputs, median(alone) / 1e9)


def all_inputs(
    model: Model, compilation: Compilation, arrays: Sequence[Array]
) -> list[Array | None]:
    """All inputs of the model: the arguments, and the initial states."""
    states = {state.input: state.initial for state in model.carried}
    rest = iter(arrays)
    return [
        states[position] if position in states else next(rest)
        for position in range(len(compilation.all_inputs))
    ]


class _Result:
    """Computes the report from observed runs."""

    def __init__(
        self,
        name: str,
        model: Model,
        compilation: Compilation,
        devices: Choice | None,
        arrays: Sequence[Array],
        observed_runs: Sequence[ObservedRun],
        against: Peaks | None,
    ) -> None:
        self.name = name
        self.model = model
        self.compilation = compilation
        self.observed_runs = observed_runs
        self.against = against
        self.shapes = _shapes(model, compilation, arrays)
        explanation = explain(model, devices)
        self.device_of = {item.number: item.device for item in explanation.operations}
        self.steps = steps_of(observed_runs)
        rewrites = [(rewrite.name, rewrite.what) for rewrite in explanation.passes]
        self.fused = fused_into(rewrites, model.operations, self.steps.keys())

    def profile(self, made_up: bool, run_seconds: float) -> Profile:
        """The report."""
        times = {view.number: self._seconds(view) for view in self.model.operations}
        seen_seconds = sum(seconds or 0.0 for seconds in times.values())
        operations = tuple(
            self._operation(view, times[view.number], seen_seconds)
            for view in self.model.operations
        )
        counts = [item.flops for item in operations]
        known = [count for count in counts if count is not None]
        return Profile(
            self.name,
            tuple(device.name for device in self.compilation.runtime.devices),
            len(self.observed_runs),
            made_up,
            run_seconds,
            median([run.ended_ns - run.started_ns for run in self.observed_runs]) / 1e9,
            seen_seconds,
            sum(known) if len(known) == len(counts) else None,
            self.against,
            operations,
            _kinds(operations),
            self._timing_seconds(),
            tuple(self.observed_runs),
        )

    def _timing_seconds(self) -> float:
        overheads = [step.overhead_ns for run in self.observed_runs for step in run.steps]
        return median(overheads) / 1e9 if overheads else 0.0

    def _seconds(self, view: OperationView) -> float | None:
        if not is_built_in(self.device_of[view.number]):
            return None
        return seconds_of(self.steps.get(view.number, ()))

    def _operation(
        self, view: OperationView, seconds: float | None, total: float
    ) -> OperationProfile:
        work, traffic = flops(view, self.shapes), moved_bytes(view, self.shapes)
        rate = work / seconds if work and seconds else None
        stream = traffic / seconds if traffic and seconds else None
        peak = None
        if self.against is not None:
            peak = self.against.int8 if is_integer(view) else self.against.float32
        of_flops = rate / peak if rate and peak else None
        of_bytes = stream / self.against.bytes if stream and self.against else None
        bound = ""
        if of_flops or of_bytes:
            bound = "compute" if (of_flops or 0) > (of_bytes or 0) else "memory"
        return OperationProfile(
            view.number,
            view.name,
            self.device_of[view.number],
            tuple(map(operand_info, view.outputs)),
            seconds,
            seconds / total if seconds is not None and total else None,
            work,
            traffic,
            rate,
            stream,
            of_flops,
            of_bytes,
            bound,
            is_integer(view),
            _steps(self.steps.get(view.number, [])),
            self.fused.get(view.number),
        )


def _steps(runs: Sequence[Sequence[ObservedStep]]) -> tuple[StepProfile, ...]:
    """The steps of an operation; runs: those of each run."""
    durations: dict[tuple[str, str, str], list[list[int]]] = {}
    for at, steps in enumerate(runs):
        for step in steps:
            key = (step.device, step.kernel, step.where)
            calls = durations.setdefault(key, [[] for _ in runs])
            calls[at].append(step.duration_ns)
    return tuple(
        StepProfile(*key, max(map(len, calls)), median([sum(each) for each in calls]) / 1e9)
        for key, calls in durations.items()
    )


def _shapes(model: Model, compilation: Compilation, arrays: Sequence[Array]) -> Shapes:
    """Dimensions that the model leaves unknown, from a run."""
    open_ones = [
        operand
        for view in model.operations
        for operand in (*view.inputs, *view.outputs)
        if operand.type in ELEMENT_BYTES
        and not operand.is_omitted
        and not is_known(operand.type, operand.dimensions)
    ]
    if not open_ones:
        return {}
    compilation.reset()
    values = compilation.intermediates(*arrays)
    return {operand.index: values[operand].shape for operand in open_ones if operand in values}


def _kinds(operations: Sequence[OperationProfile]) -> tuple[Kind, ...]:
    groups: dict[str, list[OperationProfile]] = {}
    for item in operations:
        groups.setdefault(item.name, []).append(item)
    kinds = [
        Kind(
            name,
            len(items),
            sum(item.seconds or 0.0 for item in items),
            sum(item.share or 0.0 for item in items),
        )
        for name, items in groups.items()
    ]
    return tuple(sorted(kinds, key=lambda kind: -kind.seconds))
