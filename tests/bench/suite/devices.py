"""Devices on engines beside the engines' own APIs, on the same files: DEVICES=openvino-cpu,...

IREE has no API that reads these files: its devices stand beside nnapi_shim alone.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from nnapi_shim.drivers.engines import PACKAGES
from tests.bench.suite.race import Race

LONG = 1e-3
"""Seconds from which on a ratio says more than a difference."""


@dataclass(frozen=True)
class DeviceRatio:
    """A device beside its engine: the median over rounds of the ratios of medians, the difference
    of the least times in seconds, and the engine's least time.
    """

    device: str
    threads: int
    median: float
    apart: float
    least: float


def engine_of(device: str) -> str:
    """The engine of a device: the beginning of its name."""
    return device.partition("-")[0]


def wanted() -> list[str]:
    """The devices that DEVICES names; ends the program on one of no engine."""
    devices = [name for name in os.environ.get("DEVICES", "").split(",") if name]
    for name in devices:
        if engine_of(name) not in PACKAGES:
            sys.exit(f"bench-models: DEVICES has {name!r}; its engine is none of {[*PACKAGES]}")
    return devices


def ratios(race: Race) -> Iterator[DeviceRatio]:
    """Those of a race, for devices whose engines took part."""
    for entrant, rounds in race.samples.items():
        own = race.samples.get(entrant._replace(runtime=engine_of(entrant.runtime)))
        if "-" not in entrant.runtime or own is None:
            continue
        middle = median(
            median(mine) / median(theirs) for mine, theirs in zip(rounds, own, strict=False)
        )
        least = min(map(min, own))
        yield DeviceRatio(*entrant, middle, min(map(min, rounds)) - least, least)


def summary(models: Sequence[Any]) -> list[str]:
    """A line for each device and number of threads: models from LONG on, and below."""
    found = [ratio for model in models for ratio in model.devices]
    lines = []
    for device, threads in dict.fromkeys((ratio.device, ratio.threads) for ratio in found):
        mine = [r for r in found if (r.device, r.threads) == (device, threads)]
        long = [ratio.median for ratio in mine if ratio.least >= LONG]
        short = [1e6 * ratio.apart for ratio in mine if ratio.least < LONG]
        parts = [f"{device} beside {engine_of(device)}, threads: {threads}"]
        if long:
            parts.append(
                f"median ratio {median(long):.3f} ({min(long):.2f} to {max(long):.2f}) of "
                f"{len(long)} models from 1 ms on"
            )
        if short:
            parts.append(
                f"median difference {median(short):.1f} us ({min(short):.1f} to {max(short):.1f}) "
                f"of {len(short)} shorter ones"
            )
        lines.append("; ".join(parts))
    return lines
