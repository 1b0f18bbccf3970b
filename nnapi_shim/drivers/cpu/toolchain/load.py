"""How busy the machine is with other processes, for estimates of time."""

import os
from pathlib import Path

LOAD = Path("/proc/loadavg")


def slowdown(workers: int) -> float:
    """How many times longer each of `workers` busy processes takes than on an idle machine.

    Other processes are those that run now, but no more than the load average: that still counts
    what has ended, and a single look may see threads of a moment.
    """
    try:
        load, *_, tasks, _ = LOAD.read_text().split()
        others = min(float(load), int(tasks.partition("/")[0]) - 1)
    except (OSError, ValueError):
        others = 0.0
    return max(1.0, (others + workers) / (os.cpu_count() or workers))
