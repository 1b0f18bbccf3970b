"""Results and sums in float16, for the devices of phone profiles.

Without a Precision, sums are in float64, which is exact for what other devices are compared with.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import Any

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.precision import Precision
from nnapi_shim.hal.enums import OperandType

_LARGEST = np.finfo(np.float16).max
_SMALLEST = np.finfo(np.float16).smallest_normal

_of_thread = local()


@contextmanager
def sums_of(precision: Precision | None) -> Iterator[None]:
    """Set the type of this thread's sums of products; None for float64."""
    before = sums_type()
    _of_thread.sums = np.dtype(precision.sums if precision else np.float64)
    try:
        yield
    finally:
        _of_thread.sums = before


def sums_type() -> "np.dtype[Any]":
    """The type of this thread's sums of products."""
    kept: np.dtype[Any] = getattr(_of_thread, "sums", np.dtype(np.float64))
    return kept


def sums(shape: Sequence[int]) -> Array:
    """Zeros, to which products are added."""
    return np.zeros(tuple(shape), sums_type())


def summed(left: Array, right: Array, order: Iterable[int]) -> Array:
    """The product of matrices with sums in float16: products are added in this order, each with one
    rounding.
    """
    total = np.zeros((*left.shape[:-1], right.shape[1]), np.float16)
    for k in order:
        total = (total + left[..., k, None] * right[k]).astype(np.float16)
    return total


def stored(values: Array, type: OperandType, precision: Precision) -> Array:
    """Values of an operand as float16 holds them, with the element type of the operand."""
    if not precision.stores(type):
        return values
    with np.errstate(all="ignore"):
        half = values.astype(np.float16)
        if precision.rounding == "zero":
            wide = half.astype(np.float64)
            is_beyond = (np.abs(wide) > np.abs(values)) & np.isfinite(values)
            half = np.where(is_beyond, np.nextafter(half, np.float16(0)), half)
        if precision.overflow == "saturate":
            half = np.where(np.isinf(half), np.copysign(_LARGEST, half), half)
        if precision.subnormals == "flush":
            half = np.where(np.abs(half) < _SMALLEST, np.copysign(np.float16(0), half), half)
        result: Array = half.astype(values.dtype)
        return result
