"""Operations that move elements: reshape, slice, pad, transpose, gather."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.expansion import images
from nnapi_shim.formats.graph.rule import Rule, anything, pad_value, row
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.formats.tflite.exporting.kinds import eight_bits, ints, one_kind
from nnapi_shim.hal.enums import OperandType as T


def _reshape(b: ExportBuilder, op: Node) -> None:
    options = {"NewShape": op.shape} if isinstance(op.shape, tuple) else {}
    b.emit("RESHAPE", [op.input, ints(op.shape)], [op.output], **options)


def _squeeze(b: ExportBuilder, op: Node) -> None:
    axes = () if op.axes is None else op.axes
    if op.output.dimensions == (1,):  # all dimensions were removed: [] in TensorFlow Lite
        b.reshape(op.input, (1,), op.output)
        return
    b.emit("SQUEEZE", [op.input], [op.output], SqueezeDims=tuple(axes))


def _pack(b: ExportBuilder, op: Node) -> None:
    b.emit("PACK", op.inputs, [op.output], Axis=op.axis, ValuesCount=len(op.inputs))


def _strided_slice(b: ExportBuilder, op: Node) -> None:
    """STRIDED_SLICE; with all dimensions removed NNAPI has [1], TensorFlow Lite []."""
    rank = op.input.rank
    is_single = rank and op.shrink_axis_mask & ((1 << rank) - 1) == (1 << rank) - 1
    result = op.output.like(()) if is_single else op.output
    b.emit(
        "STRIDED_SLICE",
        [op.input, ints(op.begin), ints(op.end), ints(op.strides)],
        [result],
        BeginMask=op.begin_mask,
        EndMask=op.end_mask,
        ShrinkAxisMask=op.shrink_axis_mask,
    )
    if is_single:
        b.reshape(result, (1,), op.output)


def _perm(op: Node) -> Tensor:
    return ints((1, 0) if op.perm is None else op.perm)


def _pairs(op: Node) -> Tensor:
    if isinstance(op.paddings, Tensor):
        return op.paddings
    return constant(np.asarray(op.paddings, np.int32).reshape(-1, 2))


def _value(op: Node) -> Tensor:
    """The value of PADV2, of the type, scale and zero point of the input."""
    x = op.input
    return Tensor(x.type, (), x.scale, x.zero_point, value=pad_value(op))


def _no_crops(op: Node) -> Tensor:
    return constant(np.zeros((2, 2), np.int32))


def _number(op: Node) -> Tensor:
    dtype: Any = np.int32 if op.output.type is T.TENSOR_INT32 else np.float32
    return constant(np.asarray(op.value, dtype))


JOINED, MOVED = one_kind("inputs", "output"), one_kind("input", "output")
CHOSEN = one_kind("input1", "input2", "output")
PADDED: dict[str, Any] = {"native": eight_bits, "dynamic": ("paddings",)}

RULES = {
    "RESHAPE": Rule("RESHAPE", _reshape, native=eight_bits, dynamic=("shape",)),
    "SQUEEZE": Rule("SQUEEZE", _squeeze, native=eight_bits),
    "EXPAND_DIMS": row("EXPAND_DIMS", "input", "axis", native=eight_bits),
    "CONCATENATION": row("CONCATENATION", "inputs", native=JOINED, Axis="axis"),
    "PACK": Rule("PACK", _pack, native=JOINED),
    "SPLIT": row("SPLIT", "axis", "input", native=eight_bits, NumSplits="num_splits"),
    "SLICE": row("SLICE", "input", "begin", "size", native=MOVED, dynamic=("begin", "size")),
    "STRIDED_SLICE": Rule(
        "STRIDED_SLICE", _strided_slice, native=MOVED, dynamic=("begin", "end", "strides")
    ),
    "TRANSPOSE": row("TRANSPOSE", "input", _perm, native=eight_bits, dynamic=("perm",)),
    "PAD": row("PAD", "input", _pairs, **PADDED),
    "PAD_V2": row("PADV2", "input", _pairs, _value, **PADDED),
    "MIRROR_PAD": row("MIRROR_PAD", "input", _pairs, **PADDED, Mode="mode"),
    "GATHER": row("GATHER", "input", "indices", native=MOVED, Axis="axis"),
    "EMBEDDING_LOOKUP": row("GATHER", "values", "lookups", native=eight_bits, Axis=0),
    "HASHTABLE_LOOKUP": row("HASHTABLE_LOOKUP", "lookups", "keys", "values", native=eight_bits),
    "DEPTH_TO_SPACE": row("DEPTH_TO_SPACE", "input", native=eight_bits, BlockSize="block_size"),
    "SPACE_TO_DEPTH": row("SPACE_TO_DEPTH", "input", native=eight_bits, BlockSize="block_size"),
    "BATCH_TO_SPACE_ND": row(
        *("BATCH_TO_SPACE_ND", "input", "block_shape", _no_crops),
        native=eight_bits,
        dynamic=("block_shape",),
    ),
    "SPACE_TO_BATCH_ND": row(
        *("SPACE_TO_BATCH_ND", "input", "block_shape", _pairs),
        native=eight_bits,
        dynamic=("block_shape", "paddings"),
    ),
    "CHANNEL_SHUFFLE": Rule(
        "RESHAPE, TRANSPOSE, RESHAPE", images.channel_shuffle, native=eight_bits
    ),
    "TILE": row("TILE", "input", "multiples", native=eight_bits, dynamic=("multiples",)),
    "REVERSE": row("REVERSE_V2", "input", "axis", native=eight_bits),
    "FILL": row("FILL", "dims", _number, dynamic=("dims",)),
    "RANK": row("RANK", "input", native=anything),
    "SELECT": row("SELECT_V2", "condition", "input1", "input2", native=CHOSEN),
}
