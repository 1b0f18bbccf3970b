"""Reshapes, transpositions, shapes, fills and tiles."""

import math
from collections.abc import Sequence

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.operations import require_known
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.binary import common
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.hal.enums import OperandType as T


def reshape(graph: Importing, operator: Operator) -> None:
    """RESHAPE; the shape is an input, or an option in old files."""
    data = graph.operand(operator.inputs[0])
    index = operator.inputs[1] if len(operator.inputs) > 1 else None
    shape = operator.options.get("NewShape", ())
    if index is not None:
        value = graph.partial.get(index, graph.value(index))
        if value is None:
            graph.add("RESHAPE", [data, graph.operand(index)], operator)
            return
        if value.dtype.kind != "i":
            raise reason(f"its shape is of {value.dtype}", "import.tflite.not-integers")
        shape = value.reshape(-1).tolist()
    if not shape and "NewShape" not in operator.options and index is None:
        shape = graph.tensor(operator.outputs[0]).shape
    to_shape(graph, operator, data, shape)


def to_shape(graph: Importing, operator: Operator, data: Operand, shape: Sequence[int]) -> None:
    """Make an operand with these dimensions the output of an operator."""
    sizes = tuple(shape)
    if sizes.count(-1) > 1:
        raise reason(
            "more than one of its dimensions is unknown before a run",
            "import.tflite.dynamic-dimensions",
        )
    if sizes.count(0) and data.is_known and 0 not in data.dimensions:
        raise reason(
            f"it has no elements left in {list(sizes)}", "import.tflite.reshape.no-elements"
        )
    if (sizes or (1,)) == data.dimensions:
        graph.give(operator, graph.copy(data))
        return
    graph.give(operator, graph.reshaped(data, sizes))


def squeeze(graph: Importing, operator: Operator) -> None:
    """SQUEEZE; by the output shape if dimensions are known, as NNAPI squeezes no integers."""
    data = graph.operand(operator.inputs[0])
    axes = operator.options.get("SqueezeDims", ())
    if data.is_known:
        rank = len(data.dimensions)
        wrong = [axis for axis in axes if not -rank <= axis < rank]
        if wrong or any(data.dimensions[axis] != 1 for axis in axes):
            raise reason(
                f"axes {list(axes)} are not all 1 in {list(data.dimensions)}",
                "import.tflite.squeeze.axes",
            )
        dropped = {axis % rank for axis in axes} or {
            at for at, size in enumerate(data.dimensions) if size == 1
        }
        sizes = [size for at, size in enumerate(data.dimensions) if at not in dropped]
        to_shape(graph, operator, data, sizes)
        return
    axes_value = np.array(axes, np.int32) if axes else None
    graph.add("SQUEEZE", [data, axes_value], operator)


def expand_dims(graph: Importing, operator: Operator) -> None:
    """EXPAND_DIMS; a scalar has rank 1 in NNAPI already."""
    data = graph.operand(operator.inputs[0])
    (axis,) = graph.numbers(operator.inputs[1], "its axis")
    if graph.is_rank_0(operator.inputs[0]):
        if axis not in (0, -1):
            raise reason(f"axis {axis} of a scalar", "import.tflite.axis")
        graph.give(operator, graph.copy(data))
        return
    graph.add("EXPAND_DIMS", [data, axis], operator)


def _with_numbers(type: str) -> Lowering:
    """An operation whose other inputs are lists of integers, constant or computed."""

    def lower(graph: Importing, operator: Operator) -> None:
        data, *numbers = operator.inputs
        operands = [graph.operand(data), *map(graph.integers, numbers)]
        graph.add(type, operands, operator)

    return lower


def known_shape(graph: Importing, index: int | None) -> tuple[int, ...]:
    """The known dimensions of a tensor; () for a scalar."""
    operand = graph.operand(index)
    require_known(operand)
    return () if graph.is_rank_0(index) else operand.dimensions


def shape(graph: Importing, operator: Operator) -> None:
    """SHAPE; sizes that are unknown at import are -1, see `folding`."""
    source, target = operator.inputs[0], operator.outputs[0]
    operand = graph.operand(source)
    if not operand.is_known and operand.dimensions:
        graph.partial[target] = np.array([size or -1 for size in operand.dimensions], np.int64)
        return
    sizes = known_shape(graph, source)
    type = np.int32 if graph.tensor(target).type == "INT32" else np.int64
    graph.fold(target, np.array(sizes, type).reshape(len(sizes)))


def rank(graph: Importing, operator: Operator) -> None:
    """RANK; needs known dimensions."""
    sizes = known_shape(graph, operator.inputs[0])
    graph.fold(operator.outputs[0], np.array(len(sizes), np.int32))


def broadcast_to(graph: Importing, operator: Operator) -> None:
    """BROADCAST_TO known dimensions."""
    data = graph.operand(operator.inputs[0])
    sizes = graph.numbers(operator.inputs[1], "its shape")
    require_known(data)
    if data.dimensions == tuple(sizes):
        graph.give(operator, graph.copy(data))
        return
    _check_broadcast(data, sizes)
    graph.give(operator, graph.broadcast(data, sizes))


def _check_broadcast(data: Operand, sizes: list[int]) -> None:
    own = (1,) * (len(sizes) - len(data.dimensions)) + data.dimensions
    fits = len(own) == len(sizes) and all(a in (1, b) for a, b in zip(own, sizes, strict=True))
    if not fits or any(size < 1 for size in sizes):
        raise reason(
            f"{list(data.dimensions)} cannot be broadcast to {sizes}",
            "import.tflite.broadcast.dimensions",
        )


