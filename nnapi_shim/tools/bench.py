"""Benchmark of a model: latency, throughput, memory, and the latency of other runtimes."""

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median
from time import perf_counter

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.devices import Choice
from nnapi_shim.api.execution import Execution
from nnapi_shim.api.model import Model
from nnapi_shim.api.running import Runner
from nnapi_shim.drivers.cpu.program.threads import count as default_threads
from nnapi_shim.errors import bad_data
from nnapi_shim.tools.bench_report import Arithmetic, Bench, Conditions, Measured, Memory
from nnapi_shim.tools.bench_rounds import at_once, compared, in_turns
from nnapi_shim.tools.info import processor
from nnapi_shim.tools.inputs import Picture, read_or_made_up
from nnapi_shim.tools.kernel_threads import on_threads, require_kernel_threads
from nnapi_shim.tools.latency import calls_within, latency, no_collection, timed
from nnapi_shim.tools.machine import load_average
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.peers import Peer, device_names, import_of, peer
from nnapi_shim.tools.profile import all_inputs
from nnapi_shim.tools.report import Progress, untold
from nnapi_shim.tools.work import flops, is_integer
from nnapi_shim.version import __version__


def bench(
    source: Source,
    devices: Choice | None = None,
    *,
    inputs: Sequence[str | os.PathLike[str]] = (),
    seconds: float = 2.0,
    runs: int = 0,
    warm_up: int = 5,
    threads: Sequence[int] = (1,),
    peers: Sequence[str] = (),
    kernel_threads: Sequence[int] = (),
    picture: Picture | None = None,
    seed: int = 0,
    progress: Progress = untold,
) -> Bench:
    """Measure a model.

    devices: as in Compilation. inputs: files, as in read_inputs; without files, random numbers from
    `seed`. seconds: wall-clock time of each measurement, with 1 to MOST_CALLS runs. runs: a number
    of runs instead of a time, if not 0. threads: numbers of concurrent runs for the throughput.
    peers: litert, onnxruntime, openvino, or names of devices. kernel_threads: numbers of threads of
    one run, the same for nnapi-cpu and the peers; by default the number that nnapi-cpu takes for
    any program.

    Raises NnapiError, and ImportError for a peer that is not installed.
    """
    _require(threads, kernel_threads)
    for name in peers:
        import_of(name)
    plan = _Plan(source, tuple(peers), tuple(threads), seconds, runs, warm_up)
    numbers = tuple(kernel_threads) or (default_threads(),)
    load, before, began = load_average(), _resident(), perf_counter()
    model = model_of(source)
    load_seconds, with_model = perf_counter() - began, _resident()
    measured, starts = [], []
    for at, number in enumerate(numbers):
        tell = _part(progress, at, len(numbers), 2 + len(threads))
        with on_threads(number):
            start = _Start(model, devices, inputs, picture, seed)
            starts.append(start)
            measured.append(plan.measure(start, number, tell))
    first = starts[0]
    return Bench(
        name_of(source),
        tuple(device.name for device in first.compilation.runtime.devices),
        not inputs,
        _conditions(load),
        load_seconds,
        first.compile_seconds,
        first.run_seconds,
        warm_up,
        _arithmetic(model),
        tuple(measured),
        Memory(before, with_model, first.compiled_bytes, first.run_bytes, _peak()),
    )


def _require(threads: Sequence[int], kernel_threads: Sequence[int]) -> None:
    if any(number < 1 for number in threads):
        raise bad_data(
            f"threads are {list(threads)}; each number must be at least 1", "tool.bench.threads"
        )
    require_kernel_threads(kernel_threads)


def _part(progress: Progress, at: int, parts: int, steps: int) -> Progress:
    """The progress of one of several equal parts."""

    def tell(done: int, total: int, what: str) -> None:
        progress(at * steps + done, parts * steps, what)

    return tell


