"""RELU RELU1 RELU6 TANH LOGISTIC."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    activated,
    activated_raw,
    is_float,
    quantized,
    real,
)
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.operations.declare import BoundOperation


def relu(op: BoundOperation) -> list[Array]:
    """max(0, input)."""
    return _clamped(op, FuseCode.RELU)


def relu1(op: BoundOperation) -> list[Array]:
    """min(1, max(-1, input))."""
    return _clamped(op, FuseCode.RELU1)


def relu6(op: BoundOperation) -> list[Array]:
    """min(6, max(0, input))."""
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


def _clamped(op: BoundOperation, activation: FuseCode) -> list[Array]:
    """Quantized values stay as they are; the bounds come from the input's parameters."""
    source = op.input
    if is_float(source):
        return [activated(real(source), activation, source.type)]
    return [activated_raw(source.value, activation, source.type, source.scale, source.zero_point)]


def _stored(op: BoundOperation, reals: Array, scale: float, zero_point: int) -> list[Array]:
    if is_float(op.output):
        return [activated(reals, FuseCode.NONE, op.output.type)]
    return [quantized(reals, op.output.type, scale, zero_point)]
