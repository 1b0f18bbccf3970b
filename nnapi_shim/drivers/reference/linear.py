"""The end of every sum of products: bias, scale of the output, activation (semantics.md 5.4)."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, activated, activated_raw, is_float
from nnapi_shim.drivers.reference.fixed_point import scaled
from nnapi_shim.operations.declare import BoundOperand, BoundOperation


def with_bias(op: BoundOperation, total: Array, weights: BoundOperand) -> Array:
    """act(total + bias), the last dimension that of the bias.

    Quantized: clamp(z + scaled(int32(total + bias), s_input * s_weights / s_output)), the product
    of the scales in float32; with per-channel weights one multiplier for each channel.
    """
    total = total + op.bias.value
    target = op.output
    if is_float(target):
        return activated(total, op.activation, target.type)
    quant = weights.channel_quant
    scales = np.asarray(weights.scale if quant is None else quant.scales, np.float32)
    product = (np.float32(op.input.scale) * scales).astype(np.float64)
    accumulator = total.astype(np.int64).astype(np.int32)  # wraps
    raw = scaled(accumulator, product / target.scale) + target.zero_point
    return activated_raw(raw, op.activation, target.type, target.scale, target.zero_point)
