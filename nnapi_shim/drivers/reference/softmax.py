"""SOFTMAX LOG_SOFTMAX."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    dtype_of,
    is_float,
    quantized,
    real,
    within_float32,
)
from nnapi_shim.operations.declare import BoundOperation


def softmax(op: BoundOperation) -> list[Array]:
    """exp((input - max) * beta) / sum(exp((input - max) * beta)), along axis.

    Quantized in steps of 1/256, from the lowest value of the type: real arithmetic, rounded once;
    within 1 of the reference's integers.
    """
    values = real(op.input)
    # `initial` is the maximum along an axis of size 0.
    largest = values.max(axis=op.axis, keepdims=True, initial=-np.inf)
    weights = np.exp(within_float32(values - largest) * op.beta)
    shares = weights / weights.sum(axis=op.axis, keepdims=True)
    if is_float(op.output):
        return [shares.astype(dtype_of(op.output.type))]
    return [quantized(shares, op.output.type, 1 / 256, {"qu8": 0, "qs8": -128}[op.variant])]


def log_softmax(op: BoundOperation) -> list[Array]:
    """(input - max) * beta - log(sum exp((input - max) * beta)), along axis."""
    values = real(op.input)
    differences = within_float32(values - values.max(axis=op.axis, keepdims=True))
    exponents = within_float32(differences * op.beta)
    total = np.exp(exponents).sum(axis=op.axis, keepdims=True)
    return [(exponents - np.log(total)).astype(dtype_of(op.output.type))]
