"""Memory planner: assigns arena offsets to live ranges."""

from bisect import bisect, insort

from nnapi_shim.hints import Iterable, NamedTuple, Sequence
from nnapi_shim.limits import watched

ALIGNMENT = 64

STAGGERED = 64 << 10
"""Bytes from which a range is longer than it need be, where its neighbour would begin at nearly the
same byte of half a page otherwise. Pixels of 512 floats and their results, a power of two apart,
share few sets of the first-level cache then, and a depthwise convolution takes twice as long.
"""
PERIOD = 2 << 10
GAP = PERIOD // 4
"""Bytes of half a page, and how far neighbours are apart in it, at least."""

_COMPARISONS = 1 << 19
"""Comparisons of two ranges, at most, in the search for a smaller arena: a few milliseconds."""
_ATTEMPTS = 40


class LiveRange(NamedTuple):
    """`length` bytes that are needed from step `first` to step `last`, both included."""

    length: int
    first: int
    last: int


Ranges = Sequence[Sequence[int]]
"""LiveRanges, or other sequences of the same numbers."""


def plan(ranges: Ranges) -> tuple[list[int], int]:
    """Offsets such that simultaneously live ranges do not overlap, and the arena's size.

    The first attempt is a best-fit scan in the order of first use, linear in practice. If its arena
    exceeds the peak of live bytes, ranges are placed largest first; each further attempt places the
    range at the top of the arena earlier.
    """
    best = _scanned(ranges)
    attempts = _attempts(len(ranges))
    if not attempts:
        return best
    least = most_alive(ranges)
    order = sorted(range(len(ranges)), key=lambda at: (-ranges[at][0], ranges[at][1]))
    for attempt in range(attempts):
        if best[1] == least:
            break
        candidate = offsets, size = _placed_in_order(ranges, order)
        best = min(best, candidate, key=lambda each: each[1])
        index = next(
            index for index, at in enumerate(order) if offsets[at] + rounded(ranges[at][0]) == size
        )
        order.insert(index // 2 if attempt % 2 else 0, order.pop(index))
    return best


def most_alive(ranges: Ranges) -> int:
    """The peak of live bytes, a lower bound of the arena's size."""
    changes: list[tuple[int, int]] = []
    for length, first, last in watched(ranges):
        length = rounded(length)
        changes += (first, length), (last + 1, -length)
    most = alive = 0
    for _, change in sorted(changes):  # at equal steps, ends sort before begins
        alive += change
        most = max(most, alive)
    return most


def _placed_in_order(ranges: Ranges, order: Iterable[int]) -> tuple[list[int], int]:
    """Offsets and size when each range in turn gets the tightest gap between placed ranges."""
    offsets = [0] * len(ranges)
    taken: list[tuple[int, int, int, int]] = []  # (begin, end, first, last), sorted
    size = 0
    for at in watched(order):
        length, first, last = ranges[at]
        length = rounded(length)
        offset, room = -1, size + 1
        behind = 0
        for begin, end, other_first, other_last in taken:
            if other_first <= last and first <= other_last:
                if length <= begin - behind < room:
                    offset, room = behind, begin - behind
                if end > behind:
                    behind = end
        if offset < 0:
            offset = behind
        offsets[at] = offset
        insort(taken, (offset, offset + length, first, last))
        size = max(size, offset + length)
    return offsets, size


class Scan:
    """A best-fit scan with a free list: ranges get offsets in the order of first use.

    It is optimal for a chain of equal operations: two alternating buffers.
    size: of the arena so far. free: (offset, length) of holes, sorted by offset, never adjacent.
    ends: (last step, offset, length) of live ranges, sorted.
    """

    __slots__ = ("ends", "free", "size")

    def __init__(self) -> None:
        self.size = 0
        self.free: list[tuple[int, int]] = []
        self.ends: list[tuple[int, int, int]] = []

    def release(self, first: int) -> None:
        """Free the ranges that end before a step."""
        ends = self.ends
        while ends and ends[0][0] < first:
            _, offset, length = ends.pop(0)
            _release(self.free, offset, length)

    def place(self, length: int, first: int, last: int) -> int:
        """The offset of the next range."""
        self.release(first)
        length, free, size = rounded(length), self.free, self.size
        at, room = -1, size + 1
        for number, (_, hole) in enumerate(free):
            if length <= hole < room:
                at, room = number, hole
                if hole == length:
                    break
        if at >= 0:
            offset, hole = free.pop(at)
            if hole > length:
                free.insert(at, (offset + length, hole - length))
        elif free and free[-1][0] + free[-1][1] == size:  # the last hole ends the arena: grow it
            offset, _ = free.pop()
            self.size = offset + length
        else:
            offset, self.size = size, size + length
        insort(self.ends, (last, offset, length))
        return offset


def is_scanned(count: int) -> bool:
    """Whether the scan alone places so many ranges."""
    return _attempts(count) == 0


def _attempts(count: int) -> int:
    """How many other orders `plan` tries for so many ranges."""
    return min(_ATTEMPTS, _COMPARISONS // max(1, count) ** 2)


def _scanned(ranges: Ranges) -> tuple[list[int], int]:
    """Offsets and size of a scan."""
    offsets, scan = [0] * len(ranges), Scan()
    begins = [first for _, first, _ in ranges]
    for index in watched(sorted(range(len(ranges)), key=begins.__getitem__)):
        offsets[index] = scan.place(*ranges[index])
    return offsets, scan.size


def rounded(length: int) -> int:
    """A length in whole units of the alignment, staggered."""
    length = (length + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT or ALIGNMENT
    if length >= STAGGERED and not GAP <= length % PERIOD <= PERIOD - GAP:
        length += (GAP - length) % PERIOD
    return length


def _release(free: list[tuple[int, int]], offset: int, length: int) -> None:
    """Free a range, and merge it with adjacent holes."""
    at = bisect(free, (offset, 0))
    if at < len(free) and offset + length == free[at][0]:
        length += free.pop(at)[1]
    if at > 0:
        begin, before = free[at - 1]
        if begin + before == offset:
            free[at - 1] = begin, before + length
            return
    free.insert(at, (offset, length))
