"""CONCATENATION PACK TILE."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, dtype_of, rounded, saturated
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.operations.declare import BoundOperand, BoundOperation


def concatenation(op: BoundOperation) -> list[Array]:
    """The inputs concatenated along axis, requantized to the output's scale and zero point."""
    if op.axis < 0:
        raise op_failed(f"axis is {op.axis}; it must not be negative", "concatenation.axis")
    parts = [_requantized(operand, op.output) for operand in op.inputs]
    try:
        return [np.concatenate(parts, op.axis)]
    except ValueError:  # an axis out of range, too
        shapes = ", ".join(str(list(part.shape)) for part in parts)
        raise op_failed(
            f"inputs {shapes} cannot be joined along axis {op.axis}", "concatenation.dimensions"
        ) from None


def pack(op: BoundOperation) -> list[Array]:
    """The inputs along a new axis."""
    return [np.stack([operand.value for operand in op.inputs], op.axis)]


def tile(op: BoundOperation) -> list[Array]:
    """The input repeated multiples[i] times along dimension i."""
    value = op.input.value
    multiples = op.multiples[: value.ndim]
    if 0 in multiples:  # numpy would allocate the other repetitions first
        return [np.empty(np.multiply(value.shape, multiples), value.dtype)]
    return [np.tile(value, multiples)]


def _requantized(source: BoundOperand, target: BoundOperand) -> Array:
    """z_out + round(q * k - z * k) with k = s / s_out, in float32 (semantics.md 9).

    Signed values and zero points are computed with as unsigned ones, 128 higher.
    """
    if (source.scale, source.zero_point) == (target.scale, target.zero_point):
        return source.value
    shift = 128 if source.type == OperandType.TENSOR_QUANT8_ASYMM_SIGNED else 0
    ratio = np.float32(source.scale) * (np.float32(1) / np.float32(target.scale))
    offset = np.float32(-(source.zero_point + shift)) * ratio
    raw = (source.value.astype(np.float32) + shift) * ratio + offset
    steps = rounded(raw) + (target.zero_point + shift)
    return saturated(steps - shift, source.type).astype(dtype_of(target.type))
