"""Operations that move elements: reshape, slice, pad, transpose, gather."""

from typing import Any

import numpy as np

from nnapi_shim.api.arrays import DTYPES
from nnapi_shim.formats.graph.expansion import images
from nnapi_shim.formats.graph.rule import Rule, anything, known, pad_value, row, same_parameters
from nnapi_shim.formats.graph.tensor import Node, Tensor
from nnapi_shim.formats.onnx.exporting.constants import longs, raw
from nnapi_shim.formats.onnx.exporting.types import INT64, code
from nnapi_shim.hal.enums import OperandType as T

LARGEST = 2**31 - 1


def _reshape(b: Any, op: Node) -> None:
    b.emit(
        "Reshape",
        [op.input, b.integers(op.shape)],
        [op.output],
        allowzero=int(isinstance(op.shape, tuple) and 0 in op.shape and -1 not in op.shape),
    )


def _squeeze(b: Any, op: Node) -> None:
    axes = [] if op.axes is None else [longs(sorted({axis % op.input.rank for axis in op.axes}))]
    if op.output.dimensions == (1,):  # all dimensions were removed: [] in ONNX
        b.reshape(op.input, (1,), op.output)
        return
    b.emit("Squeeze", [op.input, *axes], [op.output])


def _expand_dims(b: Any, op: Node) -> None:
    b.emit("Unsqueeze", [op.input, longs([op.axis])], [op.output])


def _pack(b: Any, op: Node) -> None:
    parts = [b.node("Unsqueeze", [x, longs([op.axis])], sizes=()) for x in op.inputs]
    b.emit("Concat", parts, [op.output], axis=op.axis)


def _slice(b: Any, op: Node) -> None:
    axes = range(op.input.rank)
    begin, size = op.begin, op.size
    if isinstance(begin, tuple) and isinstance(size, tuple):
        pairs = zip(begin, size, strict=True)
        ends = longs([LARGEST if n == -1 else start + n for start, n in pairs])
        starts = longs(begin)
    else:
        starts, counts = b.integers(begin), b.integers(size)
        sums = b.node("Add", [starts, counts], like=starts)
        rest = b.node("Less", [counts, longs(0)], like=counts, type=T.TENSOR_BOOL8)
        ends = b.node("Where", [rest, longs(LARGEST), sums], like=starts)
    b.emit("Slice", [op.input, starts, ends, longs(list(axes))], [op.output])


def _strided_slice(b: Any, op: Node) -> None:
    """Slice with the masks resolved into bounds, then Squeeze of the shrunk axes."""
    starts, ends, steps, gone = [], [], [], []
    for axis, (begin, end, step) in enumerate(zip(op.begin, op.end, op.strides, strict=True)):
        bit = 1 << axis
        if op.shrink_axis_mask & bit:
            begin = (0 if step > 0 else -1) if op.begin_mask & bit else begin
            starts.append(begin)
            ends.append(LARGEST if begin == -1 else begin + 1)
            steps.append(1)
            gone.append(axis)
            continue
        starts.append((0 if step > 0 else LARGEST) if op.begin_mask & bit else begin)
        ends.append((LARGEST if step > 0 else -LARGEST) if op.end_mask & bit else end)
        steps.append(step)
    axes = longs(list(range(len(starts))))
    result = Tensor(op.input.type, ()) if gone else op.output
    b.emit("Slice", [op.input, longs(starts), longs(ends), axes, longs(steps)], [result])
    if len(gone) == len(starts):
        b.emit("Reshape", [result, longs([1])], [op.output])
    elif gone:
        b.emit("Squeeze", [result, longs(gone)], [op.output])


def _transpose(b: Any, op: Node) -> None:
    perm = (1, 0) if op.perm is None else op.perm
    b.emit("Transpose", [op.input], [op.output], perm=list(perm))


def _pads(b: Any, paddings: Any) -> Tensor:
    """All begin paddings, then all end paddings."""
    if isinstance(paddings, tuple):
        return longs(np.asarray(paddings).reshape(-1, 2).T.ravel())
    moved = b.node("Transpose", [b.integers(paddings)], sizes=(), perm=[1, 0])
    return b.node("Reshape", [moved, longs([-1])], sizes=())  # type: ignore[no-any-return]


def _pad(b: Any, op: Node) -> None:
    b.emit("Pad", [op.input, _pads(b, op.paddings)], [op.output], mode="constant")


def _pad_v2(b: Any, op: Node) -> None:
    inputs = [op.input, _pads(b, op.paddings), raw(pad_value(op), op.input.type)]
    b.emit("Pad", inputs, [op.output], mode="constant")


def _mirror_pad(b: Any, op: Node) -> None:
    """Gather with mirrored indices along each axis: ONNX's Pad has no SYMMETRIC mode."""
    sizes = list(known(op.input, "input"))
    x = op.input
    pairs = np.asarray(op.paddings).reshape(-1, 2)
    axes = [axis for axis, pair in enumerate(pairs) if pair.any()]
    for axis in axes:
        mode: Any = "symmetric" if op.mode else "reflect"
        where = longs(np.pad(np.arange(sizes[axis]), pairs[axis], mode))
        sizes[axis] += int(pairs[axis].sum())
        out = op.output if axis == axes[-1] else x.like(tuple(sizes))
        b.emit("Gather", [x, where], [out], axis=axis)
        x = out
    if not axes:
        b.emit("Identity", [x], [op.output])


