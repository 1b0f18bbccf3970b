"""ONNX element types."""

from typing import Any

from nnapi_shim.api.arrays import DTYPES
from nnapi_shim.formats.onnx.schema import NAMES, TYPES

INT64 = "INT64"
"""int64, the type of ONNX shapes and indices, which NNAPI does not have."""
DOUBLE = "DOUBLE"
"""float64, which is wide enough for the quotient of any two int32 values."""
CODES = {name: code for code, name in TYPES.items()}
"""Name -> TensorProto.DataType."""


def code(type: Any) -> int:
    """The TensorProto.DataType of an operand type."""
    return CODES[type if isinstance(type, str) else NAMES[DTYPES[type]]]
