"""`with nnapi_shim.profile() as p:`: the time and memory of each operation that runs in a block."""

import functools
import os
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from threading import Lock, get_native_id
from time import monotonic_ns
from typing import Any

from nnapi_shim.api import drawing
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.running import Runner
from nnapi_shim.api.view import OperationView
from nnapi_shim.drivers import is_built_in
from nnapi_shim.drivers.cpu.compile.optimize import rewrites
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.observing import ObservedStep, observed
from nnapi_shim.errors import bad_state
from nnapi_shim.tools.fusion import fused_into
from nnapi_shim.tools.observed_run import (
    ObservedRun,
    seconds_of,
    steps_of,
    time_text,
    times_and_notes,
    trace_events,
    write_trace,
)
from nnapi_shim.tools.operand_info import operand_info
from nnapi_shim.tools.report import Report
from nnapi_shim.units import count, duration, percent, size

_METHODS = ("run", "run_named")
"""The methods of Compilation that run a model; `submit` and `run_async` call them."""


@dataclass(frozen=True)
class ProfiledOperation:
    """An operation of a compilation.

    model: number of the compilation, in the order of their first runs. calls: number of its steps
    in all runs. seconds: the median of its time in a run, None for a device whose steps cannot be
    observed; share: of the time of all operations. output_bytes, constant_bytes: the size of its
    results, None if only a run determines it, and of its constants. kernels: the kernels of
    nnapi-cpu. fused_into: number of the operation whose steps do its work, or None.
    """

    model: int
    number: int
    name: str
    device: str
    calls: int
    seconds: float | None
    share: float | None
    output_bytes: int | None
    constant_bytes: int
    kernels: tuple[str, ...]
    fused_into: int | None


@dataclass(frozen=True)
class ProfiledModel(Report):
    """A compilation that ran. run_seconds: the median time of a run, its steps being timed."""

    number: int
    title: str
    devices: tuple[str, ...]
    runs: int
    run_seconds: float
    operations: tuple[ProfiledOperation, ...]


@dataclass
class _Ran:
    """A compilation and its runs."""

    compilation: Compilation
    runner: Runner
    runs: list[ObservedRun] = field(default_factory=list)


@dataclass
class _Current:
    """The run of a thread."""

    ran: _Ran
    started_ns: int
    steps: list[ObservedStep] = field(default_factory=list)


