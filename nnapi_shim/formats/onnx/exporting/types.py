"""ONNX element types."""

from typing import Any

from nnapi_shim.hal.enums import OperandType as T

INT64 = "INT64"
"""int64, the type of ONNX shapes and indices, which NNAPI does not have."""

DOUBLE = "DOUBLE"
"""float64, which is wide enough for the quotient of any two int32 values."""

TYPES: dict[Any, str] = {
    T.FLOAT32: "FLOAT",
    T.INT32: "INT32",
    T.UINT32: "UINT32",
    T.BOOL: "BOOL",
    T.FLOAT16: "FLOAT16",
    T.TENSOR_FLOAT32: "FLOAT",
    T.TENSOR_FLOAT16: "FLOAT16",
    T.TENSOR_INT32: "INT32",
    T.TENSOR_BOOL8: "BOOL",
    T.TENSOR_QUANT8_ASYMM: "UINT8",
    T.TENSOR_QUANT8_ASYMM_SIGNED: "INT8",
    T.TENSOR_QUANT8_SYMM: "INT8",
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL: "INT8",
    T.TENSOR_QUANT16_SYMM: "INT16",
    T.TENSOR_QUANT16_ASYMM: "UINT16",
    INT64: "INT64",
    DOUBLE: "DOUBLE",
}
"""Operand type -> TensorProto.DataType."""

CODES = {
    "FLOAT": 1,
    "UINT8": 2,
    "INT8": 3,
    "UINT16": 4,
    "INT16": 5,
    "INT32": 6,
    "INT64": 7,
    "BOOL": 9,
    "FLOAT16": 10,
    "DOUBLE": 11,
    "UINT32": 12,
}
"""Name -> TensorProto.DataType."""


def code(type: Any) -> int:
    """The TensorProto.DataType of an operand type."""
    return CODES[TYPES[type]]
