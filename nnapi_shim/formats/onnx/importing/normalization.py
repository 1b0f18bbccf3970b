"""Normalizations."""

import math as maths
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.math import Math
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Lowering
from nnapi_shim.formats.onnx.importing.graph import MOST_RANK, Importing
from nnapi_shim.formats.onnx.importing.moves import axis_of
from nnapi_shim.formats.onnx.importing.value import FLOATS, Value


def _float_input(graph: Importing, node: Node) -> Value:
    item = graph.value(node.inputs[0])
    if item.type not in FLOATS or any(graph.value(n).type != item.type for n in node.inputs if n):
        raise reason(f"its inputs are {item.type} and others", "import.onnx.type")
    return item


def _by_channel(graph: Importing, name: str, rank: int, is_last: bool) -> Operand:
    """A tensor of one number for each channel, along the axis of channels."""
    (count,) = graph.value(name).shape
    operand = graph.operand(name)
    if is_last or rank == 2:
        return operand
    return graph.reshaped(operand, (count, *[1] * (rank - 2)))


def _epsilon(node: Node) -> float:
    return float(node.attributes.get("epsilon", 1e-5))


def _in_columns(graph: Importing, item: Value) -> Operand:
    """The input with all dimensions after the channels merged."""
    n, depth, *rest = item.shape
    return graph.reshaped(graph.elements(item.name), (n, depth, maths.prod(rest)))


def _batch(graph: Importing, node: Node) -> None:
    """BatchNormalization of inference: a product and a sum."""
    item = _float_input(graph, node)
    is_old = graph.opset < 7 and not node.attributes.get("is_test", 0)
    if node.attributes.get("training_mode", 0) or is_old:
        raise reason("it is in training mode", "import.onnx.training")
    graph.require_unread(node, 1, "results of training")
    if not node.attributes.get("spatial", 1):
        raise reason("spatial is 0", "import.onnx.attribute")
    if item.rank < 2:
        raise reason(f"its input has {item.rank} dimensions", "import.onnx.rank")
    epsilon = _epsilon(node)
    m = Math(graph)
    rank, is_last = min(item.rank, 3), item.rank == 4
    if item.rank > MOST_RANK:
        x = _in_columns(graph, item)
    else:
        x = graph.image(item.name) if is_last else graph.operand(item.name)
    arrays = [graph.array(name) for name in node.inputs[1:5]]
    if all(array is not None and array.ndim == 1 for array in arrays):
        constants = [np.asarray(a, np.float64) for a in arrays]
        scale = constants[0] / np.sqrt(constants[3] + epsilon)
        shape = (-1,) if is_last or rank == 2 else (-1, *[1] * (rank - 2))
        dtype = np.float32 if item.type == "FLOAT" else np.float16
        factor, offset = (
            v.astype(dtype).reshape(shape) for v in (scale, constants[1] - constants[2] * scale)
        )
        result = m.add(m.mul(x, factor), offset)
    else:
        gain, bias, mean, variance = (
            _by_channel(graph, name, rank, is_last) for name in node.inputs[1:5]
        )
        root = m.unary("SQRT", m.add(variance, epsilon))
        result = m.add(m.mul(m.div(m.sub(x, mean), root), gain), bias)
    graph.give(node, result, item.type, item.shape, is_last=is_last)


def _normalized(m: Math, x: Operand, axes: Sequence[int], epsilon: float) -> Operand:
    """(x - mean) / sqrt(variance + epsilon), as nnapi-cpu fuses it."""
    moved = m.sub(x, m.mean(x, axes))
    variance = m.mean(m.mul(moved, moved), axes)
    return m.div(moved, m.unary("SQRT", m.add(variance, epsilon)))


def _scaled(graph: Importing, node: Node, x: Operand, rank: int, is_last: bool) -> Operand:
    """The product with the scale of each channel, plus its offset."""
    m = Math(graph)
    gain, bias = (_by_channel(graph, name, rank, is_last) for name in node.inputs[1:3])
    return m.add(m.mul(x, gain), bias)


def _instance(graph: Importing, node: Node) -> None:
    item = _float_input(graph, node)
    m, epsilon = Math(graph), _epsilon(node)
    if item.rank == 4:
        x = _normalized(m, graph.image(item.name), [1, 2], epsilon)
        graph.give(node, _scaled(graph, node, x, 4, True), item.type, is_last=True)
        return
    x = _normalized(m, _in_columns(graph, item), [2], epsilon)
    graph.give_elements(node, _scaled(graph, node, x, 3, False), item.type, item.shape)


