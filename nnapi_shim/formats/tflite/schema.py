"""The schema of .tflite files: its tables, and names of its codes."""

from functools import cache
from typing import Any

from nnapi_shim.formats.tflite.tables import ENUMERATIONS, TABLES
from nnapi_shim.hints import NamedTuple

IDENTIFIER = b"TFL3"
VERSION = 3

PADDING = {0: "SAME", 1: "VALID"}
ACTIVATIONS = {0: "NONE", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6", 4: "TANH", 5: "SIGN_BIT"}

NEWER = {
    "TensorType": {19: "INT2", 20: "UINT4", 21: "FLOAT8_E4M3FN", 22: "FLOAT8_E5M2"},
    "BuiltinOperator": {209: "STABLEHLO_CASE"},
}
"""Enumeration -> codes that the package `tflite` lacks."""

NEWER_FIELDS = {"Model": 2, "Tensor": 1}
"""Table -> number of known fields that the package `tflite` lacks: externalBufferGroups and
externalBuffers; externalBuffer.
"""


class Field(NamedTuple):
    """A field of a table: its position, kind (tables.py) and default."""

    at: int
    kind: str
    default: Any


@cache
def names(enumeration: str) -> dict[int, str]:
    """The names of an enumeration of the schema, such as BuiltinOperator: code -> name."""
    members = dict(enumerate(ENUMERATIONS[enumeration].split()))
    return {**NEWER.get(enumeration, {}), **members}


@cache
def fields_of(table: str) -> dict[str, Field]:
    """The fields of a table by name; none of a table that the package `tflite` lacks."""
    fields = {}
    for at, text in enumerate(TABLES.get(table, "").split()):
        name, _, kind = text.partition(":")
        if kind:
            kind, _, default = kind.partition("=")
            is_number = kind not in "su" and len(kind) == 1
            fields[name] = Field(at, kind, _default(kind, default) if is_number else None)
    return fields


def _default(kind: str, text: str) -> Any:
    if kind == "?":
        return text == "True"
    return float(text or 0) if kind in "fd" else int(text or 0)


@cache
def field_count(table: str) -> int:
    """The number of known fields of a table: those of the package and the additional ones."""
    return len(TABLES[table].split()) + NEWER_FIELDS.get(table, 0)
