"""Nodes that NNAPI computes as one operation: convolutions with their normalization, and float
operators between DequantizeLinear and QuantizeLinear.
"""

from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.importing.operations import NONE
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing import quantized
from nnapi_shim.formats.onnx.importing.elementwise import Aligned
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.value import BYTES

LOWEST = {"UINT8": 0, "INT8": -128}


class Quantized(NamedTuple):
    """The names of bytes, scale and zero point of a dequantized value."""

    bytes: str
    scale: str
    zero: str


def deferred(graph: Importing, node: Node) -> bool:
    """Note a DequantizeLinear, which is lowered where its result is read as floats."""
    if node.kind != "DequantizeLinear" or node.attributes.get("block_size", 0):
        return False
    inputs = [*node.inputs, ""][:3]
    graph.quantized[node.outputs[0]] = Quantized(*inputs)
    if graph.value(node.inputs[0]).array is None and not graph.is_output(node.outputs[0]):
        graph.deferred[node.outputs[0]] = node
        return True
    return False


def fused(graph: Importing, node: Node) -> bool:
    """Whether a node was lowered together with those behind it."""
    if node.kind == "Conv":
        return _quantized_product(graph, node) or _normalized(graph, node)
    if node.kind in ("MatMul", "Gemm"):
        return _quantized_product(graph, node)
    if node.kind in ("Add", "Mul"):
        return _quantized_pair(graph, node)
    return False


def _normalized(graph: Importing, node: Node) -> bool:
    """Conv and BatchNormalization as a convolution with other weights."""
    behind = graph.only_reader(node.outputs[0])
    if behind is None or behind.kind != "BatchNormalization" or behind.inputs[0] != node.outputs[0]:
        return False
    options = behind.attributes
    if (
        graph.opset < 7
        or options.get("training_mode", 0)
        or not options.get("spatial", 1)
        or len(behind.outputs) > 1
    ):
        return False
    names = [node.inputs[1], *behind.inputs[1:5], *node.inputs[2:3]]
    arrays = [graph.array(name) for name in names if name]
    if any(array is None or array.dtype != np.float32 for array in arrays):
        return False
    weights, gain, offset, mean, variance, *bias = arrays
    if any(item.shape != weights.shape[:1] for item in (gain, offset, mean, variance, *bias)):  # type: ignore[union-attr]
        return False
    try:
        graph.room.take(8 * weights.size, "weights")  # type: ignore[union-attr]
    except NnapiError:
        return False
    epsilon = float(options.get("epsilon", 1e-5))
    factor = np.float64(gain) / np.sqrt(np.float64(variance) + epsilon)
    start = np.float64(bias[0]) if bias else 0.0
    shape = (-1, *[1] * (weights.ndim - 1))  # type: ignore[union-attr]
    changed = (weights * factor.reshape(shape)).astype(np.float32)
    added = ((start - np.float64(mean)) * factor + np.float64(offset)).astype(np.float32)
    names = [graph.folded(array) for array in (changed, added)]
    graph.done.add(id(behind))
    graph.lower(graph, node._replace(inputs=(node.inputs[0], *names), outputs=behind.outputs[:1]))
    return True


def _quantizer(graph: Importing, node: Node) -> tuple[Node, list[Node]] | None:
    """The QuantizeLinear that alone reads a node, and the nodes up to it; a Relu in between has no
    effect if the zero point is the lowest byte.
    """
    behind = graph.only_reader(node.outputs[0])
    between = []
    if behind is not None and behind.kind == "Relu":
        between.append(behind)
        behind = graph.only_reader(behind.outputs[0])
    if behind is None or behind.kind != "QuantizeLinear" or len(behind.inputs) < 3:
        return None
    scale, zero = (graph.array(name) for name in behind.inputs[1:3])
    type = graph.value(behind.inputs[2]).type
    if scale is None or zero is None or scale.size != 1 or zero.size != 1 or type not in BYTES:
        return None
    if between and int(zero.reshape(-1)[0]) != LOWEST[type]:
        return None
    return behind, [*between, behind]


def _single(graph: Importing, item: Quantized) -> bool:
    """Whether a value of bytes has one constant scale and zero point."""
    names = [item.scale, *([item.zero] if item.zero else [])]
    arrays = [graph.array(name) for name in names]
    is_byte = graph.value(item.bytes).type in BYTES
    return is_byte and all(array is not None and array.size == 1 for array in arrays)


