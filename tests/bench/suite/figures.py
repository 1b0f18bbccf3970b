"""What a race has shown, as plain numbers: times, ratios, how near the outputs are."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from statistics import median, quantiles
from typing import Any

import numpy as np

from tests.bench.suite.contestants import Contestant
from tests.bench.suite.devices import DeviceRatio
from tests.bench.suite.devices import ratios as device_ratios
from tests.bench.suite.race import Race

OURS = "nnapi_shim"


@dataclass(frozen=True)
class Times:
    """Of one runtime with so many threads: seconds, bytes. median, minimum: over all rounds, of
    each round's medians. cold: from the start of a process to its first result.
    """

    runtime: str
    threads: int
    median: float
    minimum: float
    cold_wall: float
    cold_cpu: float
    peak: int


@dataclass(frozen=True)
class Ratio:
    """Ours to the fastest peer, round by round: the median and the quartiles. of_minima: of the
    least of each. peer: which one is the fastest.
    """

    threads: int
    peer: str
    median: float
    low: float
    high: float
    of_minima: float


@dataclass(frozen=True)
class Nearness:
    """Outputs of another runtime, or of another number of threads, beside ours with one. steps: the
    largest difference, of quantized outputs in steps. classes: in how many of all vectors of
    classes the largest is the same one.
    """

    runtime: str
    threads: int
    largest: float | None
    classes: str


@dataclass(frozen=True)
class Figures:
    """Of a model. failed: runtime -> why it does not run this model."""

    name: str
    kind: str
    is_trained: bool
    times: tuple[Times, ...]
    ratios: tuple[Ratio, ...]
    nearness: tuple[Nearness, ...]
    failed: dict[str, str]
    devices: tuple[DeviceRatio, ...] = ()

    def of(self, runtime: str, threads: int) -> Times | None:
        """The times of a runtime."""
        expected = (runtime, threads)
        return next((t for t in self.times if (t.runtime, t.threads) == expected), None)

    def ratio(self, threads: int) -> Ratio | None:
        """The ratio with so many threads."""
        return next((ratio for ratio in self.ratios if ratio.threads == threads), None)


def figures(contestant: Contestant, race: Race) -> Figures:
    """All figures of a race."""
    times = []
    for entrant, rounds in race.samples.items():
        middles = [median(samples) for samples in rounds]
        start = race.starts[entrant]
        least = min(min(samples) for samples in rounds)
        times.append(Times(*entrant, median(middles), least, *start))
    threads = list(dict.fromkeys(entrant.threads for entrant in race.samples))
    return Figures(
        contestant.name,
        contestant.kind,
        contestant.is_trained,
        tuple(times),
        tuple(filter(None, (_ratio(race, n) for n in threads))),
        tuple(_nearness(race)),
        {entrant.runtime: why for entrant, why in race.failed.items()},
        tuple(device_ratios(race)),
    )


def _ratio(race: Race, threads: int) -> Ratio | None:
    """Peers are compared by their medians of a round, and the fastest one counts in each round."""
    middles = {
        entrant.runtime: [median(samples) for samples in rounds]
        for entrant, rounds in race.samples.items()
        if entrant.threads == threads and "-" not in entrant.runtime
    }
    ours = middles.pop(OURS, None)
    if ours is None or not middles:
        return None
    least = {
        entrant.runtime: min(min(samples) for samples in rounds)
        for entrant, rounds in race.samples.items()
        if entrant.threads == threads and "-" not in entrant.runtime
    }
    own = least.pop(OURS)
    ratios = [mine / min(theirs) for mine, *theirs in zip(ours, *middles.values(), strict=True)]
    low, middle, high = ratios * 3 if len(ratios) == 1 else quantiles(ratios, n=4)
    peer = min(middles, key=lambda name: median(middles[name]))
    return Ratio(threads, peer, middle, low, high, own / min(least.values()))


def _nearness(race: Race) -> list[Nearness]:
    own = next((race.outputs[e] for e in race.outputs if e.runtime == OURS), None)
    if own is None:
        return []
    return [
        Nearness(*entrant, *_compared(own, outputs))
        for entrant, outputs in race.outputs.items()
        if outputs is not own
    ]


def _compared(own: Sequence[Any], other: Sequence[Any]) -> tuple[float | None, str]:
    """Outputs may come in another order; a state that only one runtime gives does not count."""
    rest = list(other)
    largest, same, count = 0.0, 0, 0
    for array in own:
        at = next((n for n, actual in enumerate(rest) if actual.size == array.size), None)
        if at is None:
            return None, ""
        actual = rest.pop(at).reshape(array.shape)
        if array.size == 0:
            continue
        apart = np.abs(actual.astype(np.float64) - array.astype(np.float64))
        largest = max(largest, float(apart.max()))
        if array.ndim > 1 and array.shape[-1] > 4:
            equal = actual.argmax(-1) == array.argmax(-1)
            same, count = same + int(equal.sum()), count + equal.size
    return largest, f"{same}/{count}" if count else ""


def geometric_mean(values: Sequence[float]) -> float:
    """Of numbers above 0."""
    return exp(sum(map(log, values)) / len(values))


def plain(actual: Figures) -> dict[str, Any]:
    """For JSON."""
    return asdict(actual)


def read(content: dict[str, Any]) -> Figures:
    """What was plain."""
    kinds = (
        *(("times", Times), ("ratios", Ratio), ("nearness", Nearness)),
        ("devices", DeviceRatio),
    )
    lists = {key: tuple(kind(**item) for item in content.get(key, ())) for key, kind in kinds}
    return Figures(**{**content, **lists})