class RunProfile:
    """What ran in the block; the results are complete at its end.

    models: one entry for each compilation. other_steps: steps of executions that are not
    `Compilation.run`. peak_bytes, peak_growth_bytes: the largest memory of the process so far, and
    its growth in the block.
    """

    def __init__(self) -> None:
        self.models: tuple[ProfiledModel, ...] = ()
        self.other_steps: tuple[ObservedStep, ...] = ()
        self.peak_bytes = 0
        self.peak_growth_bytes = 0
        self._ran: list[_Ran] = []
        self._other: list[ObservedStep] = []
        self._current: dict[int, _Current] = {}
        self._lock = Lock()

    @property
    def operations(self) -> tuple[ProfiledOperation, ...]:
        """The operations of all models."""
        return tuple(item for model in self.models for item in model.operations)

    def to_json(self) -> dict[str, Any]:
        """The models with their operations, and the memory, for JSON."""
        return {
            "models": [model.to_json() for model in self.models],
            "peak_bytes": self.peak_bytes,
            "peak_growth_bytes": self.peak_growth_bytes,
        }

    def table(self, top: int = 0) -> str:
        """The operations as a table of text, in execution order; top: only the slowest ones."""
        return "\n".join(self._lines(top))

    def __str__(self) -> str:
        return self.table()

    def _lines(self, top: int) -> Iterator[str]:
        for model in self.models:
            yield (
                f"{model.title} on {', '.join(dict.fromkeys(model.devices))}: "
                f"{count(model.runs, 'run')}, {duration(model.run_seconds)} each"
            )
            yield from _table(model, top)
        grown = f"{size(self.peak_growth_bytes)} more than before"
        yield f"memory of the process: at most {size(self.peak_bytes)}, {grown}"

    def trace(self) -> dict[str, Any]:
        """All runs as JSON trace events for Perfetto and Chrome."""
        return trace_events(self._observed())

    def _observed(self) -> list[ObservedRun]:
        runs = [run for ran in self._ran for run in ran.runs]
        return sorted(runs, key=lambda run: run.started_ns)

    def save_trace(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the trace; raises BAD_DATA if it cannot be written."""
        write_trace(path, self._observed(), overwrite)

    def stacks(self) -> dict[tuple[str, ...], int]:
        """Model, operation, kernel -> nanoseconds in all runs."""
        result: dict[tuple[str, ...], int] = {}
        for model, ran in zip(self.models, self._ran, strict=True):
            for step in (step for run in ran.runs for step in run.steps):
                stack = (model.title, *step.where.split(": "), *filter(None, [step.kernel]))
                result[stack] = result.get(stack, 0) + step.duration_ns
        return result

    def flame_graph(self) -> str:
        """Folded stacks, one per line with nanoseconds, which speedscope and flamegraph.pl read."""
        return "".join(f"{';'.join(stack)} {time}\n" for stack, time in self.stacks().items())

    def save_flame_graph(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the flame graph: a picture for .svg, else folded stacks.

        Raises BAD_DATA if it cannot be written.
        """
        from nnapi_shim.formats import output_file

        is_picture = os.fspath(path).endswith(".svg")
        text = drawing.draw_flames(self.stacks()) if is_picture else self.flame_graph()
        output_file.write(path, text.encode(), overwrite)

    def _repr_html_(self) -> str:
        """The pictures of the models, coloured by time."""
        return "".join(ran.compilation._repr_html_() for ran in self._ran)

    # While the block runs

    def seen(self, step: ObservedStep) -> None:
        """A step of a device."""
        current = self._current.get(step.thread)
        (self._other if current is None else current.steps).append(step)

    def timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of Compilation that records its runs."""

        @functools.wraps(method)
        def run(compilation: Compilation, *inputs: Any, **options: Any) -> Any:
            thread = get_native_id()
            if thread in self._current:  # run_named may call run
                return method(compilation, *inputs, **options)
            ran = self._entered(compilation)
            current = self._current[thread] = _Current(ran, monotonic_ns())
            try:
                return method(compilation, *inputs, **options)
            finally:
                del self._current[thread]
                observed_run = ObservedRun(current.started_ns, monotonic_ns(), tuple(current.steps))
                ran.runs.append(observed_run)

        return run

    def _entered(self, compilation: Compilation) -> _Ran:
        """Give a compilation a new runner: executions bound before are not observed."""
        with self._lock:
            for ran in self._ran:
                if ran.compilation is compilation:
                    return ran
            runner = compilation._runner
            compilation._runner = Runner(runner.runtime, runner.all_inputs, runner.all_outputs)
            self._ran.append(_Ran(compilation, runner))
            return self._ran[-1]

    def finish(self, peak_before: int) -> None:
        """Compute the results, and give compilations their runners back."""
        self.other_steps = tuple(self._other)
        self.peak_bytes = _peak_bytes()
        self.peak_growth_bytes = self.peak_bytes - peak_before
        models = []
        for number, ran in enumerate(self._ran):
            is_closed = ran.compilation._runner.is_closed
            ran.compilation._runner = ran.runner
            if is_closed:
                ran.compilation.close()
            models.append(_model(number, ran))
        self.models = tuple(models)


_running: list[RunProfile] = []


@contextmanager
def profile() -> Iterator[RunProfile]:
    """Measure every operation that runs in the block, on all threads.

        with nnapi_shim.profile() as p:
            compilation.run(x)
        print(p)

    Steps are timed one by one on nnapi-cpu and nnapi-reference, which makes runs slower. Raises
    BAD_STATE within another such block.
    """
    if _running:
        raise bad_state("a profile is being made; blocks cannot be nested", "profile.nested")
    result = RunProfile()
    _running.append(result)
    before = _peak_bytes()
    methods = {name: getattr(Compilation, name) for name in _METHODS}
    try:
        for name, method in methods.items():
            setattr(Compilation, name, result.timed(method))
        with observed(result.seen):
            yield result
    finally:
        for name, method in methods.items():
            setattr(Compilation, name, method)
        _running.clear()
        result.finish(before)


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _model(number: int, ran: _Ran) -> ProfiledModel:
    compilation, runs = ran.compilation, ran.runs
    graph = compilation._graph
    steps = steps_of(runs)
    is_closed = ran.runner.is_closed
    devices = {} if is_closed else compilation._devices()
    names = [] if is_closed else [device.name for device in ran.runner.runtime.devices]
    fused: dict[int, int] = {}
    if names == [CpuDevice.name]:
        texts = [(item.name, item.text) for item in rewrites(ran.runner.runtime.hal)]
        fused = fused_into(texts, graph.operations, steps.keys())
    times = {view.number: seconds_of(steps.get(view.number, ())) for view in graph.operations}
    total = sum(times.values())
    operations = tuple(
        _operation(number, view, devices, steps.get(view.number, ()), times, total, fused)
        for view in graph.operations
    )
    run_seconds = median([run.ended_ns - run.started_ns for run in runs]) / 1e9
    microseconds, fused_notes = times_and_notes(operations)
    values = drawing.Values("time in a run", {**microseconds}, "\u00b5s", fused_notes)
    compilation.profiled = (run_seconds, values)
    title = f"model {number} ({count(len(operations), 'operation')})"
    return ProfiledModel(number, title, tuple(names), len(runs), run_seconds, operations)


def _operation(
    model: int,
    view: OperationView,
    devices: dict[int, str],
    runs: Sequence[Sequence[ObservedStep]],
    times: dict[int, float],
    total: float,
    fused: dict[int, int],
) -> ProfiledOperation:
    steps = [step for run in runs for step in run]
    device = devices.get(view.number, steps[0].device if steps else "")
    outputs = [operand_info(operand).bytes for operand in view.outputs]
    constants = [operand_info(o).bytes or 0 for o in view.inputs if o.is_constant]
    is_seen = bool(steps) or is_built_in(device)
    return ProfiledOperation(
        model,
        view.number,
        view.name,
        device,
        len(steps),
        times[view.number] if is_seen else None,
        times[view.number] / total if is_seen and total else None,
        None if None in outputs else sum(each or 0 for each in outputs),
        sum(constants),
        tuple(dict.fromkeys(step.kernel for step in steps if step.kernel)),
        fused.get(view.number),
    )


_COLUMNS = ("#", "operation", "device", "calls", "time", "share", "results", "constants", "kernels")


def _table(model: ProfiledModel, top: int) -> Iterator[str]:
    shown = list(model.operations)
    if top:
        shown = sorted(shown, key=lambda item: -(item.seconds or 0.0))[:top]
    rows = [_COLUMNS, *map(_row, shown)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_COLUMNS))]
    for row in rows:
        cells = [
            cell.rjust(width) if at in (0, 3, 4, 5, 6, 7) else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _row(item: ProfiledOperation) -> tuple[str, ...]:
    return (
        str(item.number),
        item.name,
        item.device,
        str(item.calls),
        time_text(item),
        percent(item.share),
        size(item.output_bytes),
        size(item.constant_bytes),
        ", ".join(item.kernels),
    )
