"""Lets small steps that do not depend on each other run in parallel.

A step of few tiles leaves threads without work. It is moved behind an earlier step that it does not
depend on: the transposes of an attention, the sums of rows of a detector's heads.
"""

from collections.abc import Container, Mapping, Sequence
from itertools import accumulate, pairwise

from nnapi_shim.drivers.cpu.program.program import BESIDE, END
from nnapi_shim.drivers.cpu.program.record import At, Buffer
from nnapi_shim.drivers.cpu.program.schedule import Schedule, ScheduledStep
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any
from nnapi_shim.limits import watched
from nnapi_shim.operations.declare import BoundOperand

MOST_TILES = 7
"""A step of more tiles is shared well alone."""
WORTH = 16 << 10
"""Bytes that a step reads and writes, at least: below that a worker cannot wake up in time."""
MOST = 8
"""How many run side by side: a tile is looked for among all of them."""
GROWTH = 128 << 10
"""Bytes by which the arena may grow: steps that run side by side need their memory together."""
ATTEMPTS = 8
"""How often a step is left where it is because the arena would grow."""


class _Unit:
    """A step, or several that are chained.

    reads, writes: what they name but constants. over: (what is read, what may be written over it).
    is_small: whether they may run beside others.
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
                    # Scratch memory, perhaps: nobody else's meanwhile.
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


def _is_small(steps: Sequence[ScheduledStep], schedule: Schedule) -> bool:
    """Whether the steps of a chain have few tiles, and read and write enough to wake a thread."""
    if steps[0].step.tiles > MOST_TILES:
        return False
    roots = {
        schedule.root(value)
        for scheduled in steps
        for _, name in scheduled.step.record.addresses
        if isinstance(value := scheduled.step.fields[name], (BoundOperand, Buffer, At))
    }
    sizes = (_size(root, schedule) for root in roots if isinstance(root, (int, Buffer)))
    return sum(sizes) >= WORTH


def _size(root: Any, schedule: Schedule) -> int:
    return root.length if isinstance(root, Buffer) else byte_size(schedule.operands.bound(root))


_Groups = list[list[_Unit]]


def run_parallel(schedule: Schedule) -> None:
    """Move small steps together."""
    if schedule.has_branches or _is_chain(schedule):
        return
    chains = _chains(schedule.steps)
    small = [_is_small(chain, schedule) for chain in watched(chains)]
    if sum(small) < 2:
        return
    units = [_Unit(*pair, schedule) for pair in watched([*zip(chains, small, strict=True)])]
    groups = _grouped(units)
    if len(groups) == len(units):
        return
    slots, kept = schedule.operands.slots, schedule.kept
    sizes = {
        root: 0 if root in slots else _size(root, schedule)
        for unit in units
        for root in unit.reads | unit.writes
    }
    before, _ = _most_alive([[unit] for unit in units], sizes, kept)
    for _ in range(ATTEMPTS):
        alive, at = _most_alive(groups, sizes, kept)
        if alive <= before + GROWTH:
            _move(schedule, groups)
            return
        groups[at][-1].is_small = False
        groups = _grouped(units)


def _is_chain(schedule: Schedule) -> bool:
    """Whether each step that is small enough needs the one before it: most graphs are like that,
    and there is nothing to look for in them.
    """
    before: ScheduledStep | None = None
    for scheduled in watched(schedule.steps):
        step = scheduled.step
        if before is not None and before.link == END and step.tiles <= MOST_TILES:
            written = {schedule.root(before.step.fields[name]) for name in before.step.writes}
            written.discard(None)
            fields, addresses = step.fields, step.record.addresses
            if written.isdisjoint([schedule.root(fields[name]) for _, name in addresses]):
                return False
        before = scheduled
    return True


def _chains(steps: Sequence[ScheduledStep]) -> list[list[ScheduledStep]]:
    chains = []
    chain: list[ScheduledStep] = []
    for scheduled in watched(steps):
        chain.append(scheduled)
        if scheduled.link == END:
            chains.append(chain)
            chain = []
    return chains


def _grouped(units: Sequence[_Unit]) -> _Groups:
    """Units that run side by side: each small one with the last ones that it can run beside."""
    groups: _Groups = []
    small: list[int] = []
    written: dict[Any, int] = {}  # in which group last, as is read
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
            if len(groups[at]) == MOST:
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


def _most_alive(groups: _Groups, sizes: Mapping[Any, int], kept: Container[Any]) -> tuple[int, int]:
    """The most bytes that are alive at the same time, and the group at which they are."""
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
                    begins[target] = at + 1  # until then it is the source's memory
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
