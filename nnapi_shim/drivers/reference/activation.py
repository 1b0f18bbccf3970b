"""RELU RELU1 RELU6 TANH LOGISTIC ELU HARD_SWISH PRELU."""

from collections.abc import Callable

import numpy as np

from nnapi_shim.drivers.reference import fixed_functions
from nnapi_shim.drivers.reference.arrays import (
    FLOAT_MAX,
    Array,
    activated,
    activated_raw,
    broadcast,
    centred,
    dtype_of,
    is_float,
    real,
    saturated,
)
from nnapi_shim.drivers.reference.fixed_point import (
    decomposed,
    doubling_high_product,
    input_radius,
    limited,
    one,
    rounding_shift,
    scaled,
    wrapped,
)
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations.declare import BoundOperation


def _clamped(activation: FuseCode) -> Callable[[BoundOperation], list[Array]]:
    """Clamp; quantized values stay unscaled, and the input's parameters give the bounds.

    The bound is the first operand of the maximum, so the result is the bound if the input is NaN or
    a 0 of the other sign.
    """
    low = {FuseCode.RELU1: -1.0}.get(activation, 0.0)

    def formula(op: BoundOperation) -> list[Array]:
        """The input within the bounds."""
        source = op.input
        if is_float(source):
            values = real(source)
            numbers = np.where(values > low, values, low)
            return [activated(numbers, activation, source.type)]
        parameters = source.type, source.scale, source.zero_point
        return [activated_raw(source.value, activation, *parameters)]

    return formula


relu, relu1, relu6 = map(_clamped, (FuseCode.RELU, FuseCode.RELU1, FuseCode.RELU6))


def tanh(op: BoundOperation) -> list[Array]:
    """Hyperbolic tangent; quantized in steps of 1/128, centred in the range of the type."""
    if is_float(op.output):
        return [activated(np.tanh(real(op.input)), FuseCode.NONE, op.output.type)]
    return [_squashed(op, fixed_functions.tanh, 24, {"qu8": 128, "qs8": 0}[op.variant])]


def logistic(op: BoundOperation) -> list[Array]:
    """1 / (1 + exp(-input)); quantized in steps of 1/256, from the lowest value of the type."""
    if is_float(op.output):
        shares = 1 / (1 + np.exp(-real(op.input)))
        return [activated(shares, FuseCode.NONE, op.output.type)]
    return [_squashed(op, fixed_functions.logistic, 23, {"qu8": 0, "qs8": -128}[op.variant])]


def elu(op: BoundOperation) -> list[Array]:
    """max(0, input) + min(0, alpha * (e^input - 1)); NaN where input is NaN."""
    x = real(op.input)
    # fmin: infinity times an alpha of 0 is not a number, and the smaller of it and 0 is 0.
    result = np.maximum(0, x) + np.fmin(0, op.alpha * np.expm1(x))
    return [result.astype(dtype_of(op.output.type))]


def hard_swish(op: BoundOperation) -> list[Array]:
    """The product input * min(6, max(0, input + 3)) / 6."""
    if is_float(op.output):
        x = real(op.input)
        return [(x * np.clip(x + 3, 0, 6) / 6).astype(dtype_of(op.output.type))]
    return [_quantized_hard_swish(op)]


def prelu(op: BoundOperation) -> list[Array]:
    """Where input >= 0 input, else alpha * input.

    Quantized, x being q - z: z' + x * (s / s') for x >= 0, else
    z' + x * (q_alpha - z_alpha) * (s * s_alpha / s').
    """
    target = op.output
    x, alpha = broadcast(centred(op.input), centred(op.alpha))
    if is_float(target):
        return [np.where(x >= 0, x, alpha * x).astype(dtype_of(target.type))]
    x, alpha = x.astype(np.int64), alpha.astype(np.int64)
    # Both multipliers begin in float32; the quotient of two scales stays there.
    scale, alpha_scale, target_scale = map(
        np.float32, (op.input.scale, op.alpha.scale, target.scale)
    )
    with np.errstate(all="ignore"):  # an overflowing multiplier has the effect of the largest one
        positive = np.fmin(scale / target_scale, FLOAT_MAX)
        negative = np.fmin(np.float64(scale * alpha_scale) / target.scale, FLOAT_MAX)
    steps = np.where(x >= 0, scaled(x, positive), scaled(x * alpha, negative))
    return [saturated(steps + target.zero_point, target.type)]


def _squashed(
    op: BoundOperation, function: Callable[[Array, int, int], Array], bits: int, zero_point: int
) -> Array:
    """A function in fixed point (semantics.md 6.9, 6.10): of numbers in Q4.27, its result in Q0.31
    divided by 2^bits; the ends of the type for numbers that Q4.27 does not hold.
    """
    values = centred(op.input).astype(np.int64)
    multiplier = min(op.input.scale * 2.0**27, FLOAT_MAX)
    radius = input_radius(multiplier, 4)
    inside = np.abs(values) < radius
    results = function(scaled(np.where(inside, values, 0), multiplier), 4, 32)
    steps = rounding_shift(results, bits) + zero_point
    lowest, highest = QUANTIZED_RANGE[op.output.type]
    ends = np.where(values <= -radius, lowest, highest)
    return saturated(np.where(inside, steps, ends), op.output.type)


def _quantized_hard_swish(op: BoundOperation) -> Array:
    """16-bit numbers (semantics.md 6.11): 128 times the input, times two 16-bit multipliers, which
    come from quotients in float32.
    """
    target = op.output
    with np.errstate(all="ignore"):
        scale = np.float32(op.input.scale) / np.float32(128)
        output, output_exponent = _multiplier_16(scale / np.float32(target.scale))
        relu, relu_exponent = _multiplier_16(scale / np.float32(3 / 32768))
    values = 128 * centred(op.input).astype(np.int64)
    product = doubling_high_product(values, output, 16)
    # The last bit to the left is left until the end, and so is every bit to the right.
    share = limited(values << np.clip(relu_exponent - 1, 0, 31), 16)
    share = doubling_high_product(share, relu, 16)
    if relu_exponent > 0:
        share = limited(share << 1, 16)
    share = rounding_shift(share, np.maximum(-relu_exponent, 0), 16)
    share = (share + 2**15) >> 1
    result = np.sign(product * share) * (np.abs(product * share) >> 15)
    steps = rounding_shift(result, -output_exponent, 16)
    return saturated(wrapped(steps + target.zero_point, 16), target.type)


def _multiplier_16(multiplier: np.float32) -> tuple[Array, Array]:
    """As `decomposed`, with the mantissa rounded to 16 bits."""
    mantissa, exponent = decomposed(np.fmin(multiplier, FLOAT_MAX))
    return np.minimum((mantissa + 2**15) >> 16, one(16)), exponent
