"""Memory planner: assigns arena offsets to live ranges."""

from bisect import insort
from collections.abc import Iterable, Sequence

from nnapi_shim.hints import NamedTuple
from nnapi_shim.limits import watched

ALIGNMENT = 64

_COMPARISONS = 1 << 19
"""Comparisons of two ranges, at most, in the search for a smaller arena: a few milliseconds."""
_ATTEMPTS = 40


class LiveRange(NamedTuple):
    """`length` bytes that are needed from step `first` to step `last`, both included."""

    length: int
    first: int
    last: int


def plan(ranges: Sequence[LiveRange]) -> tuple[list[int], int]:
    """Offsets such that simultaneously live ranges do not overlap, and the arena's size.

    The first attempt is a best-fit scan in the order of first use, linear in practice. If its arena
    exceeds the peak of live bytes, ranges are placed largest first; each further attempt places the
    range at the top of the arena earlier.
    """
    best = _scanned(ranges)
    least = most_alive(ranges)
    attempts = min(_ATTEMPTS, _COMPARISONS // max(1, len(ranges)) ** 2)
    order = sorted(range(len(ranges)), key=lambda at: (-ranges[at].length, ranges[at].first))
    for attempt in range(attempts):
        if best[1] == least:
            break
        candidate = offsets, size = _placed_in_order(ranges, order)
        best = min(best, candidate, key=lambda each: each[1])
        index = next(
            index
            for index, at in enumerate(order)
            if offsets[at] + _rounded(ranges[at].length) == size
        )
        order.insert(index // 2 if attempt % 2 else 0, order.pop(index))
    return best


def most_alive(ranges: Iterable[LiveRange]) -> int:
    """The peak of live bytes, a lower bound of the arena's size."""
    changes: list[tuple[int, int]] = []
    for length, first, last in watched(ranges):
        length = _rounded(length)
        changes += (first, length), (last + 1, -length)
    most = alive = 0
    for _, change in sorted(changes):  # at equal steps, ends sort before begins
        alive += change
        most = max(most, alive)
    return most


def _placed_in_order(ranges: Sequence[LiveRange], order: Iterable[int]) -> tuple[list[int], int]:
    """Offsets and size when each range in turn gets the tightest gap between placed ranges."""
    offsets = [0] * len(ranges)
    taken: list[tuple[int, int, int, int]] = []  # (begin, end, first, last), sorted
    size = 0
    for at in watched(order):
        length, first, last = ranges[at]
        length = _rounded(length)
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


def _scanned(ranges: Sequence[LiveRange]) -> tuple[list[int], int]:
    """Offsets and size of a best-fit scan with a free list, in the order of first use.

    It is optimal for a chain of equal operations: two alternating buffers.
    """
    offsets = [0] * len(ranges)
    free: list[tuple[int, int]] = []  # (offset, length), sorted by offset, never adjacent
    ends: list[tuple[int, int]] = []  # (last step, range), sorted
    size = 0
    for index in watched(sorted(range(len(ranges)), key=lambda i: ranges[i].first)):
        current = ranges[index]
        while ends and ends[0][0] < current.first:
            done = ends.pop(0)[1]
            _release(free, offsets[done], _rounded(ranges[done].length))
        length = _rounded(current.length)
        fitting = [(hole[1], at) for at, hole in enumerate(free) if hole[1] >= length]
        if fitting:
            at = min(fitting)[1]
            offset, hole_length = free.pop(at)
            if hole_length > length:
                free.insert(at, (offset + length, hole_length - length))
        elif free and free[-1][0] + free[-1][1] == size:  # the last hole ends the arena: grow it
            offset, _ = free.pop()
            size = offset + length
        else:
            offset, size = size, size + length
        offsets[index] = offset
        insort(ends, (current.last, index))
    return offsets, size


def _rounded(length: int) -> int:
    return max(ALIGNMENT, -(-length // ALIGNMENT) * ALIGNMENT)


def _release(free: list[tuple[int, int]], offset: int, length: int) -> None:
    """Free a range, and merge it with adjacent holes."""
    insort(free, (offset, length))
    at = free.index((offset, length))
    if at + 1 < len(free) and offset + length == free[at + 1][0]:
        length += free.pop(at + 1)[1]
        free[at] = (offset, length)
    if at > 0 and sum(free[at - 1]) == offset:
        before = free.pop(at - 1)
        free[at - 1] = (before[0], before[1] + length)