def _group(graph: Importing, node: Node) -> None:
    item = _float_input(graph, node)
    if int(node.attributes.get("stash_type", 1)) != 1:
        raise reason("stash_type is not float32", "import.onnx.attribute")
    groups = int(node.attributes.get("num_groups", 0))
    n, depth, *rest = item.shape
    if groups < 1 or depth % groups:
        raise reason(f"{groups} groups of {depth} channels", "import.onnx.conv.groups")
    size = maths.prod(rest)
    grouped = (n, groups, depth // groups * size)
    x = graph.reshaped(graph.elements(item.name), grouped)
    x = _normalized(Math(graph), x, [2], _epsilon(node))
    x = graph.reshaped(x, grouped if graph.opset < 21 else (n, depth, size))
    graph.give_elements(node, _scaled(graph, node, x, 3, False), item.type, item.shape)


def _row_input(graph: Importing, node: Node) -> tuple[Value, int, int]:
    """The input of a normalization of rows, their first axis, and their size."""
    item = _float_input(graph, node)
    if int(node.attributes.get("stash_type", 1)) != 1 or item.type != "FLOAT":
        raise reason("it computes in another type than its input's", "import.onnx.attribute")
    axis = axis_of(node, item.rank, -1)
    return item, axis, maths.prod(item.shape[axis:])


def _by_element(graph: Importing, name: str, size: int) -> Operand:
    """The scale or offset of each element of a row."""
    count = maths.prod(graph.value(name).shape)
    if count not in (1, size):
        raise reason("its scale has other dimensions", "import.onnx.scale")
    return graph.reshaped(graph.elements(name), (count,))


def _layer(graph: Importing, node: Node) -> None:
    item, axis, size = _row_input(graph, node)
    m, epsilon = Math(graph), _epsilon(node)
    is_whole = axis == item.rank - 1 and item.rank <= MOST_RANK
    shape = item.shape if is_whole else (maths.prod(item.shape[:axis]), size)
    x = graph.reshaped(graph.elements(item.name), shape)
    if any(node.outputs[1:]):
        lead = tuple(n if at < axis else 1 for at, n in enumerate(item.shape))
        _give_moments(graph, node, x, epsilon, lead)
    x = _normalized(m, x, [len(shape) - 1], epsilon)
    for kind, at in ((m.mul, 1), (m.add, 2)):
        if graph.has(node, at):
            x = kind(x, _by_element(graph, node.inputs[at], size))
    graph.give_elements(node, x, item.type, item.shape)


def _give_moments(
    graph: Importing, node: Node, x: Operand, epsilon: float, shape: tuple[int, ...]
) -> None:
    """The mean and the inverse deviation over the last axis."""
    m, last = Math(graph), [len(x.dimensions) - 1]
    mean = m.mean(x, last)
    moved = m.sub(x, mean)
    variance = m.mean(m.mul(moved, moved), last)
    inverse = m.div(1, m.unary("SQRT", m.add(variance, epsilon)))
    graph.give_elements(node, mean, "FLOAT", shape, at=1)
    graph.give_elements(node, inverse, "FLOAT", shape, at=2)


def _root_mean_square(graph: Importing, node: Node) -> None:
    item, axis, size = _row_input(graph, node)
    m = Math(graph)
    x = graph.reshaped(graph.elements(item.name), (maths.prod(item.shape[:axis]), size))
    root = m.unary("SQRT", m.add(m.mean(m.mul(x, x), [1]), _epsilon(node)))
    result = m.mul(m.div(x, root), _by_element(graph, node.inputs[1], size))
    graph.give_elements(node, result, item.type, item.shape)


def _local_response(graph: Importing, node: Node) -> None:
    """LRN of an odd size."""
    item = _float_input(graph, node)
    size = int(node.attributes.get("size", 0))
    if size < 1 or not size % 2:
        raise reason(f"its size is {size}; NNAPI has odd ones", "import.onnx.lrn.size")
    alpha, beta, bias = (
        float(node.attributes.get(name, default))
        for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    inputs: list[Any] = [graph.image(item.name), size // 2, bias, alpha / size, beta]
    result = graph.make("LOCAL_RESPONSE_NORMALIZATION", inputs)
    graph.give(node, result, item.type, is_last=True)


def _lp(graph: Importing, node: Node) -> None:
    item = _float_input(graph, node)
    axis = axis_of(node, item.rank, -1)
    m, x = Math(graph), graph.operand(item.name)
    p = int(node.attributes.get("p", 2))
    if p not in (1, 2):
        raise reason(f"p is {p}", "import.onnx.attribute")
    powers = m.mul(x, x) if p == 2 else m.unary("ABS", x)
    total = m.reduced("REDUCE_SUM", powers, [axis])
    length = m.unary("SQRT", total) if p == 2 else total
    # ONNX gives 0 for a vector of zeros.
    length = m.select(m.equal(length, 0), m.full(length, 1), length)
    graph.give(node, m.div(x, length), item.type, item.shape)


def _mean_variance(graph: Importing, node: Node) -> None:
    item = _float_input(graph, node)
    axes = [int(axis) % item.rank for axis in node.attributes.get("axes", (0, 2, 3))]
    m, x = Math(graph), graph.operand(item.name)
    mean = m.mean(x, axes)
    variance = m.sub(m.mean(m.mul(x, x), axes), m.mul(mean, mean))
    deviation = m.add(m.unary("SQRT", variance), 1e-9)
    graph.give(node, m.div(m.sub(x, mean), deviation), item.type, item.shape)


LOWERINGS: dict[str, Lowering] = {
    "BatchNormalization": _batch,
    "GroupNormalization": _group,
    "InstanceNormalization": _instance,
    "LRN": _local_response,
    "LayerNormalization": _layer,
    "LpNormalization": _lp,
    "MeanVarianceNormalization": _mean_variance,
    "RMSNormalization": _root_mean_square,
}
