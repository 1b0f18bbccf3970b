"""How many threads a run may take: the setting, else what the process may use of the machine.

The threads themselves are C's (native/pool.c).
"""

import os
from collections.abc import Iterator

from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hints import NamedTuple
from nnapi_shim.settings import THREADS

MOST = 64
"""Threads that a run takes at most, with the one that calls: native/pool.c has no more."""


class Crew(NamedTuple):
    """The threads of a run.

    threads: how many, with the one that calls. rank: 0 for runs that are helped before others.
    """

    threads: int
    rank: int


RANKS = {Priority.HIGH: 0, Priority.MEDIUM: 1, Priority.LOW: 2}
ALONE = Crew(1, RANKS[Priority.MEDIUM])


def crew(preference: ExecutionPreference, priority: Priority) -> Crew:
    """The threads of a compilation's runs: one where power is to be saved."""
    saves = preference is ExecutionPreference.LOW_POWER
    return Crew(1 if saves else count(), RANKS[priority])


def count() -> int:
    """How many threads a run takes: NNAPI_SHIM_THREADS, else as many as the process may use."""
    text = THREADS.get()
    if text and text != "0":
        if text.isascii() and text.isdigit():
            return max(1, min(int(text[:9]), MOST))
        THREADS.refuse(text, "allowed are whole numbers from 0, which means all processors")
    if not _available:
        _available.append(min(available(), MOST))
    return _available[0]


_available: list[int] = []
"""What this process may use, once it was asked for: files were read for it."""


def available(proc: str = "/proc/self") -> int:
    """Processors that the calling thread may use, or fewer if its group has no more time."""
    try:
        found = len(os.sched_getaffinity(0))
    except OSError:
        found = os.cpu_count() or 1
    for quota in _quotas(proc):
        found = min(found, quota)
    return max(1, found)


def _quotas(proc: str) -> Iterator[int]:
    """Processors' worth of time that control groups leave, rounded up."""
    try:
        groups = _read(f"{proc}/cgroup").splitlines()
        mounts = [*_mounts(_read(f"{proc}/mountinfo"))]
    except (OSError, ValueError):
        return
    for group in groups:
        _, controllers, path = (*group.split(":", 2), "", "")[:3]
        if not path:
            continue
        for root, point, kind, options in mounts:
            second = kind == "cgroup2" and not controllers
            first = kind == "cgroup" and "cpu" in controllers.split(",") and "cpu" in options
            if not first and not second:
                continue
            inside = os.path.relpath(path, root)
            below = [] if inside.startswith("..") else inside.split("/")
            for depth in range(len(below) + 1):  # every group around it has a say
                folder = os.path.join(point, *below[:depth])
                yield from _quota(folder, second)


def _mounts(table: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Root, mount point, type and options of every control group file system."""
    for line in table.splitlines():
        fields, _, rest = line.partition(" - ")
        root, point = fields.split()[3:5]
        kind, _, options = rest.split()[:3]
        if kind.startswith("cgroup"):
            yield root, point, kind, options.split(",")


def _quota(folder: str, second: bool) -> Iterator[int]:
    try:
        if second:
            quota, period = _read(f"{folder}/cpu.max").split()
        else:
            quota, period = (_read(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota.isdigit() and int(period) > 0:  # else it is max, or -1
            yield -(-int(quota) // int(period))
    except (OSError, ValueError):
        return


def _read(path: str) -> str:
    with open(path, "rb", buffering=0) as file:
        return file.readall().decode("utf-8", "replace").strip()  # tables come in parts
