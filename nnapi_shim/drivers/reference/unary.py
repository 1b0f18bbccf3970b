"""ABS EXP FLOOR LOG NEG RSQRT SIN SQRT."""

from collections.abc import Callable

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    dtype_of,
    is_float,
    quantized_in_float32,
    real,
)
from nnapi_shim.operations.declare import BoundOperation


def rsqrt(op: BoundOperation) -> list[Array]:
    """1 / sqrt(input).

    Quantized: every step in float32 (semantics.md 6.7); 0 and negative numbers give the largest
    number of the type.
    """
    if is_float(op.output):
        return _reciprocal_root(op)
    roots = np.float32(1) / np.sqrt(real(op.input).astype(np.float32))
    return [quantized_in_float32(roots, op.output)]


def _of_numbers(function: Callable[[Array], Array]) -> Callable[[BoundOperation], list[Array]]:
    """The function of real numbers in float64, rounded once; INT32 as int64, of which the lower
    half stays.
    """

    def formula(op: BoundOperation) -> list[Array]:
        """The function of each element."""
        numbers = op.input.value.astype(np.int64) if op.variant == "i32" else real(op.input)
        return [function(numbers).astype(dtype_of(op.output.type))]

    return formula


_reciprocal_root = _of_numbers(lambda x: 1 / np.sqrt(x))
abs, neg = _of_numbers(np.abs), _of_numbers(np.negative)
exp, log = _of_numbers(np.exp), _of_numbers(np.log)
floor, sin, sqrt = _of_numbers(np.floor), _of_numbers(np.sin), _of_numbers(np.sqrt)
