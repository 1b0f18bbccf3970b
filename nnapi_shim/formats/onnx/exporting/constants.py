"""Constants of ONNX nodes."""

from typing import Any

import numpy as np

from nnapi_shim.api.arrays import DTYPES
from nnapi_shim.formats.graph.tensor import Array, Node, Tensor
from nnapi_shim.formats.onnx.exporting.types import INT64
from nnapi_shim.hal.enums import OperandType as T


def raw(value: Array, type: Any) -> Tensor:
    """A constant with the given element type."""
    return Tensor(type, value.shape, value=value)


def emit_activated(b: Any, op: Node, kind: str, inputs: list[Tensor], **options: Any) -> None:
    """Emit a node, and the activation of the operation after it."""
    result = op.output if not op.activation else op.output.like()
    b.emit(kind, inputs, [result], **options)
    if op.activation:
        b.activated(result, op.activation, op.output)


def longs(values: Any) -> Tensor:
    """An int64 constant."""
    return raw(np.asarray(values, np.int64), INT64)


def parameters_of(t: Tensor) -> list[Tensor]:
    """The scale and zero point as constants."""
    dtype = DTYPES[t.type]
    if t.channel_quant:
        scales = np.asarray(t.channel_quant.scales, np.float32)
        zeros = np.zeros(len(scales), dtype)
        return [raw(scales, T.TENSOR_FLOAT32), raw(zeros, t.type)]
    scale = np.asarray(t.scale, np.float32)
    return [raw(scale, T.TENSOR_FLOAT32), raw(np.asarray(t.zero_point, dtype), t.type)]
