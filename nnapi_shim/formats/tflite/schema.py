"""The schema of .tflite files, from the package `tflite`, and names of its codes."""

from functools import cache
from types import ModuleType, SimpleNamespace

from nnapi_shim.extras import install_command

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
"""Table -> number of fields that this package reads and the package `tflite` lacks:
externalBufferGroups and externalBuffers; externalBuffer.
"""


@cache
def package() -> ModuleType:
    """The generated classes. Raises ImportError with what to install."""
    try:
        import tflite
    except ImportError as error:
        raise ImportError(
            "files of TensorFlow Lite need the packages tflite and flatbuffers; "
            f"`{install_command('tflite')}`"
        ) from error
    return tflite  # type: ignore[no-any-return]


@cache
def names(enumeration: str) -> dict[int, str]:
    """The names of an enumeration of the schema, such as BuiltinOperator: code -> name."""
    members = vars(getattr(package(), enumeration))
    result = {code: name for name, code in members.items() if isinstance(code, int)}
    return {**NEWER.get(enumeration, {}), **result}


@cache
def field_count(table: str) -> int:
    """The number of known fields of a table: the package's and the additional ones."""
    counts: list[int] = []
    builder = SimpleNamespace(StartObject=counts.append)
    getattr(package(), f"{table}Start")(builder)  # which begins with StartObject(count)
    return counts[0] + NEWER_FIELDS.get(table, 0)
