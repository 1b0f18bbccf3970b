"""Live ranges -> offsets in one arena."""

from bisect import insort
from collections.abc import Iterable, Sequence

from nnapi_shim.hints import NamedTuple
from nnapi_shim.limits import watched

ALIGNMENT = 64

_COMPARISONS = 1 << 19
"""Of two ranges, that looking for a smaller arena may take: a few milliseconds at most."""
_ATTEMPTS = 40


class LiveRange(NamedTuple):
    """`length` bytes that are needed from step `first` to step `last`, both included."""

    length: int
    first: int
    last: int


def plan(ranges: Sequence[LiveRange]) -> tuple[list[int], int]:
    """Offsets such that ranges that live at the same time do not overlap, and the arena's size.

    A scan in the order of first use comes first: it is linear in practice. Where it takes more than
    what lives at the same time, the largest range is placed first, then the next; and as long as
    one lies above what is needed, it is placed earlier in another attempt.
    """
    best = _scanned(ranges)
    least = most_alive(ranges)
    attempts = min(_ATTEMPTS, _COMPARISONS // max(1, len(ranges)) ** 2)
    order = sorted(range(len(ranges)), key=lambda at: (-ranges[at].length, ranges[at].first))
    for attempt in range(attempts):
        if best[1] == least:
            break
        found = offsets, size = _placed(ranges, order)
        best = min(best, found, key=lambda each: each[1])
        place = next(
            place
            for place, at in enumerate(order)
            if offsets[at] + _rounded(ranges[at].length) == size
        )
        order.insert(place // 2 if attempt % 2 else 0, order.pop(place))
    return best


def most_alive(ranges: Iterable[LiveRange]) -> int:
    """The largest sum of bytes that live at the same time: no arena is smaller."""
    changes: list[tuple[int, int]] = []
    for length, first, last in watched(ranges):
        length = _rounded(length)
        changes += (first, length), (last + 1, -length)
    most = alive = 0
    for _, change in sorted(changes):  # at one step, what ends comes before what begins
        alive += change
        most = max(most, alive)
    return most


def _placed(ranges: Sequence[LiveRange], order: Iterable[int]) -> tuple[list[int], int]:
    """Offsets and size where each range in turn gets the tightest gap between those before it."""
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
    """Offsets and size of one scan in the order of first use with a free list, best fit.

    What a chain of equal operations needs is found exactly: two buffers that alternate.
    """
    offsets = [0] * len(ranges)
    free: list[tuple[int, int]] = []  # (offset, length), sorted by offset, never adjacent
    ends: list[tuple[int, int]] = []  # (last step, range), sorted
    size = 0
    for index in watched(sorted(range(len(ranges)), key=lambda i: ranges[i].first)):
        wanted = ranges[index]
        while ends and ends[0][0] < wanted.first:
            done = ends.pop(0)[1]
            _release(free, offsets[done], _rounded(ranges[done].length))
        length = _rounded(wanted.length)
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
        insort(ends, (wanted.last, index))
    return offsets, size


def _rounded(length: int) -> int:
    return max(ALIGNMENT, -(-length // ALIGNMENT) * ALIGNMENT)


def _release(free: list[tuple[int, int]], offset: int, length: int) -> None:
    """Give a range back, joined with the holes beside it."""
    insort(free, (offset, length))
    at = free.index((offset, length))
    if at + 1 < len(free) and offset + length == free[at + 1][0]:
        length += free.pop(at + 1)[1]
        free[at] = (offset, length)
    if at > 0 and sum(free[at - 1]) == offset:
        before = free.pop(at - 1)
        free[at - 1] = (before[0], before[1] + length)