def _quantized_product(graph: Importing, node: Node) -> bool:
    """Conv, MatMul and Gemm of dequantized bytes, as the operators on bytes."""
    operands = [graph.quantized.get(name) for name in node.inputs if name]
    last = _quantizer(graph, node)
    if last is None or not operands or len(operands) > 3 or any(item is None for item in operands):
        return False
    x, weights, *bias = [item for item in operands if item is not None]
    if not _single(graph, x) or graph.array(weights.bytes) is None:
        return False
    if graph.value(weights.bytes).type not in BYTES:
        return False
    scales = graph.array(weights.scale)
    quantizer, between = last
    if scales is None or scales.dtype != np.float32:
        return False
    inputs = [*x, *weights, *quantizer.inputs[1:3]]
    kind = "QLinearConv"
    if node.kind != "Conv":
        kind = "QLinearMatMul"
        if node.kind == "Gemm":
            options = node.attributes
            if bias or options.get("transA", 0) or options.get("alpha", 1.0) != 1:
                return _gemm(graph, node, x, weights, bias, last)
            inputs[3] = _transposed(graph, node, weights.bytes)
    elif bias:
        offset = graph.array(bias[0].bytes)
        if offset is None or offset.dtype != np.int32 or not _fits(graph, x, scales, bias[0]):
            return False
        inputs.append(bias[0].bytes)
    made = Node(node.number, kind, tuple(inputs), quantizer.outputs, node.attributes, node.name)
    graph.lower(graph, made)
    graph.done.update(id(item) for item in between)
    return True


def _fits(graph: Importing, x: Quantized, scales: Array, bias: Quantized) -> bool:
    """Whether the scale of a bias is that of the products."""
    product = graph.constant(x.scale, "a scale").reshape(-1) * scales.reshape(-1)
    own = graph.constant(bias.scale, "a scale").reshape(-1)
    return own.size in (1, product.size) and bool(np.allclose(own, product, 1e-5, 0))


def _transposed(graph: Importing, node: Node, name: str) -> str:
    """The weights of a Gemm as MatMul has them."""
    if not node.attributes.get("transB", 0):
        return name
    item = graph.value(name)
    assert item.array is not None
    return graph.folded(item.array.T, item.type)


def _gemm(
    graph: Importing,
    node: Node,
    x: Quantized,
    weights: Quantized,
    bias: list[Quantized],
    last: tuple[Node, list[Node]],
) -> bool:
    """Gemm with a bias as a convolution of one pixel, which takes scales by channel, too."""
    options = node.attributes
    if len(bias) != 1 or options.get("transA", 0):
        return False
    if any(options.get(name, 1.0) != 1 for name in ("alpha", "beta")):
        return False
    scales = graph.constant(weights.scale, "a scale")
    offset = graph.array(bias[0].bytes)
    if offset is None or offset.dtype != np.int32 or not _fits(graph, x, scales, bias[0]):
        return False
    array = graph.constant(weights.bytes, "its weights")
    array = array if options.get("transB", 0) else array.T
    rows, size = graph.value(x.bytes).shape
    filter, image, result = graph.fresh(), graph.fresh(), graph.fresh()
    graph.fold(filter, array.reshape(*array.shape, 1, 1), graph.value(weights.bytes).type)
    operand = graph.reshaped(graph.operand(x.bytes), (rows, 1, 1, size))
    type = graph.value(x.bytes).type
    graph.define(image, operand, type, (rows, size, 1, 1), is_last=True)
    quantizer, between = last
    inputs = [image, x.scale, x.zero, filter, weights.scale, weights.zero]
    inputs += [*quantizer.inputs[1:3], bias[0].bytes]
    graph.lower(graph, Node(node.number, "QLinearConv", tuple(inputs), (result,), {}))
    pixels = graph.image(result)
    flat = graph.reshaped(pixels, (rows, array.shape[0]))
    graph.define(quantizer.outputs[0], flat, graph.value(result).type)
    graph.done.update(id(item) for item in between)
    return True


def _quantized_pair(graph: Importing, node: Node) -> bool:
    """Add and Mul of dequantized bytes."""
    sources = [graph.quantized.get(name) for name in node.inputs]
    last = _quantizer(graph, node)
    if last is None or len(sources) != 2:
        return False
    pair = [item for item in sources if item is not None and _single(graph, item)]
    quantizer, between = last
    types = {graph.value(item.bytes).type for item in pair}
    type, output = quantized.result_of(graph, quantizer, 1)
    if len(pair) != 2 or types != {type}:
        return False
    aligned = Aligned(graph, [item.bytes for item in pair])
    operands: list[Any] = []
    for operand, item in zip(aligned.operands, pair, strict=True):
        scale, zero = graph.constant(item.scale, "a scale"), 0
        if item.zero:
            zero = int(graph.constant(item.zero, "a zero point").reshape(-1)[0])
        operands.append(graph.raw(operand, float(scale.reshape(-1)[0]), zero))
    try:
        result = graph.make(node.kind.upper(), [*operands, NONE], **output)
    except NnapiError:
        return False  # its scales are beyond what NNAPI multiplies by
    aligned.give(graph, quantizer, result, type)
    graph.done.update(id(item) for item in between)
    return True
