"""Latencies of single calls, and their distribution."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from statistics import fmean, quantiles, stdev
from time import perf_counter

import numpy as np

from nnapi_shim.api.arrays import Array

PERCENTILES = (50, 90, 95, 99)
MOST_CALLS = 1 << 17
"""Upper limit of measured calls, because all samples are kept."""


@dataclass(frozen=True)
class Latency:
    """Statistics of run times, in seconds. samples: all times in execution order."""

    runs: int
    minimum: float
    mean: float
    deviation: float
    p50: float
    p90: float
    p95: float
    p99: float
    maximum: float
    samples: Array


def latency(samples: Sequence[float]) -> Latency:
    """The statistics of one or more times."""
    ordered = sorted(samples)
    cuts = ordered * 99 if len(ordered) == 1 else quantiles(ordered, n=100, method="inclusive")
    p50, p90, p95, p99 = (cuts[percentile - 1] for percentile in PERCENTILES)
    return Latency(
        len(ordered),
        ordered[0],
        fmean(ordered),
        stdev(ordered) if len(ordered) > 1 else 0.0,
        p50,
        p90,
        p95,
        p99,
        ordered[-1],
        np.asarray(samples),
    )


def timed(call: Callable[[], object], runs: int, until: float = inf) -> list[float]:
    """The duration of each of `runs` calls, in seconds.

    until: value of perf_counter() after which no further call starts; at least one call is made.
    """
    samples: list[float] = []
    for _ in range(runs):
        began = perf_counter()
        if began >= until and samples:
            break
        call()
        samples.append(perf_counter() - began)
    return samples


def calls_within(call: Callable[[], object], seconds: float, most: int = MOST_CALLS) -> int:
    """Number of calls that fit into a time, 1 to `most`, estimated from the fastest of three."""
    fastest = min(timed(call, 3))
    return max(1, min(most, int(seconds / fastest) if fastest else most))


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect Python's garbage before a measurement and disable the collector during it."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
