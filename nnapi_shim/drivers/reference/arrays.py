"""Contents of operands as arrays: element types, real numbers from quantized ones and back."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import FuseCode, OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, STRUCT_CODES
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.process import products

Array = NDArray[Any]

MAX_RANK = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
"""Dimensions that numpy's arrays can have."""

_MOST_ELEMENTS = 1 << 60  # of 8 bytes: all that is computed in between counts, too

FLOAT_MAX = float(np.finfo(np.float32).max)

_ACTIVATION = {
    FuseCode.NONE: (-FLOAT_MAX, FLOAT_MAX),
    FuseCode.RELU: (0.0, FLOAT_MAX),
    FuseCode.RELU1: (-1.0, 1.0),
    FuseCode.RELU6: (0.0, 6.0),
}
"""Smallest and largest real result of each fused activation (semantics.md 5.1)."""


def times(left: Array, right: Array) -> Array:
    """The matrix product, left @ right; one at a time (process.load_numpy says why)."""
    with products:
        return left @ right


def dtype_of(type: OperandType) -> np.dtype[Any]:
    """Element type of an operand in memory."""
    return np.dtype(STRUCT_CODES[type])


def is_float(operand: BoundOperand) -> bool:
    """Whether an operand holds floating-point numbers."""
    return dtype_of(operand.type).kind == "f"


def centred(operand: BoundOperand) -> Array:
    """Quantized: q - zero_point; otherwise the numbers themselves. As float64.

    All integers that the operations meet here, and their sums of products, are exact in float64.
    """
    values: Array = operand.value.astype(np.float64)
    if operand.type in QUANTIZED_RANGE and operand.channel_quant is None:
        values -= operand.zero_point
    return values


def real(operand: BoundOperand) -> Array:
    """(q - zero_point) * scale of a quantized operand, or the numbers of any other, as float64."""
    values = centred(operand)
    return values * operand.scale if operand.type in QUANTIZED_RANGE else values


def rounded(values: Array) -> Array:
    """To the nearest integer, halves away from zero, like C's round()."""
    whole = np.trunc(values)
    halves: Array = np.sign(values) * (np.abs(values - whole) >= 0.5)
    return whole + halves


def saturated(values: Array, type: OperandType) -> Array:
    """Integers as elements of a quantized type, those outside its range at its ends; NaN, which the
    specification leaves open, at the lower one.
    """
    low, high = QUANTIZED_RANGE[type]
    return np.clip(np.where(np.isnan(values), low, values), low, high).astype(dtype_of(type))


def quantized(reals: Array, type: OperandType, scale: float, zero_point: int) -> Array:
    """saturated(zero_point + round(real / scale))."""
    return saturated(zero_point + rounded(reals / scale), type)


def quantized_in_float32(reals: Array, target: BoundOperand) -> Array:
    """float32 numbers as elements of `target`: saturated(zero_point + round(real / scale)), the
    quotient in float32 (semantics.md 5.5). NaN becomes the largest one (6.7).
    """
    quotient = reals / np.float32(target.scale)
    steps = rounded(np.where(np.isnan(quotient), np.inf, quotient))
    return saturated(target.zero_point + steps, target.type)


def requantized(source: BoundOperand, target: BoundOperand) -> Array:
    """Elements of `source` with the scale and zero point of `target`, which has the same type:
    saturated(round((q - z) * s / s_target + z_target)), the product in float32 (semantics.md 5.5).
    What is not quantized stays as it is, also TENSOR_INT32 with a scale.
    """
    if target.type not in QUANTIZED_RANGE:
        unchanged: Array = source.value
        return unchanged
    with np.errstate(over="ignore"):
        product = (centred(source).astype(np.float32) * np.float32(source.scale)).astype(np.float64)
    return saturated(rounded(product / target.scale + target.zero_point), target.type)


def activated(reals: Array, activation: int, type: OperandType) -> Array:
    """Real numbers after a fused activation, rounded once to the element type.

    What exceeds float32, infinities too, is its largest number, whatever the activation; float16
    is rounded after that, which makes it infinite again. NaN stays NaN, and so does a 0 the sign
    that it has in float32. See semantics.md 5.1.
    """
    low, high = _ACTIVATION[FuseCode(activation)]
    with np.errstate(over="ignore"):
        results = reals.astype(np.float32) if type == OperandType.TENSOR_FLOAT32 else reals
    results = np.where(results < low, low, results)
    return np.where(results > high, high, results).astype(dtype_of(type))


def within_float32(reals: Array) -> Array:
    """Replace values beyond float32 with infinity: the reference has such sums in float32."""
    return np.where(np.abs(reals) > FLOAT_MAX, np.copysign(np.inf, reals), reals)


def without_nan(values: Array, number: float) -> Array:
    """Values with a number in place of NaN: numpy's fmax and fmin return signaling ones."""
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), values.dtype.type(number), values)


def activated_raw(
    raw: Array, activation: int, type: OperandType, scale: float, zero_point: int
) -> Array:
    """Quantized numbers after a fused activation, clamped to the range of the type.

    The bounds are zero_point + round(bound / scale), the quotient in float32 (semantics.md 5.1).
    """
    bounds = np.array(_ACTIVATION[FuseCode(activation)], np.float32)
    bounds[np.abs(bounds) == FLOAT_MAX] *= np.inf  # no bound but that of the type
    low, high = zero_point + rounded(bounds / np.float32(scale))
    return saturated(np.clip(raw, low, high), type)


def broadcast(*arrays: Array) -> list[Array]:
    """The arrays broadcast to one shape; raises OP_FAILED if their shapes do not match."""
    rank = max(x.ndim for x in arrays)
    sizes = []
    for axis in range(
        -rank, 0
    ):  # numpy's broadcasting functions support fewer dimensions than its arrays
        lengths = {x.shape[axis] for x in arrays if x.ndim >= -axis} - {1}
        if len(lengths) > 1:
            listed = " and ".join(str(list(x.shape)) for x in arrays)
            raise op_failed(
                f"dimensions {listed} do not match; aligned at the end, sizes must be equal or 1",
                "operation.broadcast",
            )
        sizes.append(lengths.pop() if lengths else 1)
    return [np.broadcast_to(x, sizes) for x in arrays]


def check_dimensions(dimensions: Dimensions) -> None:
    """Raise OP_FAILED for more dimensions than numpy supports, and for sizes that it cannot
    represent even if another size is 0.
    """
    if prod(size or 1 for size in dimensions) >= _MOST_ELEMENTS:
        raise op_failed(
            f"a tensor has dimensions {list(dimensions)}; nnapi-reference has none that would have "
            f"{_MOST_ELEMENTS} elements if all sizes of 0 were 1, as numpy has none",
            "device.tensor-size",
        )
    if len(dimensions) > MAX_RANK:
        raise op_failed(
            f"a tensor has {len(dimensions)} dimensions; nnapi-reference has tensors of up to "
            f"{MAX_RANK}, as numpy has",
            "device.tensor-rank",
        )
