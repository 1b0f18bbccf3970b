"""The difference between two arrays of the same operand."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE

TINY = 1e-9
"""The smallest divisor of a relative error."""


@dataclass(frozen=True)
class Tolerance:
    """The largest tolerated difference: absolute + relative * |b| for floats, `steps` for
    quantized values, 0 for integers and booleans.

    float16: both the absolute and the relative tolerance of TENSOR_FLOAT16.
    """

    absolute: float = 1e-4
    relative: float = 1e-4
    steps: int = 0
    float16: float = 5 * 2.0**-10

    def allowed(self, type: OperandType, b: Array) -> Any:
        """The tolerated difference of each element: in steps for quantized types."""
        if type in QUANTIZED_RANGE:
            return self.steps
        if type in (OperandType.TENSOR_FLOAT16, OperandType.FLOAT16):
            return self.float16 * (1 + np.abs(b))
        if type in (OperandType.TENSOR_FLOAT32, OperandType.FLOAT32):
            return self.absolute + self.relative * np.abs(b)
        return 0


@dataclass(frozen=True)
class Difference:
    """The difference between an array `a` and an array `b`.

    elements: their number in each array; differing: the number of unequal ones. largest, relative,
    mean: the largest error |a - b| in real numbers, the largest relative to |b|, the mean. ulps:
    the largest distance of floats in units in the last place; steps: that of quantized values; None
    for other types. at: the index of the largest error; a, b: the real values there.
    is_beyond: whether an element exceeds the tolerance. problem: why the arrays cannot be compared,
    or "".
    """

    elements: int
    differing: int
    largest: float
    relative: float
    mean: float
    ulps: int | None
    steps: int | None
    at: tuple[int, ...] | None
    a: float | None
    b: float | None
    is_beyond: bool
    problem: str = ""


def difference(
    a: Array,
    b: Array,
    type: OperandType,
    scale: float,
    tolerance: Tolerance,
    zero_point: int = 0,
) -> Difference:
    """Compare two arrays. type, scale, zero_point: those of their operand."""
    if a.shape != b.shape:
        problem = f"dimensions {list(a.shape)} and {list(b.shape)}"
        return Difference(
            0, 0, math.inf, math.inf, math.inf, None, None, None, None, None, True, problem
        )
    is_quantized = type in QUANTIZED_RANGE
    unit = scale if is_quantized and scale else 1.0
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    same = (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.where(same, 0.0, np.abs(wide_a - wide_b))
        error[np.isnan(error)] = math.inf  # one of the two is NaN
        near = error <= tolerance.allowed(type, wide_b)
        beyond = ~same & (~near | np.isinf(error))
        relative = error * unit / np.maximum(np.abs(wide_b) * unit, TINY)
        relative = np.where(same, 0.0, np.where(np.isnan(relative), math.inf, relative))
    if not error.size:
        empty = 0 if b.dtype.kind == "f" else None
        steps = 0 if is_quantized else None
        return Difference(0, 0, 0.0, 0.0, 0.0, empty, steps, None, None, None, False)
    flat_index = int(error.argmax())
    at = tuple(int(index) for index in np.unravel_index(flat_index, error.shape))
    return Difference(
        int(error.size),
        int(error.size - np.count_nonzero(same)),
        float(error.max() * unit),
        float(relative.max()),
        float(error.mean() * unit),
        _ulps(a, b, same) if a.dtype.kind == "f" else None,
        int(error.max()) if is_quantized else None,
        at if error[at] else None,
        float((wide_a[at] - zero_point) * unit) if error[at] else None,
        float((wide_b[at] - zero_point) * unit) if error[at] else None,
        bool(np.any(beyond)),
    )


def _ulps(a: Array, b: Array, same: Array) -> int:
    """The largest distance in units in the last place."""

    def ordered(array: Array) -> Array:
        bits = array.view(f"i{array.itemsize}").astype(np.int64)
        lowest = -(1 << (8 * array.itemsize - 1))
        return np.where(bits < 0, lowest - bits, bits)

    apart = np.abs(ordered(np.ascontiguousarray(a)) - ordered(np.ascontiguousarray(b)))
    return int(np.where(same, 0, apart).max())
