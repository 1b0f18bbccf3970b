"""What a figure was measured on and with."""

import datetime
import os
from collections.abc import Sequence
from pathlib import Path

import nnapi_shim
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.tools.info import installed_version
from nnapi_shim.tools.runtimes import RUNTIMES


def about(runtimes: Sequence[str], limit: str) -> dict[str, str]:
    """Processor, tier, versions and the day.

    limit: the tier that all runtimes are held to, or "".
    """
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")
    result = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "processor": f"{model}, {len(os.sched_getaffinity(0))} processors",
        "tier": f"{limit} (all runtimes)" if limit else library.processor_tiers()[0],
        "nnapi_shim": nnapi_shim.__version__,
    }
    for name in runtimes:
        if name in RUNTIMES:
            result[name] = installed_version(RUNTIMES[name].package) or ""
    return result
