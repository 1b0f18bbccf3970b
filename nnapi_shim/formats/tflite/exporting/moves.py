"""Operations that move elements: reshape, slice, pad, transpose, gather."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder, Rule
from nnapi_shim.formats.graph.expansion import images
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.formats.tflite.exporting.kinds import eight_bits, ints, one_kind
from nnapi_shim.hal.enums import OperandType as T


def _reshape(b: ExportBuilder, op: Node) -> None:
    shape = op.shape
    if isinstance(shape, tuple):
        b.emit(
            "RESHAPE",
            [op.input, ints(shape)],
            [op.output],
            table="ReshapeOptions",
            NewShape=tuple(shape),
        )
    else:
        b.emit("RESHAPE", [op.input, shape], [op.output])


def _squeeze(b: ExportBuilder, op: Node) -> None:
    axes = () if op.axes is None else op.axes
    if op.output.dimensions == (1,):  # all dimensions were removed: [] in TensorFlow Lite
        b.reshape(op.input, (1,), op.output)
        return
    b.emit("SQUEEZE", [op.input], [op.output], table="SqueezeOptions", SqueezeDims=tuple(axes))


def _expand_dims(b: ExportBuilder, op: Node) -> None:
    b.emit("EXPAND_DIMS", [op.input, ints(op.axis)], [op.output], table="ExpandDimsOptions")


def _concatenation(b: ExportBuilder, op: Node) -> None:
    b.emit("CONCATENATION", op.inputs, [op.output], table="ConcatenationOptions", Axis=op.axis)


def _pack(b: ExportBuilder, op: Node) -> None:
    b.emit(
        "PACK",
        op.inputs,
        [op.output],
        table="PackOptions",
        Axis=op.axis,
        ValuesCount=len(op.inputs),
    )


def _split(b: ExportBuilder, op: Node) -> None:
    b.emit(
        "SPLIT",
        [ints(op.axis), op.input],
        op.outputs,
        table="SplitOptions",
        NumSplits=op.num_splits,
    )


def _slice(b: ExportBuilder, op: Node) -> None:
    b.emit("SLICE", [op.input, ints(op.begin), ints(op.size)], [op.output], table="SliceOptions")


def _strided_slice(b: ExportBuilder, op: Node) -> None:
    """STRIDED_SLICE; with all dimensions removed NNAPI has [1], TensorFlow Lite []."""
    rank = op.input.rank
    if rank and op.shrink_axis_mask & ((1 << rank) - 1) == (1 << rank) - 1:
        single = op.output.like(())
        _strided(b, op, single)
        b.reshape(single, (1,), op.output)
    else:
        _strided(b, op, op.output)


def _strided(b: ExportBuilder, op: Node, out: Tensor) -> None:
    b.emit(
        "STRIDED_SLICE",
        [op.input, ints(op.begin), ints(op.end), ints(op.strides)],
        [out],
        table="StridedSliceOptions",
        BeginMask=op.begin_mask,
        EndMask=op.end_mask,
        ShrinkAxisMask=op.shrink_axis_mask,
    )


def _transpose(b: ExportBuilder, op: Node) -> None:
    perm = (1, 0) if op.perm is None else op.perm
    b.emit("TRANSPOSE", [op.input, ints(perm)], [op.output], table="TransposeOptions")


def _pairs(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values
    return constant(np.asarray(values, np.int32).reshape(-1, 2))


def _pad(b: ExportBuilder, op: Node) -> None:
    b.emit("PAD", [op.input, _pairs(op.paddings)], [op.output], table="PadOptions")


def _pad_v2(b: ExportBuilder, op: Node) -> None:
    """PADV2; the value has the type, scale and zero point of the input."""
    x = op.input
    value = Tensor(x.type, (), x.scale, x.zero_point)
    dtypes = {T.TENSOR_QUANT8_ASYMM: np.uint8, T.TENSOR_QUANT8_ASYMM_SIGNED: np.int8}
    if x.type in dtypes:
        value.value = np.asarray(int(op.pad_value) & 255, np.uint8).view(dtypes[x.type])
    else:
        value.value = np.asarray(op.pad_value, np.float32)
    b.emit("PADV2", [x, _pairs(op.paddings), value], [op.output], table="PadV2Options")


def _mirror_pad(b: ExportBuilder, op: Node) -> None:
    b.emit(
        "MIRROR_PAD",
        [op.input, _pairs(op.paddings)],
        [op.output],
        table="MirrorPadOptions",
        Mode=op.mode,
    )


def _gather(b: ExportBuilder, op: Node) -> None:
    b.emit("GATHER", [op.input, op.indices], [op.output], table="GatherOptions", Axis=op.axis)


def _embedding_lookup(b: ExportBuilder, op: Node) -> None:
    b.emit("GATHER", [op.values, op.lookups], [op.output], table="GatherOptions", Axis=0)


def _hashtable_lookup(b: ExportBuilder, op: Node) -> None:
    b.emit("HASHTABLE_LOOKUP", [op.lookups, op.keys, op.values], op.outputs)


def _block(kind: str, table: str) -> Rule:
    def lower(b: ExportBuilder, op: Node) -> None:
        b.emit(kind, [op.input], [op.output], table=table, BlockSize=op.block_size)

    return Rule(kind, lower, native=eight_bits)


def _batch_to_space(b: ExportBuilder, op: Node) -> None:
    crops = constant(np.zeros((2, 2), np.int32))
    b.emit(
        "BATCH_TO_SPACE_ND",
        [op.input, ints(op.block_shape), crops],
        [op.output],
        table="BatchToSpaceNDOptions",
    )


def _space_to_batch(b: ExportBuilder, op: Node) -> None:
    b.emit(
        "SPACE_TO_BATCH_ND",
        [op.input, ints(op.block_shape), _pairs(op.paddings)],
        [op.output],
        table="SpaceToBatchNDOptions",
    )


def _tile(b: ExportBuilder, op: Node) -> None:
    b.emit("TILE", [op.input, ints(op.multiples)], [op.output], table="TileOptions")


def _reverse(b: ExportBuilder, op: Node) -> None:
    b.emit("REVERSE_V2", [op.input, ints(op.axis)], [op.output], table="ReverseV2Options")


def _fill(b: ExportBuilder, op: Node) -> None:
    dtype = np.int32 if op.output.type is T.TENSOR_INT32 else np.float32
    value = constant(np.asarray(op.value, dtype))
    b.emit("FILL", [ints(op.dims), value], [op.output], table="FillOptions")


def _rank(b: ExportBuilder, op: Node) -> None:
    b.emit("RANK", [op.input], [op.rank], table="RankOptions")


def _select(b: ExportBuilder, op: Node) -> None:
    b.emit("SELECT_V2", [op.condition, op.input1, op.input2], [op.output], table="SelectV2Options")


RULES = {
    "RESHAPE": Rule("RESHAPE", _reshape, native=eight_bits, dynamic=("shape",)),
    "SQUEEZE": Rule("SQUEEZE", _squeeze, native=eight_bits),
    "EXPAND_DIMS": Rule("EXPAND_DIMS", _expand_dims, native=eight_bits),
    "CONCATENATION": Rule("CONCATENATION", _concatenation, native=one_kind("inputs", "output")),
    "PACK": Rule("PACK", _pack, native=one_kind("inputs", "output")),
    "SPLIT": Rule("SPLIT", _split, native=eight_bits),
    "SLICE": Rule("SLICE", _slice, native=one_kind("input", "output"), dynamic=("begin", "size")),
    "STRIDED_SLICE": Rule(
        "STRIDED_SLICE",
        _strided_slice,
        native=one_kind("input", "output"),
        dynamic=("begin", "end", "strides"),
    ),
    "TRANSPOSE": Rule("TRANSPOSE", _transpose, native=eight_bits, dynamic=("perm",)),
    "PAD": Rule("PAD", _pad, native=eight_bits, dynamic=("paddings",)),
    "PAD_V2": Rule("PADV2", _pad_v2, native=eight_bits, dynamic=("paddings",)),
    "MIRROR_PAD": Rule("MIRROR_PAD", _mirror_pad, native=eight_bits, dynamic=("paddings",)),
    "GATHER": Rule("GATHER", _gather, native=one_kind("input", "output")),
    "EMBEDDING_LOOKUP": Rule("GATHER", _embedding_lookup, native=eight_bits),
    "HASHTABLE_LOOKUP": Rule("HASHTABLE_LOOKUP", _hashtable_lookup, native=eight_bits),
    "DEPTH_TO_SPACE": _block("DEPTH_TO_SPACE", "DepthToSpaceOptions"),
    "SPACE_TO_DEPTH": _block("SPACE_TO_DEPTH", "SpaceToDepthOptions"),
    "BATCH_TO_SPACE_ND": Rule(
        "BATCH_TO_SPACE_ND", _batch_to_space, native=eight_bits, dynamic=("block_shape",)
    ),
    "SPACE_TO_BATCH_ND": Rule(
        "SPACE_TO_BATCH_ND", _space_to_batch, native=eight_bits, dynamic=("block_shape", "paddings")
    ),
    "CHANNEL_SHUFFLE": Rule(
        "RESHAPE, TRANSPOSE, RESHAPE", images.channel_shuffle, native=eight_bits
    ),
    "TILE": Rule("TILE", _tile, native=eight_bits, dynamic=("multiples",)),
    "REVERSE": Rule("REVERSE_V2", _reverse, native=eight_bits),
    "FILL": Rule("FILL", _fill, dynamic=("dims",)),
    "RANK": Rule("RANK", _rank, native=lambda node: True),
    "SELECT": Rule("SELECT_V2", _select, native=one_kind("input1", "input2", "output")),
}
