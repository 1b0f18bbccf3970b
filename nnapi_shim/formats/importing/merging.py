"""Groups of neighbouring dimensions that an operation treats alike."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any


def alike(keys: Iterable[Any]) -> list[list[int]]:
    """Positions of neighbours with equal keys."""
    groups = groupby(enumerate(keys), lambda item: item[1])
    return [[at for at, _ in group] for _, group in groups]


def runs(order: Sequence[int]) -> list[list[int]]:
    """Neighbours that count up by one: [2, 3, 0] is [2, 3] and [0]."""
    groups = groupby(enumerate(order), lambda item: item[1] - item[0])
    return [[number for _, number in group] for _, group in groups]
