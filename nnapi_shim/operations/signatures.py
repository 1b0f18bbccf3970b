"""Type tables and forms shared by several families."""

from collections.abc import Iterator

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.operations.declare import Form, form

F32, F16 = T.TENSOR_FLOAT32, T.TENSOR_FLOAT16
QU8, QS8 = T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED
QC8, I32 = T.TENSOR_QUANT8_SYMM_PER_CHANNEL, T.TENSOR_INT32

ONE_TO_ONE = {
    "f32": (1, F32, F32),
    "f16": (3, F16, F16),
    "qu8": (1, QU8, QU8),
    "qs8": (4, QS8, QS8),
}
"""One input, one output of the same type: activations, pooling."""


def one_to_one(**since: int) -> dict[str, tuple[int, T, T]]:
    """One input, one output of the same type; the first level of each variant."""
    tensors = {"f32": F32, "f16": F16, "i32": I32, "qu8": QU8, "qs8": QS8}
    return {v: (level, tensors[v], tensors[v]) for v, level in since.items()}


FILTERED = {
    "f32": (1, F32, F32, F32, F32),
    "f16": (3, F16, F16, F16, F16),
    "qu8": (1, QU8, QU8, I32, QU8),
    "qu8_qc8": (3, QU8, QC8, I32, QU8),
    "qs8": (4, QS8, QS8, I32, QS8),
    "qs8_qc8": (4, QS8, QC8, I32, QS8),
}
"""input filter bias -> output of the convolutions."""

PADDING = ("pad_left:INT32 pad_right:INT32 pad_top:INT32 pad_bottom:INT32", "padding:INT32")
"""Explicit padding, or a padding scheme."""

NO_PADDING = dict.fromkeys(("pad_left", "pad_right", "pad_top", "pad_bottom", "padding"))


def windowed(head: str, tail: str, dilation: bool) -> Iterator[Form]:
    """The forms with explicit and with implicit padding: plain, with layout, with dilation."""
    for padding in PADDING:
        base = f"{head} {padding} {tail}"
        yield form(base)
        yield form(f"{base} nchw:BOOL", since=3)
        if dilation:
            yield form(f"{base} nchw:BOOL dilation_width:INT32 dilation_height:INT32", since=3)
