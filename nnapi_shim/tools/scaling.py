"""Predicted times of a model on more processors, from the times of its tiles on one.

A run is a sequence of regions; the tiles of a region are divided among threads, and the next region
begins when all have ended (native/pool.c). The prediction replays this division with the measured
times. It knows nothing of memory bandwidth, shared caches and clock rates, which fall with the
number of busy processors: measured times, where this machine has the processors, show how much that
is.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import monotonic_ns
from typing import NamedTuple

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.compilation import Compilation
from nnapi_shim.api.running import Runner
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program.threads import available
from nnapi_shim.drivers.cpu.run.tile_timing import TimedRegion, timed_regions
from nnapi_shim.tools.inputs import Picture, read_or_made_up
from nnapi_shim.tools.kernel_threads import on_threads, require_kernel_threads
from nnapi_shim.tools.model_source import Source, model_of, name_of
from nnapi_shim.tools.profile import all_inputs
from nnapi_shim.tools.report import Progress, Report, untold

CORES = (1, 2, 4, 8, 16)

TAKE_S = 80e-9
"""Taking tiles: a compare-and-swap of a word that another processor has changed."""
BEGIN_S = 300e-9
"""Publishing a region, and noticing that the last tile has ended: a cache line each way."""
NOTICE_S = 150e-9
"""A worker that polls notices a region."""
SPIN_S = 30e-6
"""How long a worker polls after its last tile (NN_SPIN_NS of native/slot.h)."""
WAKE_S = 15e-6
"""A worker that sleeps begins: each wakes up to two others (native/workers.c)."""

SLOW = 0.5
"""The speed of slow processors of a hybrid machine, next to fast ones: their vector units have half
the width (native/hybrid.c).
"""

MATTERS_S = 20e-6
"""Regions that are shorter are not reported for their few tiles."""


@dataclass(frozen=True)
class Region:
    """A region of a run, or all calls of it in a loop.

    operations: what its steps compute. kernels: their kernels. calls: in one run. seconds: of all
    calls, on one thread, median of all runs. tiles: that may run at the same time. longest_seconds:
    the time of the longest tile.
    """

    operations: tuple[str, ...]
    kernels: tuple[str, ...]
    calls: int
    tiles: int
    seconds: float
    longest_seconds: float


@dataclass(frozen=True)
class Prediction:
    """A run on a number of processors.

    seconds, speedup: predicted, and that of one thread by it. measured_seconds: of runs on this
    machine; None if it has fewer processors. The parts of `seconds` that more processors would not
    shorten: serial_seconds in regions of one tile, sharing_seconds for dividing regions, and
    waiting_seconds for the last tiles of regions.
    """

    cores: int
    seconds: float
    speedup: float
    measured_seconds: float | None
    serial_seconds: float
    sharing_seconds: float
    waiting_seconds: float

    @property
    def limit(self) -> str:
        """What costs most: `one tile`, `sharing`, `last tiles`, or `work` if it is that."""
        parts = {
            "one tile": self.serial_seconds,
            "sharing": self.sharing_seconds,
            "last tiles": self.waiting_seconds,
        }
        name = max(parts, key=lambda part: parts[part])
        rest = self.seconds - sum(parts.values())
        return name if parts[name] > rest else "work"


@dataclass(frozen=True)
class Scaling(Report):
    """The predictions for a model. hybrid: for the most processors, half of which are half as fast;
    None for one. narrow: regions that have fewer tiles than the most processors, and take more than
    20 us.
    """

    model: str
    runs: int
    made_up: bool
    predictions: tuple[Prediction, ...]
    hybrid: Prediction | None
    regions: tuple[Region, ...]
    narrow: tuple[Region, ...]


def scaling(
    source: Source,
    cores: Sequence[int] = CORES,
    *,
    inputs: Sequence[str] = (),
    runs: int = 20,
    warm_up: int = 3,
    picture: Picture | None = None,
    seed: int = 0,
    progress: Progress = untold,
) -> Scaling:
    """Predict the time of a model on nnapi-cpu for numbers of processors.

    cores: 1 to 64 each. inputs, runs, warm_up, picture, seed: as in `profile`. Measures, too, where
    this machine has the processors. Raises NnapiError: BAD_DATA for other numbers.
    """
    require_kernel_threads(cores)
    model = model_of(source)
    real = [number for number in cores if number <= available()]
    total = len(real) + 2
    measured = {}
    for at, number in enumerate(real):
        progress(at, total, f"runs on {number} of the processors")
        with on_threads(number):
            compilation = Compilation(model, CpuDevice.name)
            arrays = read_or_made_up(compilation, inputs, picture, seed)
            values = tuple(all_inputs(model, compilation, arrays))
            measured[number] = _measured(compilation, values, runs, warm_up)
    with on_threads(max(cores)):  # runs, too: what shapes of a run determine is lowered then
        compilation = Compilation(model, CpuDevice.name)
        values = tuple(
            all_inputs(model, compilation, read_or_made_up(compilation, inputs, picture, seed))
        )
        progress(len(real), total, "regions")
        whole = _timed_runs(compilation, values, runs, by_tile=False)
        progress(len(real) + 1, total, "tiles")
        divided = _divided(whole, _timed_runs(compilation, values, runs, by_tile=True))
    alone = _predict(divided, 1)[0]
    regions = tuple(_region(calls) for calls in _by_key(divided))

    def prediction(cores: int, slow: int = 0) -> Prediction:
        seconds, parts = _predict(divided, cores, slow)
        known = None if slow else measured.get(cores)
        return Prediction(cores, seconds, alone / seconds, known, *parts)

    most = max(cores)
    return Scaling(
        name_of(source),
        runs,
        not inputs,
        tuple(prediction(number) for number in cores),
        prediction(most, most // 2) if most > 1 else None,
        regions,
        tuple(
            region
            for region in regions
            if region.tiles < most and region.seconds > MATTERS_S * region.calls
        ),
    )


class _Call(NamedTuple):
    """A region of the run that is replayed. tile_seconds: of each tile."""

    timed: TimedRegion
    tile_seconds: Sequence[float]


def _measured(
    compilation: Compilation, values: tuple[Array | None, ...], runs: int, warm_up: int
) -> float:
    runner = Runner(compilation.runtime, compilation.all_inputs, compilation.all_outputs)
    times = []
    for _ in range(warm_up + runs):
        began = monotonic_ns()
        runner.run(values)
        times.append(monotonic_ns() - began)
    return median(times[warm_up:]) / 1e9


def _timed_runs(
    compilation: Compilation, values: tuple[Array | None, ...], runs: int, by_tile: bool
) -> list[list[TimedRegion]]:
    """The regions of each run; of one warm-up none."""
    seen: list[TimedRegion] = []
    result = []
    with timed_regions(seen.append, by_tile):
        runner = Runner(compilation.runtime, compilation.all_inputs, compilation.all_outputs)
        for _ in range(1 + runs):
            seen.clear()
            runner.run(values)
            result.append(list(seen))
    return result[1:]


def _divided(
    whole: Sequence[Sequence[TimedRegion]], by_tile: Sequence[Sequence[TimedRegion]]
) -> list[_Call]:
    """The regions of a run, the time of each divided among its tiles as those of the other runs.

    Loops may turn a different number of times only if an input is random: the shortest run counts.
    """
    result = []
    for calls, tiled in zip(zip(*whole, strict=False), zip(*by_tile, strict=False), strict=False):
        seconds = median([call.durations_ns[0] for call in calls]) / 1e9
        durations = [call.durations_ns for call in tiled]
        tiles = [median(times) for times in zip(*durations, strict=True)]
        scale = seconds / sum(tiles)
        result.append(_Call(calls[0], [scale * time for time in tiles]))
    return result


def _by_key(calls: Sequence[_Call]) -> list[list[_Call]]:
    groups: dict[tuple[int, int], list[_Call]] = {}
    for call in calls:
        groups.setdefault(call.timed.key, []).append(call)
    return list(groups.values())


def _region(calls: Sequence[_Call]) -> Region:
    timed = calls[0].timed
    return Region(
        tuple(dict.fromkeys(where for _, where in timed.steps)),
        tuple(dict.fromkeys(kernel for kernel, _ in timed.steps)),
        len(calls),
        timed.tiles,
        sum(sum(call.tile_seconds) for call in calls),
        max(max(call.tile_seconds) for call in calls),
    )


def _predict(
    calls: Sequence[_Call], cores: int, slow: int = 0
) -> tuple[float, tuple[float, float, float]]:
    """The time of a run, and the parts of it: regions of one tile, sharing, waiting.

    slow: processors that are slow. The calling thread is on a fast one.
    """
    worth = cores - slow + slow * SLOW
    total = serial = sharing = waiting = 0.0
    idle = SPIN_S  # since the workers had a tile
    for call in calls:
        work = sum(call.tile_seconds)
        if cores == 1 or len(call.tile_seconds) == 1:
            total += work
            serial += work if cores > 1 else 0.0
            idle += work
            continue
        notice = NOTICE_S if idle < SPIN_S else WAKE_S
        seconds, takes = _shared(call.tile_seconds, cores, notice, slow)
        total += seconds
        own = BEGIN_S + takes * TAKE_S
        sharing += own
        waiting += max(0.0, seconds - own - work / worth)
        idle = 0.0
    return total, (serial, sharing, waiting)


def _shared(tiles: Sequence[float], cores: int, notice: float, slow: int = 0) -> tuple[float, int]:
    """The time of a region that is divided as nn_take of native/slot.c does; the caller's takes.

    slow: of the workers; they leave the last tiles to fast ones, as nn_is_too_slow of
    native/hybrid.c says.
    """
    low, high, takes = 0, len(tiles), 0
    free = [(BEGIN_S, 0)] + [(BEGIN_S + notice, worker) for worker in range(1, cores)]
    heapq.heapify(free)
    ended = BEGIN_S
    while low < high:
        now, thread = heapq.heappop(free)
        speed = SLOW if thread >= cores - slow else 1.0
        if speed < 1.0 and (high - low) * speed < cores - slow:
            continue
        count = max(1, (high - low) // (4 * cores))
        if thread == 0:
            taken = tiles[low : low + count]
            low += count
            takes += 1
        else:
            taken = tiles[high - count : high]
            high -= count
        now += TAKE_S + sum(taken) / speed
        ended = max(ended, now)
        heapq.heappush(free, (now, thread))
    return ended, takes
