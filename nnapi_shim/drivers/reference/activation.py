"""RELU RELU1 RELU6 TANH LOGISTIC ELU HARD_SWISH PRELU."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    activated,
    activated_raw,
    broadcast,
    centred,
    dtype_of,
    is_float,
    quantized,
    real,
    saturated,
)
from nnapi_shim.drivers.reference.fixed_point import scaled
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.operations.declare import BoundOperation


def relu(op: BoundOperation) -> list[Array]:
    """max(0, input); 0 where input is NaN."""
    return _clamped(op, FuseCode.RELU)


def relu1(op: BoundOperation) -> list[Array]:
    """min(1, max(-1, input)); -1 where input is NaN."""
    return _clamped(op, FuseCode.RELU1)


def relu6(op: BoundOperation) -> list[Array]:
    """min(6, max(0, input)); 0 where input is NaN."""
    return _clamped(op, FuseCode.RELU6)


def tanh(op: BoundOperation) -> list[Array]:
    """Hyperbolic tangent; quantized in steps of 1/128, centred in the range of the type.

    Quantized: real arithmetic, rounded once; within 1 of the reference's integers.
    """
    zero_point = {"qu8": 128, "qs8": 0}.get(op.variant, 0)
    return _stored(op, np.tanh(real(op.input)), 1 / 128, zero_point)


def logistic(op: BoundOperation) -> list[Array]:
    """1 / (1 + exp(-input)); quantized in steps of 1/256, from the lowest value of the type.

    Quantized: real arithmetic, rounded once; within 1 of the reference's integers.
    """
    zero_point = {"qu8": 0, "qs8": -128}.get(op.variant, 0)
    return _stored(op, 1 / (1 + np.exp(-real(op.input))), 1 / 256, zero_point)


def elu(op: BoundOperation) -> list[Array]:
    """max(0, input) + min(0, alpha * (e^input - 1)); NaN where input is NaN."""
    x = real(op.input)
    # fmin: infinity times an alpha of 0 is not a number, and the smaller of it and 0 is 0.
    result = np.maximum(0, x) + np.fmin(0, op.alpha * np.expm1(x))
    return [result.astype(dtype_of(op.output.type))]


def hard_swish(op: BoundOperation) -> list[Array]:
    """The product input * min(6, max(0, input + 3)) / 6.

    Quantized: real arithmetic, rounded once; within 1 of the reference's integers.
    """
    x = real(op.input)
    return _stored(op, x * np.clip(x + 3, 0, 6) / 6, op.output.scale, op.output.zero_point)


def prelu(op: BoundOperation) -> list[Array]:
    """Where input >= 0 input, else alpha * input.

    Quantized, x being q - z: z' + x * (s / s') for x >= 0, else
    z' + x * (q_alpha - z_alpha) * (s * s_alpha / s').
    """
    target = op.output
    x, alpha = broadcast(centred(op.input), centred(op.alpha))
    if is_float(target):
        return [np.where(x >= 0, x, alpha * x).astype(dtype_of(target.type))]
    product_scale = np.float64(np.float32(op.input.scale) * np.float32(op.alpha.scale))
    steps = np.where(
        x >= 0,
        scaled(x, op.input.scale / target.scale),
        scaled(x * alpha, product_scale / target.scale),
    )
    return [saturated(steps + target.zero_point, target.type)]


def _clamped(op: BoundOperation, activation: FuseCode) -> list[Array]:
    """Quantized values stay as they are; the bounds come from the input's parameters.

    The bound is the first operand of the maximum, so that it stands where the input is NaN.
    """
    source = op.input
    if is_float(source):
        values = real(source)
        numbers = np.where(np.isnan(values), -np.inf, values)
        return [activated(numbers, activation, source.type)]
    return [activated_raw(source.value, activation, source.type, source.scale, source.zero_point)]


def _stored(op: BoundOperation, reals: Array, scale: float, zero_point: int) -> list[Array]:
    if is_float(op.output):
        return [reals.astype(dtype_of(op.output.type))]
    return [quantized(reals, op.output.type, scale, zero_point)]