def _hashtable_lookup(b: Any, op: Node) -> None:
    """The first key equal to each lookup; zeros if there is none."""
    columns = b.node("Unsqueeze", [op.lookups, longs([1])], sizes=())
    same = b.node("Equal", [columns, op.keys], sizes=(), type=T.TENSOR_BOOL8)
    numbers = b.node("Cast", [same], sizes=(), type=T.TENSOR_INT32, to=code(T.TENSOR_INT32))
    hits = b.node("ReduceMax", [numbers, longs([1])], sizes=(), type=T.TENSOR_INT32, keepdims=0)
    where = b.node("ArgMax", [numbers], sizes=(), type=INT64, axis=1, keepdims=0)
    rows = b.node("Gather", [op.values, where], sizes=(), axis=0)
    shape = longs([-1] + [1] * (op.values.rank - 1))
    is_hit_row = b.node("Reshape", [hits, shape], sizes=())
    is_hit = b.node("Cast", [is_hit_row], sizes=(), type=T.TENSOR_BOOL8, to=code(T.TENSOR_BOOL8))
    zero = raw(np.zeros((), DTYPES[op.values.type]), op.values.type)
    b.emit("Where", [is_hit, rows, zero], [op.output])
    b.emit("Cast", [hits], [op.hits], to=code(op.hits.type))


def _reverse(b: Any, op: Node) -> None:
    axes = [axis % op.input.rank for axis in op.axis]
    count = len(axes)
    if not axes:
        b.emit("Identity", [op.input], [op.output])
        return
    listed = [longs([-1] * count), longs([-LARGEST] * count), longs(axes), longs([-1] * count)]
    b.emit("Slice", [op.input, *listed], [op.output])


def _fill(b: Any, op: Node) -> None:
    value = raw(np.asarray(op.value, DTYPES[op.output.type]), op.output.type)
    b.emit("Expand", [value, b.integers(op.dims)], [op.output])


def _rank(b: Any, op: Node) -> None:
    shape = b.node("Shape", [op.input], sizes=(1,), type=INT64)
    count = b.node("Size", [shape], sizes=(), type=INT64)
    b.emit("Cast", [count], [op.rank], to=code(T.INT32))


JOINED, MOVED = same_parameters("inputs", "output"), same_parameters("input", "output")
CHOSEN = same_parameters("input1", "input2", "output")

RULES = {
    "RESHAPE": Rule("Reshape", _reshape, native=anything, dynamic=("shape",)),
    "SQUEEZE": Rule("Squeeze", _squeeze, native=anything),
    "EXPAND_DIMS": Rule("Unsqueeze", _expand_dims, native=anything),
    "CONCATENATION": row("Concat", "inputs", native=JOINED, axis="axis"),
    "PACK": Rule("Unsqueeze, Concat", _pack, native=JOINED),
    "SPLIT": row("Split", "input", native=anything, axis="axis", num_outputs="num_splits"),
    "SLICE": Rule("Slice", _slice, native=MOVED, dynamic=("begin", "size")),
    "STRIDED_SLICE": Rule("Slice; Squeeze", _strided_slice, native=MOVED),
    "TRANSPOSE": Rule("Transpose", _transpose, native=anything),
    "PAD": Rule("Pad", _pad, dynamic=("paddings",)),
    "PAD_V2": Rule("Pad", _pad_v2, native=anything, dynamic=("paddings",)),
    "MIRROR_PAD": Rule("Gather along each axis", _mirror_pad, native=anything),
    "GATHER": row("Gather", "input", "indices", native=MOVED, axis="axis"),
    "EMBEDDING_LOOKUP": row("Gather", "values", "lookups", native=anything, axis=0),
    "HASHTABLE_LOOKUP": Rule("Equal, ArgMax, Gather, Where", _hashtable_lookup, native=anything),
    "DEPTH_TO_SPACE": Rule("Reshape, Transpose, Reshape", images.depth_to_space, native=anything),
    "SPACE_TO_DEPTH": Rule("Reshape, Transpose, Reshape", images.space_to_depth, native=anything),
    "BATCH_TO_SPACE_ND": Rule(
        "Reshape, Transpose, Reshape", images.batch_to_space, native=anything
    ),
    "SPACE_TO_BATCH_ND": Rule(
        "Pad, Reshape, Transpose, Reshape", images.space_to_batch, native=anything
    ),
    "CHANNEL_SHUFFLE": Rule("Reshape, Transpose, Reshape", images.channel_shuffle, native=anything),
    "TILE": row("Tile", "input", "multiples", native=anything, dynamic=("multiples",)),
    "REVERSE": Rule("Slice", _reverse, native=anything),
    "FILL": Rule("Expand", _fill, dynamic=("dims",)),
    "RANK": Rule("Shape, Size, Cast", _rank, native=anything),
    "SELECT": row("Where", "condition", "input1", "input2", native=CHOSEN),
}
