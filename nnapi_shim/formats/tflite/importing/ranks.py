"""Lowers operators on tensors of rank above 4, which most NNAPI operations do not take.

Such a tensor is stored as an operand of lower rank with the same elements in the same order. An
operator is lowered on merged dimensions: adjacent dimensions that it treats alike become one.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from nnapi_shim.formats.importing.merging import alike, runs
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.joining import axis_of
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.operations.shapes import broadcast

MOST = 4
"""The highest rank that all NNAPI operations take."""

Shape = tuple[int, ...]
Plan = Callable[[Importing, Operator, Lowering], None]

_NAMES = """ABS ADD CEIL COS DEQUANTIZE DIV ELU EXP FLOOR FLOOR_DIV FLOOR_MOD GELU HARD_SWISH
LEAKY_RELU LOG LOGISTIC MAXIMUM MINIMUM MUL NEG POW PRELU QUANTIZE RELU RELU6 RELU_0_TO_1
RELU_N1_TO_1 ROUND RSQRT SIN SQRT SQUARE SQUARED_DIFFERENCE SUB TANH"""
ELEMENTWISE = frozenset(_NAMES.split())


def lowered(graph: Importing, operator: Operator, lower: Lowering) -> bool:
    """Whether an operator has a tensor of rank above 4 and was lowered here."""
    plan = elementwise if operator.name in ELEMENTWISE else PLANS.get(operator.name)
    indexes = [i for i in (*operator.inputs, *operator.outputs) if i is not None]
    is_high = any(len(graph.tensor(index).shape) > MOST for index in indexes)
    # NNAPI does not reshape tensors of rank above 4, so model inputs keep their dimensions.
    if plan is None or not is_high or any(_is_direct(graph, i) for i in operator.inputs):
        return False
    if any(0 in _shape(graph, index) for index in operator.inputs if index is not None):
        raise reason(
            "the dimensions of its tensors of rank above 4 are unknown before a run",
            "import.tflite.dynamic-dimensions",
        )
    plan(graph, operator, lower)
    return True


def _is_direct(graph: Importing, index: int | None) -> bool:
    if index is None or index in graph.held or graph.value(index) is not None:
        return False
    return len(graph.operand(index).dimensions) > MOST


# Tensors with merged dimensions


def _shape(graph: Importing, index: int | None) -> Shape:
    """The dimensions of a tensor in the file."""
    value = graph.value(index)
    if value is not None:
        return value.shape
    if index in graph.held:
        return graph.held[index][1]
    return () if graph.is_rank_0(index) else graph.operand(index).dimensions


def _view(graph: Importing, index: int | None, shape: Shape) -> int:
    """A tensor with the elements of another one and other dimensions."""
    tensor, value = graph.tensor(index), graph.value(index)
    if value is not None:
        if tensor.is_per_channel:
            raise reason(
                f"{tensor} has scales per channel and rank {value.ndim}",
                "import.tflite.per-channel.rank",
            )
        added = graph.add_tensor(tensor._replace(shape=shape, dimensions=shape, value=None))
        graph.fold(added, value.reshape(shape))
        return added
    added = graph.add_tensor(tensor._replace(shape=shape, dimensions=shape, name=""))
    source = graph.held[index][0] if index in graph.held else graph.operand(index)
    graph.define(added, graph.reshaped(source, shape))
    return added


def _numbers(graph: Importing, index: int | None, numbers: Any) -> int:
    """A constant of the type of another one, with these numbers."""
    value = np.asarray(numbers, np.int32)
    tensor = graph.tensor(index)._replace(shape=value.shape, dimensions=value.shape, value=None)
    added = graph.add_tensor(tensor)
    graph.fold(added, value)
    return added


def _run(
    graph: Importing,
    operator: Operator,
    lower: Lowering,
    inputs: Sequence[int | None],
    outputs: Sequence[tuple[Shape, Shape]],
    **options: Any,
) -> None:
    """Lower an operator on these inputs. outputs: for each, the dimensions for the computation and
    the dimensions in the file.
    """
    outputs_added = []
    for index, (shape, _) in zip(operator.outputs, outputs, strict=True):
        tensor = graph.tensor(index)._replace(shape=shape, dimensions=shape, name="")
        outputs_added.append(graph.add_tensor(tensor))
    options = {**operator.options, **options}
    lower(
        graph,
        operator._replace(inputs=tuple(inputs), outputs=tuple(outputs_added), options=options),
    )
    for index, new, (_, shape) in zip(operator.outputs, outputs_added, outputs, strict=True):
        _hold(graph, index, graph.operand(new), shape)


def _hold(graph: Importing, index: int, operand: Any, shape: Shape) -> None:
    if len(shape) > MOST:
        graph.held[index] = operand, shape
    else:
        graph.define(index, graph.reshaped(operand, shape))


def _few(groups: Sequence[Any]) -> None:
    if len(groups) > MOST:
        raise reason(
            f"{len(groups)} of its dimensions cannot be merged", "import.tflite.high-rank.merge"
        )


def _groups(shape: Shape, special: Collection[int]) -> list[list[int]]:
    """Axes grouped for merging: each special axis alone, adjacent other axes together."""
    groups = alike(axis if axis in special else -1 for axis in range(len(shape)))
    for group in list(groups):
        if len(groups) > MOST and group[0] not in special and _size(shape, group) == 1:
            groups.remove(group)
    _few(groups)
    return groups


def _size(shape: Shape, group: Sequence[int]) -> int:
    return math.prod(shape[axis] for axis in group)


# Operators


def elementwise(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """Merge adjacent dimensions along which each input is either full or broadcast."""
    shapes = [_shape(graph, index) for index in operator.inputs]
    full = broadcast(*shapes)
    padded = [(1,) * (len(full) - len(shape)) + shape for shape in shapes]
    axes = [axis for axis, size in enumerate(full) if size != 1]
    kinds = (tuple(shape[axis] == 1 for shape in padded) for axis in axes)
    groups = [[axes[at] for at in group] for group in alike(kinds)]
    _few(groups)
    inputs = [
        _view(graph, index, tuple(_size(shape, group) for group in groups) or (1,))
        for index, shape in zip(operator.inputs, padded, strict=True)
    ]
    result_shape = tuple(_size(full, group) for group in groups) or (1,)
    _run(graph, operator, lower, inputs, [(result_shape, full)])


def _same(graph: Importing, operator: Operator, shape: Sequence[int]) -> None:
    """A reshape; one size may be -1."""
    index, (target,) = operator.inputs[0], operator.outputs
    before, sizes = _shape(graph, index), list(shape)
    if sizes.count(-1) == 1:
        left = math.prod(sizes) * -1
        sizes[sizes.index(-1)] = math.prod(before) // left if left > 0 else 0
    if math.prod(sizes) != math.prod(before) or min(sizes, default=1) < 1:
        raise reason(
            f"{list(before)} cannot have the dimensions {list(shape)}",
            "import.tflite.reshape.dimensions",
        )
    source = graph.held[index][0] if index in graph.held else graph.operand(index)
    if graph.operand_type(target) != (source.type, source.scale, source.zero_point):
        raise reason(
            "its output has another type or scale than its input", "import.tflite.scale-differs"
        )
    _hold(graph, target, source, tuple(sizes))


def reshape(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """RESHAPE; the shape is an input, or an option in old files."""
    shape = operator.options.get("NewShape", ())
    if len(operator.inputs) > 1:
        shape = graph.numbers(operator.inputs[1], "its shape")
    _same(graph, operator, shape)


def squeeze(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """SQUEEZE."""
    shape = _shape(graph, operator.inputs[0])
    axes = {axis_of(axis, len(shape)) for axis in operator.options.get("SqueezeDims", ())}
    axes = axes or {at for at, size in enumerate(shape) if size == 1}
    _same(graph, operator, [size for at, size in enumerate(shape) if at not in axes])


def expand_dims(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """EXPAND_DIMS."""
    shape = list(_shape(graph, operator.inputs[0]))
    (axis,) = graph.numbers(operator.inputs[1], "its axis")
    shape.insert(axis_of(axis, len(shape) + 1), 1)
    _same(graph, operator, shape)


def transpose(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """TRANSPOSE; size 1 is dropped, axes that stay adjacent are merged."""
    shape = _shape(graph, operator.inputs[0])
    perm = [axis_of(i, len(shape)) for i in graph.numbers(operator.inputs[1], "its order")]
    if sorted(perm) != list(range(len(shape))):
        raise reason(f"order {perm} of {len(shape)} dimensions", "import.tflite.transpose.perm")
    result = tuple(shape[axis] for axis in perm)
    kept = [axis for axis in range(len(shape)) if shape[axis] != 1]
    moved = runs([kept.index(axis) for axis in perm if shape[axis] != 1])
    _few(moved)
    if len(moved) < 2:
        _same(graph, operator, result)
        return
    before = sorted(moved)
    sizes = tuple(_size(tuple(shape[axis] for axis in kept), run) for run in before)
    order = [before.index(run) for run in moved]
    inputs = [_view(graph, operator.inputs[0], sizes), _numbers(graph, operator.inputs[1], order)]
    result_shape = tuple(sizes[at] for at in order)
    _run(graph, operator, lower, inputs, [(result_shape, result)])


def reduce(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """Reductions; adjacent axes that are all reduced or all kept are merged."""
    shape = _shape(graph, operator.inputs[0])
    numbers = graph.numbers(operator.inputs[1], "its axes")
    axes = {axis_of(axis, len(shape)) for axis in numbers}
    groups = alike(axis in axes for axis in range(len(shape)))
    _few(groups)
    sizes = tuple(_size(shape, group) for group in groups)
    positions = [at for at, group in enumerate(groups) if group[0] in axes]
    keep = bool(operator.options.get("KeepDims", False))
    full = tuple(1 if at in axes else n for at, n in enumerate(shape) if keep or at not in axes)
    result_shape = tuple(1 if at in positions else size for at, size in enumerate(sizes))
    inputs = [
        _view(graph, operator.inputs[0], sizes),
        _numbers(graph, operator.inputs[1], positions),
    ]
    _run(graph, operator, lower, inputs, [(result_shape, full)], KeepDims=True)


def along_last(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """Operators along the last axis; the other axes are merged into rows."""
    shape = _shape(graph, operator.inputs[0])
    rows = (math.prod(shape[:-1]), shape[-1])
    _run(graph, operator, lower, [_view(graph, operator.inputs[0], rows)], [(rows, shape)])


def concatenation(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """CONCATENATION; the dimensions before the axis are merged, and those after it."""
    shapes = [_shape(graph, index) for index in operator.inputs]
    axis = axis_of(int(operator.options.get("Axis", 0)), len(shapes[0]))
    views = [_around(shape, axis) for shape in shapes]
    inputs = [_view(graph, index, view) for index, view in zip(operator.inputs, views, strict=True)]
    total = sum(shape[axis] for shape in shapes)
    result_shape = (views[0][0], total, views[0][2])
    full = (*shapes[0][:axis], total, *shapes[0][axis + 1 :])
    _run(graph, operator, lower, inputs, [(result_shape, full)], Axis=1)


def _around(shape: Shape, axis: int) -> Shape:
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def fully_connected(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """FULLY_CONNECTED; the leading axes are merged into rows."""
    data, weights, *rest = operator.inputs
    shape = _shape(graph, data)
    units, size = graph.tensor(weights).shape
    rows = math.prod(shape) // size
    keeps = bool(operator.options.get("KeepNumDims", False))
    full = (*shape[:-1], units) if keeps else (rows, units)
    inputs = [_view(graph, data, (rows, size)), weights, *rest]
    _run(graph, operator, lower, inputs, [((rows, units), full)], KeepNumDims=False)


def batch_matmul(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """BATCH_MATMUL; equal batch dimensions are merged."""
    one, other = (_shape(graph, index) for index in operator.inputs)
    if one[:-2] != other[:-2]:
        raise reason(
            f"batches {list(one[:-2])} and {list(other[:-2])} of rank above 4",
            "import.tflite.batch-matmul.batch-rank",
        )
    lead, flags = math.prod(one[:-2]), operator.options
    rows = one[-1 if flags.get("AdjX", False) else -2]
    columns = other[-2 if flags.get("AdjY", False) else -1]
    inputs = [
        _view(graph, index, (lead, *shape[-2:]))
        for index, shape in zip(operator.inputs, (one, other), strict=True)
    ]
    result_shapes = (lead, rows, columns), (*one[:-2], rows, columns)
    _run(graph, operator, lower, inputs, [result_shapes])


def slices(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """SLICE; dimensions that are taken whole are merged."""
    data, *ranges = operator.inputs
    shape = _shape(graph, data)
    begin, size = (graph.numbers(index, "its range") for index in ranges)
    size = [n - b if s == -1 else s for n, b, s in zip(shape, begin, size, strict=True)]
    special = {at for at, n in enumerate(shape) if (begin[at], size[at]) != (0, n)}
    groups = _groups(shape, special)
    sizes = tuple(_size(shape, group) for group in groups)
    result_shape = tuple(_size(tuple(size), group) for group in groups)
    starts = [begin[group[0]] for group in groups]
    inputs = [_view(graph, data, sizes)]
    inputs += [_numbers(graph, i, v) for i, v in zip(ranges, (starts, result_shape), strict=True)]
    _run(graph, operator, lower, inputs, [(result_shape, tuple(size))])


def pads(graph: Importing, operator: Operator, lower: Lowering) -> None:
    """Padding; dimensions without padding are merged."""
    data, paddings, *rest = operator.inputs
    shape = _shape(graph, data)
    around = np.reshape(graph.numbers(paddings, "its paddings"), (-1, 2)).tolist()
    groups = _groups(shape, {at for at, pair in enumerate(around) if any(pair)})
    sizes = tuple(_size(shape, group) for group in groups)
    pairs = [around[group[0]] for group in groups]
    result_shape = tuple(n + sum(pair) for n, pair in zip(sizes, pairs, strict=True))
    full = tuple(n + sum(pair) for n, pair in zip(shape, around, strict=True))
    inputs = [_view(graph, data, sizes), _numbers(graph, paddings, pairs), *rest]
    _run(graph, operator, lower, inputs, [(result_shape, full)])


PLANS: dict[str, Plan] = {
    "BATCH_MATMUL": batch_matmul,
    "CONCATENATION": concatenation,
    "EXPAND_DIMS": expand_dims,
    "FULLY_CONNECTED": fully_connected,
    "L2_NORMALIZATION": along_last,
    "LOG_SOFTMAX": along_last,
    "MEAN": reduce,
    "PAD": pads,
    "PADV2": pads,
    "REDUCE_MAX": reduce,
    "REDUCE_MIN": reduce,
    "REDUCE_PROD": reduce,
    "RESHAPE": reshape,
    "SLICE": slices,
    "SOFTMAX": along_last,
    "SQUEEZE": squeeze,
    "SUM": reduce,
    "TRANSPOSE": transpose,
}
"""Lowerings of the operators that are not elementwise."""
