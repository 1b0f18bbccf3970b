"""Element sizes, scalar kinds and the quantized ranges of the operand types."""

from struct import calcsize, unpack

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hints import Any

STRUCT_CODES = {
    T.FLOAT32: "f",
    T.INT32: "i",
    T.UINT32: "I",
    T.BOOL: "B",
    T.FLOAT16: "e",
    T.TENSOR_FLOAT32: "f",
    T.TENSOR_INT32: "i",
    T.TENSOR_BOOL8: "B",
    T.TENSOR_FLOAT16: "e",
    T.TENSOR_QUANT8_ASYMM: "B",
    T.TENSOR_QUANT8_ASYMM_SIGNED: "b",
    T.TENSOR_QUANT8_SYMM: "b",
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL: "b",
    T.TENSOR_QUANT16_SYMM: "h",
    T.TENSOR_QUANT16_ASYMM: "H",
}
"""Format character of one element for the module struct."""

ELEMENT_BYTES: dict[int, int] = {
    **{type: calcsize(code) for type, code in STRUCT_CODES.items()},
    T.MODEL: 0,
    T.OEM_SCALAR: 0,
    T.TENSOR_OEM_BYTE: 1,
}
"""Bytes per element. Extension types are added at their first use in a model."""

SCALARS: set[int] = {T.FLOAT32, T.INT32, T.UINT32, T.BOOL, T.FLOAT16, T.MODEL, T.OEM_SCALAR}
"""Types without dimensions. Extension types are added as in ELEMENT_BYTES."""

QUANTIZED_RANGE = {
    T.TENSOR_QUANT8_ASYMM: (0, 255),
    T.TENSOR_QUANT8_ASYMM_SIGNED: (-128, 127),
    T.TENSOR_QUANT16_ASYMM: (0, 65535),
    T.TENSOR_QUANT8_SYMM: (-128, 127),
    T.TENSOR_QUANT16_SYMM: (-32768, 32767),
    T.TENSOR_QUANT8_SYMM_PER_CHANNEL: (-128, 127),
}
"""Smallest and largest stored value of the quantized types."""

ASYMMETRIC = frozenset(
    (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED, T.TENSOR_QUANT16_ASYMM)
)
"""Quantized types with a scale and a zero point."""

SYMMETRIC = frozenset((T.TENSOR_QUANT8_SYMM, T.TENSOR_QUANT16_SYMM))
"""Quantized types with a scale, and the zero point fixed at 0."""

MAX_BYTES = 0xFFFFFFFF
"""Largest byte size of an operand."""


def decoded(type: T, data: bytes) -> Any:
    """The Python value of a scalar, or the tuple of numbers of a tensor."""
    code = STRUCT_CODES[type]
    if type in SCALARS:
        (number,) = unpack(f"<{code}", data)
        return bool(number) if code == "B" else number
    return unpack(f"<{len(data) // ELEMENT_BYTES[type]}{code}", data)
