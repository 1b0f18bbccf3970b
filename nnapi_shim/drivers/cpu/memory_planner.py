"""Live ranges -> offsets in one arena."""

from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

ALIGNMENT = 64


class LiveRange(NamedTuple):
    """`length` bytes that are needed from step `first` to step `last`, both included."""

    length: int
    first: int
    last: int


def plan(ranges: Sequence[LiveRange]) -> tuple[list[int], int]:
    """Offsets such that ranges that live at the same time do not overlap, and the arena's size.

    One scan in the order of first use with a free list, best fit: linear in practice, and what a
    chain of operations needs is found exactly (two buffers that alternate).
    """
    offsets = [0] * len(ranges)
    free: list[tuple[int, int]] = []  # (offset, length), sorted by offset, never adjacent
    ends: list[tuple[int, int]] = []  # (last step, range), sorted
    size = 0
    for index in sorted(range(len(ranges)), key=lambda i: ranges[i].first):
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
