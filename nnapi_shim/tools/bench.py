"""Benchmark of a model: latency, throughput, memory, and the latency of other runtimes."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median, quantiles
from threading import Barrier, BrokenBarrierError, Thread
from time import perf_counter

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.devices import Choice
from nnapi_shim.api.execution import Execution
from nnapi_shim.api.running import Runner
from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.tools.inputs import Picture, made_up, read_inputs
from nnapi_shim.tools.latency import Latency, calls_within, latency, no_collection, timed
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.peers import Peer, import_of, peer
from nnapi_shim.tools.profile import all_inputs
from nnapi_shim.tools.report import Progress, Report, untold

ROUNDS = 20
"""Number of rounds in which all runtimes run in turns, under the same conditions."""


@dataclass(frozen=True)
class Throughput:
    """Throughput of concurrent threads. latency: of single runs, on all threads."""

    threads: int
    runs_per_second: float
    latency: Latency


@dataclass(frozen=True)
class Memory:
    """Resident bytes of the process: before loading, with the loaded model, after compilation,
    after the first runs; and the peak, peers included. None where the system does not report it.
    """

    before: int | None
    loaded: int | None
    compiled: int | None
    run: int | None
    peak: int | None


@dataclass(frozen=True)
class PeerBench:
    """Another runtime, measured in turns with nnapi_shim. There are fewer ratios than ROUNDS if the
    time limit ends the measurement or if there are fewer runs.

    ratio: the median over rounds of its median time divided by ours; above 1, nnapi_shim is faster.
    low, high: the quartiles of the rounds. largest_difference: between its outputs and ours, in the
    model's units; None if their dimensions differ, and for models with states.
    """

    name: str
    version: str
    latency: Latency
    ratio: float
    low: float
    high: float
    ratios: tuple[float, ...]
    largest_difference: float | None


@dataclass(frozen=True)
class Bench(Report):
    """A benchmark. Times are in seconds. latency: of runs with bound arguments, on one thread."""

    model: str
    devices: tuple[str, ...]
    made_up: bool
    load_seconds: float
    compile_seconds: float
    first_run_seconds: float
    warm_up: int
    latency: Latency
    throughput: tuple[Throughput, ...]
    memory: Memory
    peers: tuple[PeerBench, ...]


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
    peer_threads: int = 1,
    picture: Picture | None = None,
    seed: int = 0,
    progress: Progress = untold,
) -> Bench:
    """Measure a model.

    devices: as in Compilation. inputs: files, as in read_inputs; without files, random numbers from
    `seed`. seconds: wall-clock time of each measurement, with 1 to MOST_CALLS runs. runs: a number
    of runs instead of a time, if not 0. threads: numbers of concurrent threads for the throughput.
    peers: litert, onnxruntime, openvino. peer_threads: threads per run of a peer.

    Raises NnapiError, and ImportError for a peer that is not installed.
    """
    if any(number < 1 for number in threads):
        raise bad_data(
            f"threads are {list(threads)}; each number must be at least 1", "tool.bench.threads"
        )
    for name in peers:
        import_of(name)
    before = _resident()
    began = perf_counter()
    model = model_of(source)
    loaded, with_model = perf_counter(), _resident()
    compilation = Compilation(model, devices)
    compiled, with_program = perf_counter(), _resident()
    arrays = (
        read_inputs(compilation, inputs, picture) if inputs else made_up(compilation.inputs, seed)
    )
    values = all_inputs(model, compilation, arrays)
    first_began = perf_counter()
    call, results = bound(compilation, values)
    first = perf_counter() - first_began
    total = 2 + len(threads)
    progress(0, total, "warming up")
    timed(call, warm_up)
    count = runs or calls_within(call, seconds)
    after = _resident()
    others = [peer(name, source, model, (arrays, values), peer_threads) for name in peers]
    progress(1, total, "runs" if not others else f"runs, and those of {', '.join(peers)}")
    throughput = []
    with no_collection():
        own, theirs = _in_turns(call, others, count, seconds, runs, warm_up)
        for at, number in enumerate(threads):
            progress(2 + at, total, f"{number} threads at once")
            limit = inf if runs else seconds
            throughput.append(_at_once(compilation, values, number, count, limit))
    outputs = [] if model.carried else results  # each runtime advances its own states
    return Bench(
        name_of(source),
        tuple(device.name for device in compilation.runtime.devices),
        not inputs,
        loaded - began,
        compiled - loaded,
        first,
        warm_up,
        latency([sample for block in own for sample in block]),
        tuple(throughput),
        Memory(before, with_model, with_program, after, _peak()),
        tuple(
            _compared(other, own, blocks, outputs)
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
    results = list(runner.run(values))
    execution = Execution(compilation, reusable=True)
    for position, value in enumerate(values):
        execution.set_input(position, value)
    for position, array in enumerate(results):
        execution.set_output(position, array)
    return execution, results


def _in_turns(
    call: Callable[[], object],
    others: Sequence[Peer],
    count: int,
    seconds: float,
    runs: int,
    warm_up: int,
) -> tuple[list[list[float]], list[list[list[float]]]]:
    """Times of our runs and of each peer's, measured in alternating rounds.

    The time limit ends the measurement after at least one round.
    """
    limit = inf if runs else seconds
    if not others:
        return [timed(call, count, perf_counter() + limit)], []
    counts = []
    for other in others:
        timed(other.run, max(1, warm_up))
        counts.append(runs or calls_within(other.run, seconds))
    rounds = min(ROUNDS, count, *counts)
    own: list[list[float]] = []
    theirs: list[list[list[float]]] = [[] for _ in others]
    until = perf_counter() + limit * (1 + len(others))
    for at in range(rounds):
        if at and perf_counter() >= until:
            break
        own.append(timed(call, count // rounds, until))
        for other, number, blocks in zip(others, counts, theirs, strict=True):
            blocks.append(timed(other.run, number // rounds, until))
    return own, theirs


def _compared(
    other: Peer,
    own: Sequence[Sequence[float]],
    blocks: Sequence[Sequence[float]],
    outputs: Sequence[Array],
) -> PeerBench:
    ratios = [median(theirs) / median(ours) for ours, theirs in zip(own, blocks, strict=True)]
    low, middle, high = (
        quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    )
    return PeerBench(
        other.name,
        other.version,
        latency([sample for block in blocks for sample in block]),
        middle,
        low,
        high,
        tuple(ratios),
        _largest_difference(outputs, other.outputs()),
    )


def _largest_difference(ours: Sequence[Array], theirs: Sequence[Array]) -> float | None:
    if not ours or [array.shape for array in ours] != [array.shape for array in theirs]:
        return None
    return max(
        (
            float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0.0))
            for a, b in zip(ours, theirs, strict=True)
        ),
        default=0.0,
    )


def _at_once(
    compilation: Compilation,
    values: Sequence[Array | None],
    threads: int,
    count: int,
    limit: float,
) -> Throughput:
    """Runs on several threads: `count` runs on each, for `limit` seconds at most."""
    calls = [bound(compilation, values)[0] for _ in range(threads)]
    samples: list[list[float]] = [[] for _ in calls]
    errors: list[NnapiError] = []
    start = Barrier(threads + 1)

    def work(number: int) -> None:
        try:
            start.wait()
            samples[number] = timed(calls[number], count, perf_counter() + limit)
        except BrokenBarrierError:
            pass  # another thread could not be started
        except NnapiError as error:
            errors.append(error)

    workers = [Thread(target=work, args=(number,), daemon=True) for number in range(threads)]
    try:
        for worker in workers:
            worker.start()
    except RuntimeError:
        start.abort()
        raise op_failed(
            f"{threads} threads cannot be made at once", "tool.bench.no-threads"
        ) from None
    start.wait()
    began = perf_counter()
    for worker in workers:
        worker.join()
    took = perf_counter() - began
    if errors:
        raise errors[0]
    every = [sample for some in samples for sample in some]
    return Throughput(threads, len(every) / took, latency(every))


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