class _Start:
    """A compilation after its first run."""

    def __init__(
        self,
        model: Model,
        devices: Choice | None,
        inputs: Sequence[str | os.PathLike[str]],
        picture: Picture | None,
        seed: int,
    ) -> None:
        began = perf_counter()
        self.compilation = Compilation(model, devices)
        self.compile_seconds = perf_counter() - began
        self.compiled_bytes = _resident()
        self.model = model
        self.arrays = read_or_made_up(self.compilation, inputs, picture, seed)
        self.values = all_inputs(model, self.compilation, self.arrays)
        began = perf_counter()
        self.call, self.results = bound(self.compilation, self.values)
        self.run_seconds = perf_counter() - began
        self.run_bytes = _resident()


@dataclass(frozen=True)
class _Plan:
    """What is measured for each number of kernel threads."""

    source: Source
    peers: tuple[str, ...]
    threads: tuple[int, ...]
    seconds: float
    runs: int
    warm_up: int

    def _other(self, name: str, start: _Start, kernel_threads: int) -> Peer:
        """A device of this name, or a runtime."""
        if name not in device_names():
            inputs = start.arrays, start.values
            return peer(name, self.source, start.model, inputs, kernel_threads)
        compilation = Compilation(start.model, name)
        run, results = bound(compilation, start.values)
        (device,) = compilation.runtime.devices
        return Peer(name, device.version, run, lambda: results)

    def measure(self, start: _Start, kernel_threads: int, progress: Progress) -> Measured:
        """Our runs, those of the peers in turns with them, and concurrent runs."""
        total = 2 + len(self.threads)
        progress(0, total, "warming up")
        timed(start.call, self.warm_up)
        count = self.runs or calls_within(start.call, self.seconds)
        start.run_bytes = _resident()
        others = [self._other(name, start, kernel_threads) for name in self.peers]
        what = f"runs, and those of {', '.join(self.peers)}" if others else "runs"
        progress(1, total, what)
        limit = inf if self.runs else self.seconds
        throughput = []
        with no_collection():
            own, theirs = in_turns(start.call, others, count, self.seconds, self.runs, self.warm_up)
            for at, number in enumerate(self.threads):
                progress(2 + at, total, f"{number} runs at once")
                calls = [bound(start.compilation, start.values)[0] for _ in range(number)]
                throughput.append(at_once(calls, count, limit))
        # Each runtime advances its own states.
        outputs = [] if start.model.carried else start.results
        return Measured(
            kernel_threads,
            latency([sample for block in own for sample in block]),
            tuple(map(median, own)),
            tuple(throughput),
            tuple(
                compared(other, own, blocks, outputs)
                for other, blocks in zip(others, theirs, strict=True)
            ),
        )


def bound(
    compilation: Compilation, values: Sequence[Array | None]
) -> tuple[Callable[[], object], list[Array]]:
    """A function that runs the model again, and the arrays that receive its outputs.

    One run has been made, to determine the dimensions of the outputs.
    """
    execution, results = bound_execution(compilation, values)
    return execution.compute, results


def bound_execution(
    compilation: Compilation, values: Sequence[Array | None]
) -> tuple[Execution, list[Array]]:
    """The execution behind `bound`, and its output arrays."""
    runner = Runner(compilation.runtime, compilation.all_inputs, compilation.all_outputs)
    results = list(runner.run(tuple(values)))
    execution = Execution(compilation, reusable=True)
    for position, value in enumerate(values):
        execution.set_input(position, value)
    for position, array in enumerate(results):
        execution.set_output(position, array)
    return execution, results


def _conditions(load: float | None) -> Conditions:
    machine = processor()
    return Conditions(
        __version__,
        platform.python_version(),
        machine.name,
        machine.tier,
        tuple(sorted(os.sched_getaffinity(0))),
        load,
        load_average(),
    )


def _arithmetic(model: Model) -> Arithmetic | None:
    floating = integer = 0
    for view in model.operations:
        count = flops(view, {})
        if count is None:
            return None
        if is_integer(view):
            integer += count
        else:
            floating += count
    return Arithmetic(floating, integer)


def _status(name: str) -> int | None:
    """A number of bytes from /proc/self/status."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return int(value.split()[0]) * 1024
    except OSError:
        return None
    return None


def _resident() -> int | None:
    return _status("VmRSS")


def _peak() -> int | None:
    return _status("VmHWM")
