"""Groups of small steps that run in parallel: which, within how much memory (run_parallel.py)."""

from itertools import accumulate, pairwise

from nnapi_shim.drivers.cpu.program.program import BESIDE
from nnapi_shim.drivers.cpu.program.record import Buffer
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep
from nnapi_shim.hints import Any, Container, Mapping, Sequence
from nnapi_shim.limits import watched

MAX_GROUP = 8
"""Units of a group, at most: a thread searches all of them for its next tile."""
MAX_GROWTH = 128 << 10
"""Bytes by which the arena may grow: parallel steps need their memory at the same time."""
MAX_ATTEMPTS = 8
"""Regroupings, at most, after a group exceeded MAX_GROWTH; each excludes one unit."""


class _Unit:
    """A step, or a chain of steps.

    reads, writes: operands and Buffers, without constants. over: (input, output) pairs of steps in
    place. is_small: whether the unit may run in parallel with others.
    """

    __slots__ = ("is_small", "over", "reads", "steps", "writes")

    def __init__(self, steps: Sequence[ScheduledStep], is_small: bool, schedule: Schedule) -> None:
        self.steps = steps
        self.is_small = is_small
        self.reads: set[Any] = set()
        self.writes: set[Any] = set()
        self.over: list[tuple[Any, Any]] = []
        for scheduled in steps:
            step = scheduled.step
            fields, writes = step.fields, step.writes
            for _, name in step.record.addresses:
                root = schedule.root(fields[name])
                if isinstance(root, Buffer):
                    # Possibly scratch memory: exclusive while the step runs.
                    if root.address is None:
                        self.writes.add(root)
                elif isinstance(root, int):
                    if name in writes:
                        self.writes.add(root)
                    elif root not in schedule.operands.constant_addresses:
                        self.reads.add(root)
            if step.in_place:
                source = schedule.root(fields[step.in_place])
                self.over.append((source, schedule.root(fields["output"])))


_Groups = list[list[_Unit]]


def group_small(
    schedule: Schedule, chains: Sequence[Sequence[ScheduledStep]], small: Sequence[bool]
) -> None:
    """Group chains that do not depend on each other. small: whether each of them is small."""
    units = [_Unit(*pair, schedule) for pair in watched([*zip(chains, small, strict=True)])]
    groups = _grouped(units)
    if len(groups) == len(units):
        return
    slots, kept = schedule.operands.slots, schedule.kept
    sizes = {
        root: 0 if root in slots else schedule.sizes[root]
        for unit in units
        for root in unit.reads | unit.writes
    }
    initial_peak, _ = _peak_bytes([[unit] for unit in units], sizes, kept)
    for _ in range(MAX_ATTEMPTS):
        peak, at = _peak_bytes(groups, sizes, kept)
        if peak <= initial_peak + MAX_GROWTH:
            _move(schedule, groups)
            return
        groups[at][-1].is_small = False
        groups = _grouped(units)


def _grouped(units: Sequence[_Unit]) -> _Groups:
    """Group units that run in parallel: a small unit joins the last group that it does not depend
    on.
    """
    groups: _Groups = []
    small: list[int] = []
    written: dict[Any, int] = {}  # root -> last group that writes it; `read` likewise
    read: dict[Any, int] = {}
    for unit in watched(units):
        behind = -1
        for root in unit.reads | unit.writes:
            behind = max(behind, written.get(root, -1))
        for root in unit.writes:
            behind = max(behind, read.get(root, -1))
        if unit.is_small and small and small[-1] > behind:
            at = small[-1]
            groups[at].append(unit)
            if len(groups[at]) == MAX_GROUP:
                small.pop()
        else:
            at = len(groups)
            groups.append([unit])
            if unit.is_small:
                small.append(at)
        for root in unit.reads:
            read[root] = max(at, read.get(root, -1))
        for root in unit.writes:
            written[root] = at
    return groups


def _peak_bytes(groups: _Groups, sizes: Mapping[Any, int], kept: Container[Any]) -> tuple[int, int]:
    """The peak number of live bytes, and the group where it occurs."""
    spans: dict[Any, tuple[int, int]] = {}  # first and last group
    for at, group in enumerate(watched(groups)):
        for unit in group:
            for root in unit.reads | unit.writes:
                spans[root] = (spans.get(root, (at, at))[0], at)
    begins = {root: first for root, (first, _) in spans.items()}
    for at, group in enumerate(groups):
        if len(group) == 1:
            for source, target in group[0].over:
                both = spans.get(source, (at, at + 1))[1], spans.get(target, (at + 1, at))[0]
                if both == (at, at) and sizes[source] == sizes[target]:
                    begins[target] = at + 1  # shares the source's memory before
    changes = [0] * (len(groups) + 2)
    for root, (_, last) in spans.items():
        behind = len(groups) if root in kept else last + 1
        if begins[root] < behind:
            changes[begins[root]] += sizes[root]
            changes[behind] -= sizes[root]
    needs = [*accumulate(changes)]
    most = max(needs)
    return most, needs.index(most)


def _move(schedule: Schedule, groups: _Groups) -> None:
    for group in groups:
        for before, after in pairwise(group):
            last, first = before.steps[-1], after.steps[0]
            last.link = BESIDE
            schedule.report(first, f"beside {last.where}")
    schedule.steps[:] = [each for group in groups for unit in group for each in unit.steps]
