"""ABS EXP FLOOR LOG NEG RSQRT SIN SQRT."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    centred,
    dtype_of,
    is_float,
    real,
    rounded,
    saturated,
)
from nnapi_shim.operations.declare import BoundOperation


def abs(op: BoundOperation) -> list[Array]:
    """|input|; INT32 wraps."""
    return _stored(op, np.abs(_numbers(op)))


def exp(op: BoundOperation) -> list[Array]:
    """e^input."""
    return _stored(op, np.exp(_numbers(op)))


def floor(op: BoundOperation) -> list[Array]:
    """The largest integer that is not above input."""
    return _stored(op, np.floor(_numbers(op)))


def log(op: BoundOperation) -> list[Array]:
    """ln(input)."""
    return _stored(op, np.log(_numbers(op)))


def neg(op: BoundOperation) -> list[Array]:
    """-input; INT32 wraps."""
    return _stored(op, -_numbers(op))


def rsqrt(op: BoundOperation) -> list[Array]:
    """1 / sqrt(input).

    Quantized, in float32: 0 and negative numbers give the largest number of the type, as in the
    reference.
    """
    target = op.output
    if is_float(target):
        return _stored(op, 1 / np.sqrt(_numbers(op)))
    with np.errstate(all="ignore"):
        values = centred(op.input).astype(np.float32) * np.float32(op.input.scale)
        steps = rounded(1 / np.sqrt(values) / np.float32(target.scale))
    return [saturated(target.zero_point + np.where(values > 0, steps, np.inf), target.type)]


def sin(op: BoundOperation) -> list[Array]:
    """The sine of input."""
    return _stored(op, np.sin(_numbers(op)))


def sqrt(op: BoundOperation) -> list[Array]:
    """The square root of input."""
    return _stored(op, np.sqrt(_numbers(op)))


def _numbers(op: BoundOperation) -> Array:
    """The real numbers as float64; INT32 as int64."""
    return op.input.value.astype(np.int64) if op.variant == "i32" else real(op.input)


def _stored(op: BoundOperation, results: Array) -> list[Array]:
    """Rounded once; of integers the lower half stays."""
    return [results.astype(dtype_of(op.output.type))]
