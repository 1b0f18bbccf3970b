"""Nodes whose inputs are constants or whose results follow from dimensions, computed by numpy."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.graph import Importing, constant_value
from nnapi_shim.formats.onnx.importing.moves import axes_of, axis_of, target_shape
from nnapi_shim.formats.onnx.importing.slicing import ranges_of
from nnapi_shim.formats.onnx.schema import DTYPES, TYPES
from nnapi_shim.formats.onnx.tensor import Constant

Fold = Callable[[Importing, Node, list[Array]], Array | None]
"""The output of a node with constant inputs; None if its lowering computes it."""

MOST = 1 << 20
"""The most elements of the result of arithmetic; larger ones are computed by the model."""


def _pair(function: Callable[[Array, Array], Any]) -> Fold:
    def fold(graph: Importing, node: Node, values: list[Array]) -> Array | None:
        if graph.opset < 7 and node.attributes.get("broadcast", 0):
            return None
        first, *others = values
        for other in others:
            size = math.prod(np.broadcast_shapes(first.shape, other.shape))
            if size > MOST:
                return None
            graph.room.take(16 * size, node.kind)
            first = function(first, other)
        return np.asarray(first)

    return fold


def _one(function: Callable[[Array], Any]) -> Fold:
    def fold(graph: Importing, node: Node, values: list[Array]) -> Array | None:
        if values[0].size > MOST:
            return None
        graph.room.take(16 * values[0].size, node.kind)
        return np.asarray(function(values[0])).astype(values[0].dtype, copy=False)

    return fold


def _divided(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    if not b.all():
        raise ValueError("division by 0")
    quotient = abs(a) // abs(b)
    return np.where((a < 0) != (b < 0), -quotient, quotient).astype(a.dtype)


def _modulo(graph: Importing, node: Node, values: list[Array]) -> Array:
    a, b = values
    if not b.all():
        raise ValueError("division by 0")
    return np.fmod(a, b) if node.attributes.get("fmod", 0) else np.mod(a, b)


def _cast(graph: Importing, node: Node, values: list[Array]) -> Array | None:
    return _converted(graph, values[0], TYPES.get(node.attributes.get("to", 0), "?"))


def _converted(graph: Importing, array: Any, name: str) -> Array:
    if name not in DTYPES or name in ("INT4", "UINT4"):
        raise reason(f"it casts to {name}, which is not read", "import.onnx.type")
    graph.room.take(array.size * np.dtype(DTYPES[name]).itemsize, "a cast")
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(array.astype(DTYPES[name]))


def _reshape(graph: Importing, node: Node, values: list[Array]) -> Array:
    sizes = list(node.attributes["shape"]) if len(values) < 2 else values[1].reshape(-1).tolist()
    shape = target_shape(values[0].shape, sizes, bool(node.attributes.get("allowzero", 0)))
    return reshaped(values[0], shape)


def reshaped(array: Array, shape: Sequence[int]) -> Array:
    """The array in another shape; equal elements stay one element in memory."""
    if array.size and not any(array.strides) and math.prod(shape) == array.size:
        return np.broadcast_to(array.reshape(-1)[:1].reshape(()), tuple(shape))
    return array.reshape(tuple(shape))


def _squeeze(graph: Importing, node: Node, values: list[Array]) -> Array:
    axes = axes_of(graph, node, 1, values[0].ndim)
    return np.squeeze(values[0], None if axes is None else tuple(axes))


def _unsqueeze(graph: Importing, node: Node, values: list[Array]) -> Array:
    axes = values[1].reshape(-1).tolist() if len(values) > 1 else node.attributes.get("axes", ())
    return np.expand_dims(values[0], tuple(axes))


def _concat(graph: Importing, node: Node, values: list[Array]) -> Array:
    graph.room.take(sum(value.nbytes for value in values), "a concatenation")
    return np.concatenate(values, axis_of(node, values[0].ndim, 1))


def _slice(graph: Importing, node: Node, values: list[Array]) -> Array:
    parts = []
    for first, count, step in ranges_of(graph, node, values[0].shape):
        end: int | None = first + count * step
        parts.append(slice(first, None if end is not None and end < 0 else end, step))
    return values[0][tuple(parts)]


def _gather(graph: Importing, node: Node, values: list[Array]) -> Array:
    data, index = values
    axis = axis_of(node, data.ndim)
    size = data.shape[axis]
    if ((index < -size) | (index >= size)).any():
        raise reason("an index is out of range", "import.onnx.gather.index")
    count = data.size // max(size, 1) * index.size
    graph.room.take(count * data.itemsize, "gathered elements")
    return np.take(data, index, axis)


def _expand(graph: Importing, node: Node, values: list[Array]) -> Array:
    shape = np.broadcast_shapes(values[0].shape, tuple(values[1].tolist()))
    return np.broadcast_to(values[0], shape)


def _tile(graph: Importing, node: Node, values: list[Array]) -> Array:
    repeats = values[1].tolist()
    graph.room.take(values[0].nbytes * math.prod(repeats), "tiles")
    return np.tile(values[0], repeats)


def _transpose(graph: Importing, node: Node, values: list[Array]) -> Array:
    return np.transpose(values[0], node.attributes.get("perm"))


def _range(graph: Importing, node: Node, values: list[Array]) -> Array:
    start, limit, step = (value.reshape(-1)[0] for value in values)
    count = max(math.ceil((float(limit) - float(start)) / float(step)), 0)
    graph.room.take(count * 8, "a range")
    steps = np.arange(count, dtype=values[0].dtype) * step
    return np.asarray(start + steps).astype(values[0].dtype)


def _where(graph: Importing, node: Node, values: list[Array]) -> Array:
    shape = np.broadcast_shapes(*(value.shape for value in values))
    graph.room.take(math.prod(shape) * values[1].itemsize, "a choice")
    return np.where(*values)


def _reduced(function: Callable[..., Any]) -> Fold:
    def fold(graph: Importing, node: Node, values: list[Array]) -> Array | None:
        axes = axes_of(graph, node, 1, values[0].ndim)
        if not axes and node.attributes.get("noop_with_empty_axes", 0):
            return None
        keep = bool(node.attributes.get("keepdims", 1))
        result = function(values[0], axis=tuple(axes) if axes else None, keepdims=keep)
        return np.asarray(result).astype(values[0].dtype)

    return fold


def _dequantized(graph: Importing, node: Node, values: list[Array]) -> Array | None:
    """DequantizeLinear: one scale, one for each index of an axis, or for each block of it."""
    x, scale = values[:2]
    zero = values[2] if len(values) > 2 else np.zeros((), x.dtype)
    graph.room.take(8 * x.size, "dequantized elements")
    if (scale.ndim and scale.size > 1) or scale.ndim > 1:
        axis = axis_of(node, x.ndim, 1)
        block = int(node.attributes.get("block_size", 0))
        if scale.ndim == 1 and not block:
            shape = [1] * x.ndim
            shape[axis] = scale.size
            scale = scale.reshape(shape)
            zero = zero.reshape(shape) if zero.ndim else zero
        elif block:
            cut = tuple(slice(n) for n in x.shape)
            scale = np.repeat(scale, block, axis)[cut]
            zero = np.repeat(zero, block, axis)[cut] if zero.ndim else zero
        else:
            raise reason(f"a scale of {scale.ndim} dimensions", "import.onnx.scale")
    moved = x.astype(np.int64) - zero.astype(np.int64)
    return (moved.astype(np.float32) * scale.astype(np.float32)).astype(scale.dtype)


def _constant_of_shape(graph: Importing, node: Node, values: list[Array]) -> Array:
    value = node.attributes.get("value")
    number = np.zeros((), np.float32)
    if isinstance(value, Constant):
        if value.array is None or value.array.size != 1:
            raise reason("its value is no number", "import.onnx.attribute")
        number = value.array.reshape(())
    shape = tuple(int(size) for size in values[0].reshape(-1))
    if len(shape) > 64 or any(size < 0 for size in shape) or math.prod(shape) >= 2**40:
        raise reason(f"shape {list(shape)[:8]}", "import.onnx.fill.shape")
    return np.broadcast_to(number, shape)


def _non_zero(graph: Importing, node: Node, values: list[Array]) -> Array:
    graph.room.take(8 * values[0].size * max(values[0].ndim, 1), "positions")
    return np.array(np.nonzero(np.atleast_1d(values[0])), np.int64)


def _cumulated(graph: Importing, node: Node, values: list[Array]) -> Array | None:
    if node.attributes.get("exclusive", 0) or node.attributes.get("reverse", 0):
        return None
    return np.cumsum(values[0], int(values[1].reshape(-1)[0]), dtype=values[0].dtype)


def _triangle(graph: Importing, node: Node, values: list[Array]) -> Array:
    k = int(values[1].reshape(-1)[0]) if len(values) > 1 else 0
    return np.triu(values[0], k) if node.attributes.get("upper", 1) else np.tril(values[0], k)


def _eye(graph: Importing, node: Node, values: list[Array]) -> Array:
    name = TYPES.get(node.attributes.get("dtype", 1), "?")
    rows, columns = values[0].shape
    graph.room.take(8 * rows * columns, "an identity")
    return np.eye(rows, columns, int(node.attributes.get("k", 0)), DTYPES.get(name, np.float32))


FOLDS: Mapping[str, Fold] = {
    "Abs": _one(np.abs),
    "Add": _pair(np.add),
    "And": _pair(np.logical_and),
    "Cast": _cast,
    "Ceil": _one(np.ceil),
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Cos": _one(np.cos),
    "CumSum": _cumulated,
    "DequantizeLinear": _dequantized,
    "Div": _pair(_divided),
    "Equal": _pair(np.equal),
    "Exp": _one(np.exp),
    "Expand": _expand,
    "Floor": _one(np.floor),
    "Gather": _gather,
    "Greater": _pair(np.greater),
    "GreaterOrEqual": _pair(np.greater_equal),
    "Identity": lambda graph, node, values: values[0],
    "Less": _pair(np.less),
    "LessOrEqual": _pair(np.less_equal),
    "Log": _one(np.log),
    "Max": _pair(np.maximum),
    "Min": _pair(np.minimum),
    "Mod": _modulo,
    "Mul": _pair(np.multiply),
    "Neg": _one(np.negative),
    "NonZero": _non_zero,
    "Not": _one(np.logical_not),
    "Or": _pair(np.logical_or),
    "Range": _range,
    "Reciprocal": _one(np.reciprocal),
    "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "Reshape": _reshape,
    "Sin": _one(np.sin),
    "Slice": _slice,
    "Sqrt": _one(np.sqrt),
    "Squeeze": _squeeze,
    "Sub": _pair(np.subtract),
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
"""Operator -> what numpy computes."""

WITHOUT_VALUES = {"EyeLike": _eye}
"""Operators of which only the dimensions of the input count."""


def folded(graph: Importing, node: Node) -> bool:
    """Whether the output of a node is known at import; it is then recorded."""
    if len(node.outputs) != 1 or not node.outputs[0]:
        return False
    name = node.outputs[0]
    if node.kind == "Constant":
        _constant(graph, node, name)
        return True
    if node.kind in ("Shape", "Size"):
        shape = graph.value(node.inputs[0]).shape
        if node.kind == "Size":
            graph.fold(name, np.array(math.prod(shape), np.int64))
        else:
            start = int(node.attributes.get("start", 0))
            end = node.attributes.get("end")
            graph.fold(name, np.array(shape[start:end], np.int64))
        return True
    if node.kind == "CastLike" and graph.value(node.inputs[0]).array is not None:
        array, target = graph.array(node.inputs[0]), graph.value(node.inputs[1]).type
        graph.fold(name, _converted(graph, array, target), target)
        return True
    if node.kind in WITHOUT_VALUES:
        shape = graph.value(node.inputs[0]).shape
        graph.fold(name, _eye(graph, node, [np.broadcast_to(np.float32(0), shape)]))
        return True
    fold = FOLDS.get(node.kind)
    if fold is None or not node.inputs or "" in node.inputs:
        return False
    values = [graph.value(item) for item in node.inputs]
    if any(item.array is None for item in values):
        return False
    with np.errstate(all="ignore"):
        result = fold(graph, node, [item.array for item in values if item.array is not None])
    if result is None:
        return False
    type = values[0].type if node.kind in ("Reshape", "Transpose", "Slice", "Identity") else None
    graph.fold(name, result, type)
    return True


def _constant(graph: Importing, node: Node, name: str) -> None:
    attributes = node.attributes
    value = attributes.get("value")
    if isinstance(value, Constant):
        graph.values[name] = graph.values.get(name) or constant_value(name, value)
        return
    for key, dtype in (
        ("value_float", np.float32),
        ("value_floats", np.float32),
        ("value_int", np.int64),
        ("value_ints", np.int64),
    ):
        if key in attributes:
            graph.fold(name, np.asarray(attributes[key], dtype))
            return
    raise reason("its value is no tensor of numbers", "import.onnx.constant.kind")
