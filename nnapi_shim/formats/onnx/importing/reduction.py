"""Reductions, softmax, positions of extremes."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.math import Math
from nnapi_shim.formats.importing.merging import alike
from nnapi_shim.formats.importing.operations import NONE
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.graph import MOST_RANK, Importing
from nnapi_shim.formats.onnx.importing.moves import axes_of, axis_of, permuted
from nnapi_shim.formats.onnx.importing.value import BYTES, FLOATS, LAST

Reduce = Callable[[Math, Operand, Sequence[int]], Operand]
"""A reduction whose axes keep size 1."""


def _kept(kind: str) -> Reduce:
    return lambda m, x, axes: m.reduced(kind, x, axes)


_SUM, _MAX = _kept("REDUCE_SUM"), _kept("REDUCE_MAX")


def _squares(m: Math, x: Operand, axes: Sequence[int]) -> Operand:
    return _SUM(m, m.mul(x, x), axes)


def _log_sum_exp(m: Math, x: Operand, axes: Sequence[int]) -> Operand:
    """log(sum(e^x)), with the maximum taken out; one that is infinite stays in."""
    largest = m.max(m.min(_MAX(m, x, axes), 3e38), -3e38)
    if x.type.name.endswith("16"):
        largest = m.max(m.min(_MAX(m, x, axes), 65504), -65504)
    total = _SUM(m, m.unary("EXP", m.sub(x, largest)), axes)
    return m.add(m.unary("LOG", total), largest)


def _reduced(reduce: Reduce, *allowed: str) -> Lowering:
    def lower(graph: Importing, node: Node) -> None:
        item = graph.value(node.inputs[0])
        whole = _WHOLE.get(node.kind) if item.type == "INT32" else None
        if item.type not in (allowed or FLOATS) and whole is None:
            raise reason(f"its input is {item.type}", "import.onnx.type")
        axes = axes_of(graph, node, 1, item.rank)
        if not axes and node.attributes.get("noop_with_empty_axes", 0):
            if node.kind not in _NOOP:
                raise reason("it has no axes", "import.onnx.reduce.axes")
            graph.alias(node, node.inputs[0])
            return
        axes = axes or list(range(item.rank))
        keep = bool(node.attributes.get("keepdims", 1))
        shape = tuple(
            1 if a in axes else n for a, n in enumerate(item.shape) if keep or a not in axes
        )
        if item.rank == 0:
            axes = [0]
        m = Math(graph)
        if whole is not None:
            result = _chained(graph, whole, *_merged(graph, node.inputs[0], axes))
        elif item.is_last:
            result = reduce(m, graph.image(node.inputs[0]), [LAST.index(a) for a in axes])
            if keep:
                graph.give(node, result, item.type, shape, is_last=True)
                return
            result = graph.moved(result, (0, 3, 1, 2))
        elif item.rank > MOST_RANK:
            result = reduce(m, *_merged(graph, node.inputs[0], axes))
        else:
            result = reduce(m, graph.operand(node.inputs[0]), axes)
        graph.give_elements(node, result, item.type, shape)

    return lower


_WHOLE = {"ReduceMax": "MAXIMUM", "ReduceMin": "MINIMUM", "ReduceSum": "ADD", "ReduceProd": "MUL"}
"""Reduction -> what it chains for TENSOR_INT32, which NNAPI does not reduce."""

MOST_PARTS = 256
"""The most parts of a tensor that are joined one by one."""


def _chained(graph: Importing, kind: str, x: Operand, axes: Sequence[int]) -> Operand:
    for axis in axes:
        size = x.dimensions[axis]
        if size > MOST_PARTS:
            raise reason(f"it reduces {size} of INT32", "import.onnx.reduce.size")
        if size == 1:
            continue
        first, *others = graph.several("SPLIT", [x, axis, size], output_count=size)
        fused = [NONE] if kind in ("ADD", "MUL") else []
        for other in others:
            first = graph.make(kind, [first, other, *fused])
        x = first
    return x


_NOOP = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd")


def _merged(graph: Importing, name: str, axes: Sequence[int]) -> tuple[Operand, list[int]]:
    """The operand with neighbouring axes merged that are reduced alike, and its axes."""
    shape = graph.value(name).shape
    groups = alike(axis in axes for axis in range(len(shape)))
    if len(groups) > MOST_RANK:
        raise reason(f"its input has {len(shape)} dimensions", "import.onnx.rank")
    sizes = [math.prod(shape[axis] for axis in group) for group in groups]
    operand = graph.reshaped(graph.elements(name), sizes)
    return operand, [at for at, group in enumerate(groups) if group[0] in axes]


def _softmax(kind: str) -> Lowering:
    """Softmax; before opset 13 over all dimensions from the axis on."""

    def lower(graph: Importing, node: Node) -> None:
        item = graph.typed(node, *FLOATS)
        name = node.inputs[0]
        old = graph.opset < 13
        axis = axis_of(node, item.rank, 1 if old else -1)
        if old or item.rank > MOST_RANK or not item.rank:
            pre, size = math.prod(item.shape[:axis]), math.prod(item.shape[axis:])
            if not old:
                size = item.shape[axis] if item.rank else 1
            post = math.prod(item.shape) // max(pre * size, 1)
            x = graph.reshaped(graph.elements(name), (pre, size, post))
            result = graph.make(kind, [x, 1.0, 1])
            graph.give_elements(node, result, item.type, item.shape)
            return
        x, at, is_last = graph.along(name, axis)
        result = graph.make(kind, [x, 1.0, at])
        graph.give(node, result, item.type, item.shape, is_last=is_last)

    return lower


def _argument(kind: str) -> Lowering:
    """ArgMax and ArgMin; of equal elements the first, or the last on request."""

    def lower(graph: Importing, node: Node) -> None:
        item = graph.typed(node, *FLOATS, "INT32", "INT64", *BYTES)
        axis = axis_of(node, item.rank)
        operand = graph.operand(node.inputs[0])
        is_last = bool(node.attributes.get("select_last_index", 0))
        if is_last:
            operand = graph.make("REVERSE", [operand, np.array([axis], np.int32)])
        result = graph.make(kind, [operand, axis])
        if is_last:
            top = np.full(1, item.shape[axis] - 1, np.int32)
            result = graph.make("SUB", [top, result, NONE])
        keep = bool(node.attributes.get("keepdims", 1))
        shape = tuple(1 if a == axis else n for a, n in enumerate(item.shape) if keep or a != axis)
        graph.give(node, graph.reshaped(result, shape), "INT64", shape)

    return lower


def _top_k(graph: Importing, node: Node) -> None:
    """TopK. NNAPI puts the later of equal elements first, ONNX the earlier: the row is reversed."""
    item = graph.typed(node, *FLOATS, "INT32", "INT64")
    axis = axis_of(node, item.rank, -1)
    if graph.has(node, 1):
        (k,) = graph.numbers(node.inputs[1], "k")
    else:
        k = int(node.attributes.get("k", 0))
    size = item.shape[axis]
    if not 1 <= k <= size:
        raise reason(f"k is {k} of {size}", "import.onnx.top-k")
    last = item.rank - 1
    perm = tuple(a for a in range(item.rank) if a != axis) + (axis,)
    back = tuple(perm.index(a) for a in range(item.rank))
    operand = graph.moved(graph.operand(node.inputs[0]), perm)
    is_smallest = not node.attributes.get("largest", 1)
    if is_smallest:
        operand = graph.make("NEG", [operand])
    operand = graph.make("REVERSE", [operand, np.array([last], np.int32)])
    values, indices = graph.several("TOPK_V2", [operand, k])
    if is_smallest:
        values = graph.make("NEG", [values])
    indices = graph.make("SUB", [np.full(1, size - 1, np.int32), indices, NONE])
    if axis != last and len([n for n in values.dimensions if n != 1]) > 1:
        values, indices = (permuted(graph, item, back) for item in (values, indices))
    else:
        values, indices = (graph.moved(item, back) for item in (values, indices))
    graph.give(node, values, item.type)
    graph.give(node, indices, "INT64", at=1)


LOWERINGS: dict[str, Lowering] = {
    "ArgMax": _argument("ARGMAX"),
    "ArgMin": _argument("ARGMIN"),
    "LogSoftmax": _softmax("LOG_SOFTMAX"),
    "ReduceL1": _reduced(lambda m, x, axes: _SUM(m, m.unary("ABS", x), axes)),
    "ReduceL2": _reduced(lambda m, x, axes: m.unary("SQRT", _squares(m, x, axes))),
    "ReduceLogSum": _reduced(lambda m, x, axes: m.unary("LOG", _SUM(m, x, axes))),
    "ReduceLogSumExp": _reduced(_log_sum_exp),
    "ReduceMax": _reduced(_MAX, *FLOATS, *BYTES),
    "ReduceMean": _reduced(lambda m, x, axes: m.mean(x, axes)),
    "ReduceMin": _reduced(_kept("REDUCE_MIN"), *FLOATS, *BYTES),
    "ReduceProd": _reduced(_kept("REDUCE_PROD")),
    "ReduceSum": _reduced(_SUM),
    "ReduceSumSquare": _reduced(_squares),
    "Softmax": _softmax("SOFTMAX"),
    "TopK": _top_k,
}
