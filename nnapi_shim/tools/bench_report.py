"""Results of a benchmark, and how they become JSON."""

from dataclasses import dataclass
from typing import Any

from nnapi_shim.tools.latency import Latency
from nnapi_shim.tools.report import Report

FEWEST_ROUNDS = 4
"""With fewer rounds, the quartiles say too little to show a difference."""

FASTER, SLOWER, NOT_SHOWN = "faster", "slower", "not shown"


def verdict(low: float, high: float, rounds: int) -> str:
    """FASTER, SLOWER, or NOT_SHOWN if 1 lies between the quartiles of a ratio."""
    if rounds < FEWEST_ROUNDS or low <= 1 <= high:
        return NOT_SHOWN
    return FASTER if low > 1 else SLOWER


@dataclass(frozen=True)
class Conditions:
    """What times depend on. affinity: numbers of the processors that the process may use.

    load_before, load_after: the load average of the last minute; None if it is unknown.
    """

    version: str
    python: str
    processor: str
    tier: str
    affinity: tuple[int, ...]
    load_before: float | None
    load_after: float | None


@dataclass(frozen=True)
class Arithmetic:
    """Arithmetic operations of a run, in floating-point numbers and in integers."""

    floating: int
    integer: int


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
    low, high: the quartiles of the rounds. verdict: nnapi_shim is `faster` or `slower`, or a
    difference is `not shown`. largest_difference: between its outputs and ours, in the model's
    units; None if their dimensions differ, and for models with states.
    """

    name: str
    version: str
    latency: Latency
    ratio: float
    low: float
    high: float
    verdict: str
    ratios: tuple[float, ...]
    largest_difference: float | None


@dataclass(frozen=True)
class Measured:
    """The times with one number of kernel threads, the same for nnapi_shim and the peers.

    latency: of runs with bound arguments, one at a time. rounds: the median time of each round.
    """

    kernel_threads: int
    latency: Latency
    rounds: tuple[float, ...]
    throughput: tuple[Throughput, ...]
    peers: tuple[PeerBench, ...]

    def latencies(self) -> list[Latency]:
        """All latencies, in the order of their fields."""
        concurrent = [item.latency for item in self.throughput]
        return [self.latency, *concurrent, *(peer.latency for peer in self.peers)]


@dataclass(frozen=True)
class Bench(Report):
    """A benchmark. Times are in seconds. results: one for each number of kernel threads.

    arithmetic: None if it depends on data.
    """

    model: str
    devices: tuple[str, ...]
    made_up: bool
    conditions: Conditions
    load_seconds: float
    compile_seconds: float
    first_run_seconds: float
    warm_up: int
    arithmetic: Arithmetic | None
    results: tuple[Measured, ...]
    memory: Memory

    def to_json(self, samples: bool = False) -> dict[str, Any]:
        """The report; with the time of every run if `samples` is True."""
        result = super().to_json()
        for measured, data in zip(self.results, result["results"], strict=True):
            entries = [data, *data["throughput"], *data["peers"]]
            for entry, latency in zip(entries, measured.latencies(), strict=True):
                if samples:
                    entry["latency"]["samples"] = latency.samples.tolist()
                else:
                    del entry["latency"]["samples"]
        return result
