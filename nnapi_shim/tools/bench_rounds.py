"""Measurements of a benchmark: runs in turns with other runtimes, and concurrent runs."""

from collections.abc import Callable, Sequence
from math import inf
from statistics import median, quantiles
from threading import Barrier, BrokenBarrierError, Thread
from time import perf_counter

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.tools.bench_report import PeerBench, Throughput, verdict
from nnapi_shim.tools.latency import calls_within, latency, timed
from nnapi_shim.tools.peers import Peer

ROUNDS = 20
"""Number of rounds in which all runtimes run in turns, under the same conditions."""


def in_turns(
    call: Callable[[], object],
    others: Sequence[Peer],
    count: int,
    seconds: float,
    runs: int,
    warm_up: int,
) -> tuple[list[list[float]], list[list[list[float]]]]:
    """Times of our runs and of each peer's, by rounds; in a round each runtime runs in turn.

    The time limit ends the measurement after at least one round.
    """
    limit = inf if runs else seconds
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
        own.append(timed(call, _share(count, at, rounds), until))
        for other, number, blocks in zip(others, counts, theirs, strict=True):
            blocks.append(timed(other.run, _share(number, at, rounds), until))
    return own, theirs


def _share(count: int, at: int, rounds: int) -> int:
    """The runs of one round; those of all rounds are `count`."""
    return count * (at + 1) // rounds - count * at // rounds


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The quartiles of one or more values."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return low, middle, high


def compared(
    other: Peer,
    own: Sequence[Sequence[float]],
    blocks: Sequence[Sequence[float]],
    outputs: Sequence[Array],
) -> PeerBench:
    """A peer's times beside ours, round by round."""
    ratios = [median(theirs) / median(ours) for ours, theirs in zip(own, blocks, strict=True)]
    low, middle, high = quartiles(ratios)
    return PeerBench(
        other.name,
        other.version,
        latency([sample for block in blocks for sample in block]),
        middle,
        low,
        high,
        verdict(low, high, len(ratios)),
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


def at_once(calls: Sequence[Callable[[], object]], count: int, limit: float) -> Throughput:
    """Runs on a thread for each call: `count` runs on each, for `limit` seconds at most."""
    threads = len(calls)
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
