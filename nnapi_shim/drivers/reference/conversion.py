"""QUANTIZE DEQUANTIZE."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, centred, dtype_of, rounded, saturated
from nnapi_shim.operations.declare import BoundOperation


def quantize(op: BoundOperation) -> list[Array]:
    """clamp(zero_point + round(input / scale)), the quotient in float32."""
    quotient = op.input.value.astype(np.float32) / np.float32(op.output.scale)
    return [saturated(op.output.zero_point + rounded(quotient.astype(np.float64)), op.output.type)]


def dequantize(op: BoundOperation) -> list[Array]:
    """(input - zero_point) * scale in float32.

    Per-channel scales are taken by index along their dimension.
    """
    scales: Array = np.asarray(op.input.scale, np.float32)
    quant = op.input.channel_quant
    if quant is not None:
        along = [1] * op.input.value.ndim
        along[quant.channel_dim] = -1
        scales = np.asarray(quant.scales, np.float32).reshape(along)
    product = scales * centred(op.input).astype(np.float32)
    return [product.astype(dtype_of(op.output.type))]
