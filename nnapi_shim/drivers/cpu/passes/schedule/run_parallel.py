"""Small steps that do not need each other run side by side.

A step of few tiles leaves threads without work. It is brought to one in front of it that it does
not depend on: the transposes of an attention, the sums of rows of a detector's heads.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from nnapi_shim.drivers.cpu.compile.layout import Lowered, Placed
from nnapi_shim.drivers.cpu.program.program import BESIDE, END
from nnapi_shim.drivers.cpu.program.record import At, Buffer
from nnapi_shim.hal.types import byte_size
from nnapi_shim.hints import Any
from nnapi_shim.limits import watched
from nnapi_shim.operations.declare import BoundOperand

MOST_TILES = 7
"""A step of more tiles is shared well alone."""
WORTH = 16 << 10
"""Bytes that a step reads and writes, at least: less is done before another thread has come."""
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

    def __init__(self, steps: Sequence[Placed], is_small: bool, lowered: Lowered) -> None:
        self.steps = steps
        self.is_small = is_small
        self.reads: set[Any] = set()
        self.writes: set[Any] = set()
        self.over: list[tuple[Any, Any]] = []
        for placed in steps:
            step = placed.step
            fields, writes = step.fields, step.writes
            for _, name in step.record.addresses:
                root = lowered.root(fields[name])
                if isinstance(root, Buffer):
                    # Scratch memory, perhaps: nobody else's meanwhile.
                    if root.address is None:
                        self.writes.add(root)
                elif isinstance(root, int):
                    if name in writes:
                        self.writes.add(root)
                    elif root not in lowered.constant_addresses:
                        self.reads.add(root)
            if step.in_place:
                source = lowered.root(fields[step.in_place])
                self.over.append((source, lowered.root(fields["output"])))


def _is_small(steps: Sequence[Placed], lowered: Lowered) -> bool:
    """Whether steps that are chained have few tiles, and memory enough to be worth a thread."""
    if steps[0].step.tiles > MOST_TILES:
        return False
    found = {
        lowered.root(value)
        for placed in steps
        for _, name in placed.step.record.addresses
        if isinstance(value := placed.step.fields[name], (BoundOperand, Buffer, At))
    }
    sizes = (_size(root, lowered) for root in found if isinstance(root, (int, Buffer)))
    return sum(sizes) >= WORTH


def _size(root: Any, lowered: Lowered) -> int:
    return root.length if isinstance(root, Buffer) else byte_size(lowered.operand(root))


_Groups = list[list[_Unit]]


def run_parallel(lowered: Lowered, kept: Collection[Any]) -> list[tuple[Placed, Placed]]:
    """Bring small steps together; the pairs that run side by side.

    kept: operands and Buffers that later programs read.
    """
    if any(placed.jump for placed in lowered.steps) or _is_chain(lowered):
        return []
    chains = _chains(lowered.steps)
    small = [_is_small(chain, lowered) for chain in watched(chains)]
    if sum(small) < 2:
        return []
    units = [_Unit(*pair, lowered) for pair in watched([*zip(chains, small, strict=True)])]
    groups = _grouped(units)
    if len(groups) == len(units):
        return []
    sizes = {
        root: 0 if root in lowered.slots else _size(root, lowered)
        for unit in units
        for root in unit.reads | unit.writes
    }
    before, _ = _most_alive([[unit] for unit in units], sizes, kept)
    for _ in range(ATTEMPTS):
        alive, place = _most_alive(groups, sizes, kept)
        if alive <= before + GROWTH:
            return _joined(lowered, groups)
        groups[place][-1].is_small = False
        groups = _grouped(units)
    return []


def _is_chain(lowered: Lowered) -> bool:
    """Whether each step that is small enough needs the one before it: most graphs are like that,
    and there is nothing to look for in them.
    """
    before: Placed | None = None
    for placed in watched(lowered.steps):
        step = placed.step
        if before is not None and before.join == END and step.tiles <= MOST_TILES:
            written = {lowered.root(before.step.fields[name]) for name in before.step.writes}
            written.discard(None)
            fields, addresses = step.fields, step.record.addresses
            if written.isdisjoint([lowered.root(fields[name]) for _, name in addresses]):
                return False
        before = placed
    return True


def _chains(steps: Sequence[Placed]) -> list[list[Placed]]:
    chains = []
    chain: list[Placed] = []
    for placed in watched(steps):
        chain.append(placed)
        if placed.join == END:
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


def _most_alive(
    groups: _Groups, sizes: Mapping[Any, int], kept: Collection[Any]
) -> tuple[int, int]:
    """The most bytes that are needed at the same time, and the group that needs them."""
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


def _joined(lowered: Lowered, groups: _Groups) -> list[tuple[Placed, Placed]]:
    pairs = []
    for group in groups:
        for at in range(1, len(group)):
            group[at - 1].steps[-1].join = BESIDE
            pairs.append((group[at - 1].steps[-1], group[at].steps[0]))
    lowered.steps[:] = [placed for group in groups for unit in group for placed in unit.steps]
    return pairs
