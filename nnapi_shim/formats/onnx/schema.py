"""The messages and element types of .onnx files that are read (onnx/onnx.proto)."""

from typing import Any

import numpy as np

from nnapi_shim.formats.onnx.wire import Field


def _fields(text: str) -> dict[int, Field]:
    """Fields from lines `number name kind`; `*` after a kind: repeated."""
    result = {}
    for entry in text.split(","):
        number, name, kind = entry.split()
        result[int(number)] = Field(name, kind.rstrip("*"), kind.endswith("*"))
    return result


SCHEMA = {
    name: _fields(text)
    for name, text in {
        "Model": "1 ir_version int, 2 producer text, 7 graph Graph, 8 opset_import Opset*, "
        "14 metadata Entry*, 25 functions Function*",
        "Opset": "1 domain text, 2 version int",
        "Entry": "1 key text, 2 value text",
        "Graph": "1 node Node*, 2 name text, 5 initializer Tensor*, 11 input ValueInfo*, "
        "12 output ValueInfo*, 15 sparse_initializer Sparse*",
        "Node": "1 input text*, 2 output text*, 3 name text, 4 op_type text, "
        "5 attribute Attribute*, 7 domain text, 8 overload text",
        "Attribute": "1 name text, 2 f float, 3 i int, 4 s bytes, 5 t Tensor, 6 g Graph, "
        "7 floats float*, 8 ints int*, 9 strings bytes*, 10 tensors Tensor*, 11 graphs Graph*, "
        "20 type int, 21 reference text",
        "Tensor": "1 dims int*, 2 data_type int, 4 float_data float*, 5 int32_data int*, "
        "6 string_data bytes*, 7 int64_data int*, 8 name text, 9 raw_data bytes, "
        "10 double_data double*, 11 uint64_data int*, 13 external_data Entry*, 14 location int",
        "Sparse": "1 values Tensor, 2 indices Tensor, 3 dims int*",
        "ValueInfo": "1 name text, 2 type Type",
        "Type": "1 tensor TensorType, 4 sequence Empty, 5 map Empty, 8 sparse Empty, "
        "9 optional Empty",
        "TensorType": "1 elem_type int, 2 shape Shape",
        "Shape": "1 dim Dimension*",
        "Dimension": "1 value int, 2 param text",
        "Function": "1 name text, 4 input text*, 5 output text*, 6 attribute text*, 7 node Node*, "
        "9 opset_import Opset*, 10 domain text, 11 attribute_proto Attribute*, 13 overload text",
    }.items()
}
"""Message -> fields."""
SCHEMA["Empty"] = {}

ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings"}
"""AttributeProto.AttributeType -> field with the value."""

_NAMES = (
    "UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 "
    "COMPLEX64 COMPLEX128 BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ UINT4 "
    "INT4 FLOAT4E2M1 FLOAT8E8M0 UINT2 INT2 FLOAT6E2M3 FLOAT6E3M2"
)
TYPES = dict(enumerate(_NAMES.split()))
"""TensorProto.DataType -> name."""

DTYPES: dict[str, Any] = {
    "FLOAT": np.float32,
    "UINT8": np.uint8,
    "INT8": np.int8,
    "UINT16": np.uint16,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "BOOL": np.bool_,
    "FLOAT16": np.float16,
    "DOUBLE": np.float64,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "UINT4": np.uint8,
    "INT4": np.int8,
}
"""Element type -> numpy type; the others cannot be read."""
NAMES = {np.dtype(dtype): name for name, dtype in reversed(DTYPES.items())}
"""Numpy type -> element type; of those with the same type the first."""

DATA_FIELDS = {
    "FLOAT": "float_data",
    "DOUBLE": "double_data",
    "INT64": "int64_data",
    "UINT32": "uint64_data",
    "UINT64": "uint64_data",
}
"""Element type -> field of a TensorProto with the numbers; int32_data for the others."""
