"""Observed runs, and their trace."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nnapi_shim.drivers.observing import ObservedStep


@dataclass(frozen=True)
class ObservedRun:
    """An observed run; times are time.monotonic_ns()."""

    started_ns: int
    ended_ns: int
    steps: tuple[ObservedStep, ...]


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
