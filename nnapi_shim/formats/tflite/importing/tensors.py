"""Tensors of a file as operands: types, quantization parameters, constants."""

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.model import Model
from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Tensor
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE

OPERAND_TYPES = {
    "FLOAT32": T.TENSOR_FLOAT32,
    "FLOAT16": T.TENSOR_FLOAT16,
    "INT32": T.TENSOR_INT32,
    "UINT8": T.TENSOR_QUANT8_ASYMM,
    "INT8": T.TENSOR_QUANT8_ASYMM_SIGNED,
    "INT4": T.TENSOR_QUANT8_ASYMM_SIGNED,
    "INT16": T.TENSOR_QUANT16_SYMM,
    "BOOL": T.TENSOR_BOOL8,
}
"""Element type -> operand type; NNAPI has no others."""


def require_understood(tensor: Tensor) -> None:
    """Refuse a tensor with fields that this version does not understand."""
    if tensor.unread:
        raise reason(f"{tensor}: {tensor.unread}", "import.tflite.tensor.unread")


def _require_no_blocks(tensor: Tensor) -> None:
    if tensor.blocks is not None:
        raise reason(
            f"{tensor} has a scale for each block, which NNAPI does not have",
            "import.tflite.block-scales",
        )


def operand_parameters(tensor: Tensor, is_wide: bool) -> tuple[T, float, int]:
    """Type, scale and zero point of the operand of a tensor.

    is_wide: whether the tensor is 16-bit and its operand float32.
    """
    require_understood(tensor)
    _require_no_blocks(tensor)
    if tensor.type not in OPERAND_TYPES:
        raise reason(f"{tensor} is {tensor.type}, which NNAPI does not have", "import.tflite.type")
    type = OPERAND_TYPES[tensor.type]
    if is_wide:
        return T.TENSOR_FLOAT32, 0.0, 0
    if type not in QUANTIZED_RANGE:
        return type, 0.0, 0
    if tensor.is_per_channel:
        raise reason(
            f"{tensor} has a scale per channel, and is no constant",
            "import.tflite.per-channel.not-constant",
        )
    if tensor.scale:
        return type, tensor.scale, tensor.zero_point
    return type, 1.0, 0  # unquantized bytes: NNAPI has no other type


def constant(model: Model, tensor: Tensor, value: Array, is_wide: bool) -> Operand:
    """A constant of the model with the contents of a dense tensor."""
    _require_no_blocks(tensor)
    if is_wide:
        return model.constant(real_values(tensor, value))
    value = value.reshape(value.shape or (1,))  # NNAPI has no tensors of rank 0
    if value.dtype in (np.int64, np.uint32, np.uint64):
        limits = np.iinfo(np.int32)
        if value.size and not limits.min <= value.min() <= value.max() <= limits.max:
            raise reason(f"{tensor} has numbers beyond 32 bits", "import.tflite.int64-range")
        return model.constant(value.astype(np.int32))
    if tensor.is_per_channel and tensor.type in ("INT8", "INT4"):
        if any(tensor.zero_points):
            raise reason(
                f"{tensor} has a scale per channel and zero points",
                "import.tflite.per-channel.zero-points",
            )
        return model.constant(value, scales=tensor.scales, channel_dim=tensor.channel_dim)
    if tensor.is_per_channel and tensor.type == "INT32":
        return model.constant(value, T.TENSOR_INT32)
    return model.constant(value, *operand_parameters(tensor, is_wide))


def real_values(tensor: Tensor, value: Array) -> Array:
    """The dequantized contents of a constant, as float32."""
    value = value.reshape(value.shape or (1,))
    if tensor.blocks is not None:
        scales, points, size = tensor.blocks
        parts = value.reshape(*scales.shape, size).astype(np.float32)
        if points is not None:
            parts -= points[..., np.newaxis]
        return (parts * scales[..., np.newaxis]).reshape(value.shape)
    if not tensor.scales:
        return value.astype(np.float32)
    shape = [1] * value.ndim
    if tensor.is_per_channel:
        shape[tensor.channel_dim] = len(tensor.scales)
    factors = np.array(tensor.scales, np.float32).reshape(shape)
    zero_points = np.array(tensor.zero_points, np.float32).reshape(shape)
    return (value.astype(np.float32) - zero_points) * factors