def broadcast_arguments(graph: Importing, operator: Operator) -> None:
    """BROADCAST_ARGS: the broadcast shape of two known shapes."""
    one, other = (graph.numbers(index, "a shape") for index in operator.inputs)
    try:
        sizes = np.broadcast_shapes(tuple(one), tuple(other))
    except ValueError:
        raise reason(
            f"{one} and {other} have no common shape", "import.tflite.broadcast.dimensions"
        ) from None
    graph.fold(operator.outputs[0], np.array(sizes, np.int64))


def fill(graph: Importing, operator: Operator) -> None:
    """FILL; the value may be computed."""
    sizes = graph.numbers(operator.inputs[0], "its shape")
    if any(size < 1 for size in sizes) or math.prod(sizes) >= 2**31:
        raise reason(
            f"a tensor of the dimensions {sizes} cannot be", "import.tflite.broadcast.too-large"
        )
    index = operator.inputs[1]
    value = graph.value(index)
    if value is not None and value.size == 1 and graph.tensor(index).type in ("FLOAT32", "INT32"):
        scalar = value.reshape(()).item()
        dims = np.array(sizes or (1,), np.int32)
        graph.add("FILL", [dims, scalar], operator)
        return
    data = graph.reshaped(graph.operand(index), [1] * max(1, len(sizes)))
    if data.dimensions == tuple(sizes or (1,)):
        data = graph.copy(data)
    graph.give(operator, graph.broadcast(data, sizes or [1]))


def zeros_like(graph: Importing, operator: Operator) -> None:
    """ZEROS_LIKE; a constant if the dimensions are known."""
    sizes = known_shape(graph, operator.inputs[0])
    type = graph.operand(operator.inputs[0]).type
    if type not in (T.TENSOR_FLOAT32, T.TENSOR_INT32):
        raise reason(f"its input is {type.name}", "import.tflite.zeros-like.type")
    zero = 0.0 if type is T.TENSOR_FLOAT32 else 0
    graph.add("FILL", [np.array(sizes or (1,), np.int32), zero], operator)


def range_(graph: Importing, operator: Operator) -> None:
    """RANGE of constants."""
    values = [graph.value(index) for index in operator.inputs]
    if len(values) != 3 or any(value is None for value in values):
        raise reason("its limits are no constants", "import.tflite.not-constant")
    start, limit, delta = (value.reshape(()).item() for value in values)  # type: ignore[union-attr]
    if not delta or not math.isfinite(start + limit + delta):
        raise reason(f"from {start} to {limit} by {delta}", "import.tflite.range.values")
    count = max(0, math.ceil((limit - start) / delta))
    dtype = values[0].dtype  # type: ignore[union-attr]
    steps = graph.room.counted(count, np.int64, "it")
    graph.fold(operator.outputs[0], (start + delta * steps).astype(dtype))


def one_hot(graph: Importing, operator: Operator) -> None:
    """ONE_HOT: compare the indices with 0, 1, .., depth - 1."""
    index, depth_index, on, off = operator.inputs
    sizes = known_shape(graph, index)
    (depth,) = graph.numbers(depth_index, "its depth")
    axis = int(operator.options.get("Axis", -1))
    axis = len(sizes) if axis == -1 else axis
    if not 0 <= axis <= len(sizes) or depth < 1:
        raise reason(f"axis {axis} of {list(sizes)}, depth {depth}", "import.tflite.one-hot.axis")
    own = [*sizes[:axis], 1, *sizes[axis:]]
    classes = graph.room.counted(depth, np.int32, "its depth")
    classes = classes.reshape([-1] + [1] * (len(sizes) - axis))
    data = graph.reshaped(graph.operand(index), own)
    is_on = graph.make("EQUAL", [data, classes])
    full = common(data, graph.model.constant(classes))
    values = [
        graph.broadcast(graph.reshaped(graph.operand(i), [1] * len(full)), full) for i in (on, off)
    ]
    graph.add("SELECT", [is_on, *values], operator)


def reverse(graph: Importing, operator: Operator) -> None:
    """REVERSE_V2: one REVERSE for each axis."""
    data = graph.operand(operator.inputs[0])
    axes = graph.numbers(operator.inputs[1], "its axis")
    rank = len(data.dimensions)
    for axis in axes:
        dimension = axis + rank if axis < 0 else axis
        data = graph.make("REVERSE", [data, np.array([dimension], np.int32)])
    graph.give(operator, data if axes else graph.copy(data))


LOWERINGS: dict[str, Lowering] = {
    "BROADCAST_ARGS": broadcast_arguments,
    "BROADCAST_TO": broadcast_to,
    "EXPAND_DIMS": expand_dims,
    "FILL": fill,
    "ONE_HOT": one_hot,
    "RANGE": range_,
    "RANK": rank,
    "RESHAPE": reshape,
    "REVERSE_V2": reverse,
    "SHAPE": shape,
    "SLICE": _with_numbers("SLICE"),
    "SQUEEZE": squeeze,
    "TILE": _with_numbers("TILE"),
    "TRANSPOSE": _with_numbers("TRANSPOSE"),
    "ZEROS_LIKE": zeros_like,
}
