"""How far two arrays of the same operand are apart."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE

TINY = 1e-9
"""Below this, a value counts as this much where an error is set in relation to it."""


@dataclass(frozen=True)
class Tolerance:
    """What counts as the same: floats that differ by at most absolute + relative * |b|, quantized
    values by at most `steps`; whole numbers and truth values are the same or not.

    float16: the same of TENSOR_FLOAT16, whose numbers are coarser.
    """

    absolute: float = 1e-4
    relative: float = 1e-4
    steps: int = 0
    float16: float = 5 * 2.0**-10

    def allowed(self, type: OperandType, b: Array) -> Any:
        """The largest difference for each element, as real numbers of `b` or in steps."""
        if type in QUANTIZED_RANGE:
            return self.steps
        if type in (OperandType.TENSOR_FLOAT16, OperandType.FLOAT16):
            return self.float16 * (1 + np.abs(b))
        if type in (OperandType.TENSOR_FLOAT32, OperandType.FLOAT32):
            return self.absolute + self.relative * np.abs(b)
        return 0


@dataclass(frozen=True)
class Difference:
    """Between an array `a` and an array `b`.

    elements: of each; differing: those that are not equal. largest, relative, mean: of the
    errors |a - b| as real numbers, in relation to |b|, and on average. ulps: largest distance in
    units in the last place, of floats; steps: of quantized values; None of others.
    at: where the largest error is; a, b: the real values there.
    is_beyond: whether an element differs by more than is tolerated. problem: why they cannot be
    compared, or "".
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
    a: Array, b: Array, type: OperandType, scale: float, tolerance: Tolerance
) -> Difference:
    """Compare; type, scale: of the operand that both are."""
    if a.shape != b.shape:
        told = f"dimensions {list(a.shape)} and {list(b.shape)}"
        return Difference(
            0, 0, math.inf, math.inf, math.inf, None, None, None, None, None, True, told
        )
    is_quantized = type in QUANTIZED_RANGE
    unit = scale if is_quantized and scale else 1.0
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    same = (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b))
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.where(same, 0.0, np.abs(wide_a - wide_b))
        error[np.isnan(error)] = math.inf  # one is not a number, the other is
        near = error <= tolerance.allowed(type, wide_b)
        beyond = ~same & (~near | np.isinf(error))
        relative = error * unit / np.maximum(np.abs(wide_b) * unit, TINY)
        relative = np.where(same, 0.0, np.where(np.isnan(relative), math.inf, relative))
    if not error.size:
        empty = 0 if b.dtype.kind == "f" else None
        steps = 0 if is_quantized else None
        return Difference(0, 0, 0.0, 0.0, 0.0, empty, steps, None, None, None, False)
    place = int(error.argmax())
    at = tuple(int(index) for index in np.unravel_index(place, error.shape))
    return Difference(
        int(error.size),
        int(error.size - np.count_nonzero(same)),
        float(error.max() * unit),
        float(relative.max()),
        float(error.mean() * unit),
        _ulps(a, b, same) if a.dtype.kind == "f" else None,
        int(error.max()) if is_quantized else None,
        at if error[at] else None,
        float(wide_a[at] * unit) if error[at] else None,
        float(wide_b[at] * unit) if error[at] else None,
        bool(np.any(beyond)),
    )


def _ulps(a: Array, b: Array, same: Array) -> int:
    """The largest distance of two floats, counted in the floats between them."""

    def ordered(array: Array) -> Array:
        bits = array.view(f"i{array.itemsize}").astype(np.int64)
        lowest = -(1 << (8 * array.itemsize - 1))
        return np.where(bits < 0, lowest - bits, bits)

    apart = np.abs(ordered(np.ascontiguousarray(a)) - ordered(np.ascontiguousarray(b)))
    return int(np.where(same, 0, apart).max())
