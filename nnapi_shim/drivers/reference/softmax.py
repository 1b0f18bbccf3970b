"""SOFTMAX LOG_SOFTMAX."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    dtype_of,
    is_float,
    real,
    saturated,
    within_float32,
)
from nnapi_shim.drivers.reference.fixed_functions import exponential, reciprocal
from nnapi_shim.drivers.reference.fixed_point import (
    doubling_high_product,
    input_radius,
    rounding_shift,
    scaled,
    wrapped,
)
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations.declare import BoundOperation


def softmax(op: BoundOperation) -> list[Array]:
    """exp((input - max) * beta) / sum(exp((input - max) * beta)), along axis."""
    if not is_float(op.output):
        return [_quantized(op)]
    values = real(op.input)
    # `initial` is the maximum along an axis of size 0.
    largest = values.max(axis=op.axis, keepdims=True, initial=-np.inf)
    weights = np.exp(within_float32(values - largest) * op.beta)
    shares = weights / weights.sum(axis=op.axis, keepdims=True)
    return [shares.astype(dtype_of(op.output.type))]


def log_softmax(op: BoundOperation) -> list[Array]:
    """(input - max) * beta - log(sum exp((input - max) * beta)), along axis."""
    values = real(op.input)
    differences = within_float32(values - values.max(axis=op.axis, keepdims=True))
    exponents = within_float32(differences * op.beta)
    total = np.exp(exponents).sum(axis=op.axis, keepdims=True)
    return [(exponents - np.log(total)).astype(dtype_of(op.output.type))]


def _quantized(op: BoundOperation) -> Array:
    """In steps of 1/256, from the lowest value of the type, as the reference does (semantics.md
    8.4): exponentials in Q0.31, their sum in Q12.19.
    """
    values = op.input.value.astype(np.int64)
    differences = values - values.max(axis=op.axis, keepdims=True, initial=-(2**31))
    multiplier = min(op.beta * op.input.scale * 2.0**26, 2.0**31 - 1)
    within = differences >= -input_radius(multiplier, 5)
    exponents = scaled(np.where(within, differences, 0), multiplier)
    powers = exponential(exponents, 5, 32) * within
    accumulated = rounding_shift(powers, 12).sum(axis=op.axis, keepdims=True)
    total = accumulated % 2**32
    headroom = 32 - np.frexp(total.astype(np.float64))[1]
    share = reciprocal(wrapped((total << headroom) - 2**31), 32)
    # Sums of 512 and above leave less than half a step; the reference's shift is undefined there.
    shift = 12 - headroom + 31 - 8
    steps = rounding_shift(doubling_high_product(share, powers), np.minimum(shift, 31))
    lowest, _ = QUANTIZED_RANGE[op.output.type]
    return saturated(np.where(shift < 32, steps, 0) + lowest, op.output.type)
