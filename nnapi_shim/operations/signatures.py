"""Type tables, forms and declarations shared by several families."""

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hints import Any, Iterator, Mapping, Sequence
from nnapi_shim.operations.declare import Form, Operation, Quantization, form, same_as

F32, F16 = T.TENSOR_FLOAT32, T.TENSOR_FLOAT16
QU8, QS8 = T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED
QC8, I32 = T.TENSOR_QUANT8_SYMM_PER_CHANNEL, T.TENSOR_INT32

TENSORS = {
    "f32": F32,
    "f16": F16,
    "i32": I32,
    "b8": T.TENSOR_BOOL8,
    "qu8": QU8,
    "qs8": QS8,
    "qsym8": T.TENSOR_QUANT8_SYMM,
    "qc8": QC8,
    "qu16": T.TENSOR_QUANT16_ASYMM,
    "qs16": T.TENSOR_QUANT16_SYMM,
}
"""Variant -> type of its tensors."""


def rows(columns: str, **since: int) -> dict[str, tuple[Any, ...]]:
    """A type table with a row for each variant, from its first feature level on.

    columns: of each, `T` (the tensor of the variant), `s` (a float scalar as precise as that), or
    the name of a type.
    """
    table = {}
    for variant, level in since.items():
        own = {"T": TENSORS[variant], "s": T.FLOAT16 if variant == "f16" else T.FLOAT32}
        kinds = [own[word] if word in own else T[word] for word in columns.split()]
        table[variant] = (level, *kinds)
    return table


ONE_TO_ONE = rows("T T", f32=1, f16=3, qu8=1, qs8=4)
"""One input, one output of the same type: activations, pooling."""

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


def movement(
    type: OperationType,
    *,
    columns: str = "input -> output",
    quantization: Quantization | None = None,
    **parts: Any,
) -> Operation:
    """An operation that copies stored values: it computes nothing and uses no scale.

    quantization: by default, the outputs have the parameters of `input`.
    """
    return Operation(
        type,
        columns=columns,
        quantization=quantization or same_as("input"),
        infinite_scales=True,
        work=0,
        **parts,
    )


def elementwise(
    type: OperationType, doc: str, types: Mapping[str, Sequence[Any]], **parts: Any
) -> Operation:
    """An operation whose output has the dimensions of its only input, `input`."""
    return Operation(
        type,
        doc=doc,
        columns="input -> output",
        types=types,
        forms=[form("input")],
        shape=lambda op: [op.input.dimensions],
        elementwise=True,
        **parts,
    )
