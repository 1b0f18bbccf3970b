"""Observed runs, and their trace."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.observing import ObservedStep
from nnapi_shim.units import duration


@dataclass(frozen=True)
class ObservedRun:
    """An observed run; times are time.monotonic_ns()."""

    started_ns: int
    ended_ns: int
    steps: tuple[ObservedStep, ...]


def steps_of(runs: Sequence[ObservedRun]) -> dict[int, list[list[ObservedStep]]]:
    """Number of an operation -> its steps in each run; those within an IF or WHILE are of that."""
    result: dict[int, list[list[ObservedStep]]] = {}
    for at, run in enumerate(runs):
        for step in run.steps:
            if step.operations:
                empty: list[list[ObservedStep]] = [[] for _ in runs]
                result.setdefault(step.operations[0].number, empty)[at].append(step)
    return result


def seconds_of(steps: Sequence[Sequence[ObservedStep]]) -> float:
    """The median time of an operation in a run; steps within others count once.

    steps: those of each run.
    """
    sums = []
    for each in steps:
        outer = [step for step in each if len(step.operations) == 1]
        # On nnapi-reference the time of an IF or WHILE includes its graphs.
        counted = outer if outer and outer[0].device != CpuDevice.name else each
        sums.append(sum(step.duration_ns for step in counted))
    return median(sums) / 1e9 if sums else 0.0


def time_text(item: Any) -> str:
    """The time of an operation of a profile in a table."""
    if item.fused_into is not None:
        return f"fused into {item.fused_into}"
    return "not seen" if item.seconds is None else duration(item.seconds)


def times_and_notes(operations: Iterable[Any]) -> tuple[dict[int, float], dict[int, str]]:
    """Number of an operation -> microseconds, or what it was fused into."""
    times, notes = {}, {}
    for item in operations:
        if item.fused_into is not None:
            notes[item.number] = time_text(item)
        elif item.seconds is not None:
            times[item.number] = item.seconds * 1e6
    return times, notes


def write_trace(
    path: str | os.PathLike[str], runs: Sequence[ObservedRun], overwrite: bool = False
) -> None:
    """Write the trace events of runs; raises BAD_DATA if they cannot be written."""
    from nnapi_shim.formats import output_file

    output_file.write(path, json.dumps(trace_events(runs)).encode(), overwrite)


def trace_events(runs: Sequence[ObservedRun]) -> dict[str, Any]:
    """Runs as JSON trace events for Perfetto and Chrome, with a lane for each device."""
    pid = os.getpid()
    lanes = {"run": 1} | {
        name: at + 2
        for at, name in enumerate(dict.fromkeys(step.device for run in runs for step in run.steps))
    }
    start = runs[0].started_ns if runs else 0
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
        for name, tid in lanes.items()
    ]

    def event(name: str, lane: str, began: int, ended: int, **arguments: Any) -> None:
        events.append(
            {
                "ph": "X",
                "name": name,
                "cat": lane,
                "pid": pid,
                "tid": lanes[lane],
                "ts": (began - start) / 1e3,
                "dur": (ended - began) / 1e3,
                "args": arguments,
            }
        )

    for number, run in enumerate(runs):
        event(f"run {number}", "run", run.started_ns, run.ended_ns)
        for step in run.steps:
            event(step.where, step.device, step.started_ns, step.ended_ns, kernel=step.kernel)
    return {"displayTimeUnit": "ns", "traceEvents": events}
