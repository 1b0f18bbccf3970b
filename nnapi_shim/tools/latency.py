"""Calls measured one by one: how long they take, and how that is spread."""

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
"""Of the fastest models there are fewer than fit into the time: all samples are kept."""


@dataclass(frozen=True)
class Latency:
    """How long runs took, in seconds. samples: each of them, in their order."""

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
    """What a number of times, at least one, come to."""
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
    """The seconds that each of so many calls takes.

    until: perf_counter() after which no call is made but the first.
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
    """How many calls fit into a time, 1 to `most`, going by the fastest of the first three."""
    fastest = min(timed(call, 3))
    return max(1, min(most, int(seconds / fastest) if fastest else most))


@contextmanager
def no_collection() -> Iterator[None]:
    """Let Python's garbage be collected before, and not while something is measured."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
