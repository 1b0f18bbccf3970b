"""TensorFlow Lite element types."""

from typing import Any

from nnapi_shim.formats.tflite.exporting.subgraph import RESOURCE
from nnapi_shim.hal.enums import OperandType as T

TYPES: dict[Any, str] = {
    T.FLOAT32: "FLOAT32",
    T.INT32: "INT32",
    T.UINT32: "UINT32",
    T.BOOL: "BOOL",
    T.FLOAT16: "FLOAT16",
    T.TENSOR_FLOAT32: "FLOAT32",
    T.TENSOR_FLOAT16: "FLOAT16",
    T.TENSOR_INT32: "INT32",
    T.TENSOR_BOOL8: "BOOL",
    T.TENSOR_QUANT8_ASYMM: "UINT8",
    T.TENSOR_QUANT8_ASYMM_SIGNED: "INT8",
    T.TENSOR_QUANT8_SYMM: "INT8",
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL: "INT8",
    T.TENSOR_QUANT16_SYMM: "INT16",
    T.TENSOR_QUANT16_ASYMM: "UINT16",
    RESOURCE: "RESOURCE",
}
"""Operand type -> TensorType."""

CODES = {
    "FLOAT32": 0,
    "FLOAT16": 1,
    "INT32": 2,
    "UINT8": 3,
    "BOOL": 6,
    "INT16": 7,
    "INT8": 9,
    "RESOURCE": 13,
    "UINT32": 15,
    "UINT16": 16,
}
"""Name -> TensorType; the schema never changes these numbers."""


def type_code(type: Any) -> int:
    """The TensorType of an operand type."""
    return CODES[TYPES[type]]
