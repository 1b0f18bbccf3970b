"""Deadline checks for loops within operations."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import local
from time import monotonic_ns
from typing import TypeVar

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, times
from nnapi_shim.drivers.reference.half import summed, sums_type
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ResultCode

T = TypeVar("T")

PRODUCTS = 1 << 27
"""Limit of the products in one call of numpy, about a tenth of a second."""

_of_thread = local()


@contextmanager
def until(deadline_ns: int | None) -> Iterator[None]:
    """Set this thread's deadline, time.monotonic_ns(), for `look` and the functions that use it."""
    before = getattr(_of_thread, "deadline_ns", None)
    _of_thread.deadline_ns = deadline_ns
    try:
        yield
    finally:
        _of_thread.deadline_ns = before


def look() -> None:
    """Raise MISSED_DEADLINE_TRANSIENT if the deadline has passed."""
    deadline_ns = getattr(_of_thread, "deadline_ns", None)
    if deadline_ns is not None and monotonic_ns() >= deadline_ns:
        raise NnapiError(
            ResultCode.MISSED_DEADLINE_TRANSIENT, "the deadline passed", "execution.deadline.passed"
        )


def watched(items: Iterable[T]) -> Iterator[T]:
    """The items, with a deadline check before each."""
    for item in items:
        look()
        yield item


def product(left: Array, right: Array) -> Array:
    """The matrix product of float64 left and the matrix `right`; a large one is split by rows, with
    deadline checks between the parts. Sums have the type of this thread (half.py).
    """
    depth, columns = right.shape
    kind = sums_type()
    if kind == np.float16:
        return summed(left, right, watched(range(depth)))
    if kind != left.dtype and kind == np.float32:
        left, right = left.astype(kind), right.astype(kind)
    rows = left.reshape(-1, depth)
    step = max(1, PRODUCTS // max(1, depth * columns))
    if len(rows) <= step:
        look()
        return times(left, right)
    total = np.empty((len(rows), columns), np.result_type(left, right))
    for start in watched(range(0, len(rows), step)):
        total[start : start + step] = times(rows[start : start + step], right)
    return total.reshape(*left.shape[:-1], columns)
