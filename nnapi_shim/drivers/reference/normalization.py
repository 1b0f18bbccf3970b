"""L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION INSTANCE_NORMALIZATION."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    centred,
    dtype_of,
    is_float,
    saturated,
    within_float32,
)
from nnapi_shim.drivers.reference.deadline import watched
from nnapi_shim.drivers.reference.fixed_point import (
    doubling_high_product,
    inverse_square_root,
    rounding_shift,
    wrapped,
)
from nnapi_shim.operations.declare import BoundOperation


def l2_normalization(op: BoundOperation) -> list[Array]:
    """Divide: input / max(sqrt(sum of squares), 1e-6), along axis; NaN is no smaller than 1e-6.

    Quantized in steps of 1/128: 128 * (q - z) / sqrt(sum of squares), in the fixed-point
    arithmetic of the reference (semantics.md 8.1), around 128 in the unsigned type.
    """
    if not is_float(op.input):
        return [_quantized_l2(op)]
    values = centred(op.input)
    squares = (values**2).sum(axis=op.axis, keepdims=True)
    norm = np.maximum(np.sqrt(within_float32(squares)), 1e-6)
    return [(values / norm).astype(dtype_of(op.input.type))]


def _quantized_l2(op: BoundOperation) -> Array:
    """Signed numbers are multiplied by 128 at the end where the axis is the last one, all others
    at the beginning: the reference has a formula of its own there.
    """
    values = centred(op.input).astype(np.int64)
    squares = wrapped((values**2).sum(axis=op.axis, keepdims=True))
    mantissa, shift = inverse_square_root(squares)
    if op.variant == "qs8" and op.axis % values.ndim == values.ndim - 1:
        values, shift = values << np.maximum(7 - shift, 0), np.maximum(shift - 7, 0)
    else:
        values = 128 * values
    steps = rounding_shift(doubling_high_product(values, mantissa), shift)
    return saturated(steps + {"qu8": 128, "qs8": 0}[op.variant], op.input.type)


def local_response_normalization(op: BoundOperation) -> list[Array]:
    """input[i] * (bias + alpha * sum of input[j]^2)^-beta, |j - i| <= radius, along axis.

    Squares vanish and overflow in float32.
    """
    values = np.moveaxis(op.input.value.astype(np.float64), op.axis, 0)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.square(values.astype(np.float32)).astype(np.float64)
    length = len(values)
    sums = np.array(
        [
            squares[max(0, i - op.radius) : min(length, i + op.radius + 1)].sum(axis=0)
            for i in watched(range(length))
        ]
    )
    scale = within_float32(op.bias + within_float32(op.alpha * within_float32(sums))) ** -op.beta
    normalized = values * within_float32(scale)
    return [np.moveaxis(normalized, 0, op.axis).astype(dtype_of(op.input.type))]


def instance_normalization(op: BoundOperation) -> list[Array]:
    """(input - mean) * gamma / sqrt(variance + epsilon) + beta, over height and width."""
    values = op.input.value.astype(np.float64)
    image = (2, 3) if op.nchw else (1, 2)
    count = values.shape[image[0]] * values.shape[image[1]]
    mean = within_float32(values.sum(axis=image, keepdims=True)) / count
    deviation = within_float32(values - mean)
    variance = within_float32((deviation**2).sum(axis=image, keepdims=True)) / count
    scaled = within_float32(deviation * op.gamma)
    normalized = scaled / np.sqrt(variance + op.epsilon) + op.beta
    return [normalized.astype(dtype_of(op.input.type))]
