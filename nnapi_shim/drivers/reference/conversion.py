"""QUANTIZE DEQUANTIZE CAST."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, centred, dtype_of, quantized_in_float32
from nnapi_shim.operations.declare import BoundOperation


def quantize(op: BoundOperation) -> list[Array]:
    """clamp(zero_point + round(input / scale)), the quotient in float32, of float16 numbers, too.

    NaN becomes the largest number, as in the reference's other operation with this formula, RSQRT.
    """
    return [quantized_in_float32(op.input.value.astype(np.float32), op.output)]


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


def cast(op: BoundOperation) -> list[Array]:
    """The stored numbers as numbers of another type.

    To integers toward zero, and to the nearest end of the type's range beyond it; NaN, which the
    specification leaves open, becomes 0.
    """
    numbers = op.input.value
    dtype = dtype_of(op.output.type)
    if dtype.kind == "f" or dtype == numbers.dtype:
        return [numbers.astype(dtype)]
    ends = np.iinfo(dtype)
    whole = np.trunc(
        np.nan_to_num(numbers.astype(np.float64), nan=0, posinf=np.inf, neginf=-np.inf)
    )
    return [np.clip(whole, ends.min, ends.max).astype(dtype)]
