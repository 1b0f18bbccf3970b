"""The number of threads of a run: the setting, else the processors available to the process.

native/pool.c has the threads.
"""

import os
from _thread import _local

from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hints import Iterator, NamedTuple
from nnapi_shim.settings import THREADS

MAX_THREADS = 64
"""Threads of a run, at most, including the calling thread: the limit of native/pool.c."""


class Crew(NamedTuple):
    """The threads of a run.

    threads: their number, including the calling thread. rank: 0 for the highest priority.
    """

    threads: int
    rank: int


RANKS = {Priority.HIGH: 0, Priority.MEDIUM: 1, Priority.LOW: 2}
ALONE = Crew(1, RANKS[Priority.MEDIUM])


def crew(preference: ExecutionPreference, priority: Priority) -> Crew:
    """The threads of a compilation's runs: one for LOW_POWER."""
    saves = preference is ExecutionPreference.LOW_POWER
    return Crew(1 if saves else count(), RANKS[priority])


class _Settled(_local):
    """number: of `settled`; 0 outside of it."""

    number = 0


_of_thread = _Settled()


class settled:  # noqa: N801 (it is used as a word of a sentence)
    """`with settled()`: `count` reads the setting once for the block, on this thread."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before, _of_thread.number = _of_thread.number, count()

    def __exit__(self, *raised: object) -> None:
        _of_thread.number = self._before


def count() -> int:
    """The number of threads of a run: NNAPI_SHIM_THREADS, else the available processors."""
    if _of_thread.number:
        return _of_thread.number
    text = THREADS.get()
    if text and text != "0":
        if text.isascii() and text.isdigit():
            number = int(text[:9])
            if number > MAX_THREADS:
                THREADS.refuse(text, f"{MAX_THREADS} threads, the most, are used")
            return max(1, min(number, MAX_THREADS))
        THREADS.refuse(text, f"allowed are 0, which means all processors, to {MAX_THREADS}")
    if not _available:
        _available.append(min(available(), MAX_THREADS))
    return _available[0]


_available: list[int] = []
"""Cached number of available processors; computing it reads files."""


def available(proc: str = "/proc/self") -> int:
    """Processors that the calling thread may use, limited by the quotas of its control groups."""
    try:
        processors = len(os.sched_getaffinity(0))
    except OSError:
        processors = os.cpu_count() or 1
    for quota in _quotas(proc):
        processors = min(processors, quota)
    return max(1, processors)


def _quotas(proc: str) -> Iterator[int]:
    """CPU quotas of the enclosing control groups in processors, rounded up."""
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
            is_v2 = kind == "cgroup2" and not controllers
            is_v1 = kind == "cgroup" and "cpu" in controllers.split(",") and "cpu" in options
            if not is_v1 and not is_v2:
                continue
            inside = "." if path == root else os.path.relpath(path, root)
            is_below = inside != "." and not inside.startswith("..")
            below = inside.split("/") if is_below else []
            for depth in range(len(below) + 1):  # every enclosing group has a quota
                folder = os.path.join(point, *below[:depth])
                yield from _quota(folder, is_v2)


def _mounts(table: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Root, mount point, type and options of each mounted control group file system."""
    for line in table.splitlines():
        fields, _, rest = line.partition(" - ")
        if rest.startswith("cgroup"):
            root, point = fields.split()[3:5]
            kind, _, options = rest.split()[:3]
            yield root, point, kind, options.split(",")


def _quota(folder: str, is_v2: bool) -> Iterator[int]:
    try:
        if is_v2:
            quota, period = _read(f"{folder}/cpu.max").split()
        else:
            quota, period = (_read(f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota.isdigit() and int(period) > 0:  # else it is max, or -1
            yield -(-int(quota) // int(period))
    except (OSError, ValueError):
        return


def _read(path: str) -> str:
    file, parts = os.open(path, os.O_RDONLY | os.O_CLOEXEC), [b""]
    try:
        while part := os.read(file, 1 << 16):  # tables come in parts
            parts.append(part)
    finally:
        os.close(file)
    return b"".join(parts).decode("utf-8", "replace").strip()
