"""Compares a benchmark with the saved JSON of an earlier one."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnapi_shim.errors import bad_data
from nnapi_shim.tools.bench_report import verdict
from nnapi_shim.tools.bench_rounds import quartiles
from nnapi_shim.tools.report import Report

Saved = Mapping[str, Any]
"""Bench.to_json(), or a file with it."""

_COMPARED_CONDITIONS = ("version", "python", "processor", "tier", "affinity")


@dataclass(frozen=True)
class Change:
    """The latency with one number of kernel threads.

    before, after: medians of all runs, in seconds. ratio: of the medians of the rounds, before by
    after; above 1, the later run is faster. low, high: quartile of the rounds of one run by the
    opposite quartile of the other. rounds: of the run with fewer of them. verdict: the later run is
    `faster` or `slower`, or a difference is `not shown`.
    """

    kernel_threads: int
    before: float
    after: float
    ratio: float
    low: float
    high: float
    verdict: str
    rounds: int


@dataclass(frozen=True)
class Against(Report):
    """Two benchmarks. differing: condition -> its value before and after, if they differ."""

    model_before: str
    model_after: str
    differing: dict[str, tuple[str, str]]
    changes: tuple[Change, ...]


def saved(path: str | os.PathLike[str]) -> Saved:
    """The content of a file that `nnapi-shim bench --json` wrote; raises BAD_DATA for others."""
    content = Path(path).read_bytes()
    if not content:
        raise bad_data(f"{os.fspath(path)} is empty", "file.empty")
    try:
        data = json.loads(content)
        for entry in data["results"]:
            float(entry["latency"]["p50"]), quartiles([*map(float, entry["rounds"])])
            int(entry["kernel_threads"])
        if not isinstance(data["model"], str) or not isinstance(data["conditions"], dict):
            raise TypeError
    except (ValueError, KeyError, TypeError, IndexError):
        raise bad_data(
            f"{os.fspath(path)} is no result of a benchmark, which `nnapi-shim bench MODEL --json "
            "FILE.json` writes",
            "tool.bench.against",
        ) from None
    result: Saved = data
    return result


def against(before: Saved, after: Saved) -> Against:
    """Compare the numbers of kernel threads that both have; raises BAD_DATA if there are none."""
    earlier = {entry["kernel_threads"]: entry for entry in before["results"]}
    later = {entry["kernel_threads"]: entry for entry in after["results"]}
    both = [number for number in later if number in earlier]
    if not both:
        raise bad_data(
            f"the earlier run has kernel threads {sorted(earlier)}, the later one {sorted(later)};"
            " choose a common number with --kernel-threads",
            "tool.bench.against-threads",
        )
    conditions = before["conditions"], after["conditions"]
    pairs = {
        name: (_text(conditions[0].get(name)), _text(conditions[1].get(name)))
        for name in _COMPARED_CONDITIONS
    }
    return Against(
        before["model"],
        after["model"],
        {name: (old, new) for name, (old, new) in pairs.items() if old != new},
        tuple(_change(number, earlier[number], later[number]) for number in both),
    )


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _change(kernel_threads: int, before: Saved, after: Saved) -> Change:
    old_low, old, old_high = quartiles(before["rounds"])
    new_low, new, new_high = quartiles(after["rounds"])
    low, high = old_low / new_high, old_high / new_low
    rounds = min(len(before["rounds"]), len(after["rounds"]))
    return Change(
        kernel_threads,
        before["latency"]["p50"],
        after["latency"]["p50"],
        old / new,
        low,
        high,
        verdict(low, high, rounds),
        rounds,
    )
