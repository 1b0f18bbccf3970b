"""Operators on bytes with scales, and integer operators."""

import math
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.importing.math import Math, rounded
from nnapi_shim.formats.importing.operations import NONE
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.convolution import (
    check_groups,
    convolution,
    convolved,
    give_image,
    image_of,
    image_shape,
    is_depthwise,
    window,
)
from nnapi_shim.formats.onnx.importing.elementwise import Aligned, Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.matmul import product
from nnapi_shim.formats.onnx.importing.value import BYTES, LAST, OPERAND_TYPES, Value
from nnapi_shim.hal.enums import OperandType as T

EXACT = 2**24
"""Up to here float32 sums of integers are exact."""


class Bytes(NamedTuple):
    """A tensor of bytes with its constant parameters; several scales are those of an axis."""

    value: Value
    scales: Array
    zeros: Array

    @property
    def scale(self) -> float:
        """The scale of all elements."""
        return float(self.scales.reshape(-1)[0])

    @property
    def zero(self) -> int:
        """The zero point of all elements."""
        return int(self.zeros.reshape(-1)[0])

    @property
    def array(self) -> Array:
        """The contents of weights, which must be constant."""
        if self.value.array is None:
            raise reason("its weights are no constant", "import.onnx.not-constant")
        return self.value.array

    @property
    def is_single(self) -> bool:
        """Whether all elements have one scale."""
        return self.scales.size == 1 and self.zeros.size == 1


def _bytes(graph: Importing, node: Node, at: int) -> Bytes:
    value = graph.value(node.inputs[at])
    if value.type not in BYTES:
        raise reason(f"its input is {value.type}, which NNAPI does not have", "import.onnx.type")
    return Bytes(value, *_parameters(graph, node, at + 1))


def _parameters(graph: Importing, node: Node, at: int) -> tuple[Array, Array]:
    scale = graph.constant(node.inputs[at], "a scale")
    zero = np.zeros(1, np.int64)
    if graph.has(node, at + 1):
        zero = graph.constant(node.inputs[at + 1], "a zero point").astype(np.int64)
    if scale.dtype.kind != "f" or not ((scale > 0) & (scale < np.inf)).all() or not scale.size:
        raise reason("a scale is not above 0", "import.onnx.scale")
    return scale.astype(np.float32), zero


def result_of(graph: Importing, node: Node, at: int) -> tuple[str, dict[str, Any]]:
    """Element type, and scale and zero point of the output."""
    scale, zero = _parameters(graph, node, at)
    type = graph.value(node.inputs[at + 1]).type if graph.has(node, at + 1) else "UINT8"
    if type not in BYTES or scale.size != 1 or zero.size != 1:
        raise reason(f"its result is {type} with {scale.size} scales", "import.onnx.type")
    return type, {"scale": float(scale.reshape(-1)[0]), "zero_point": int(zero.reshape(-1)[0])}


def _real(graph: Importing, operand: Operand, scale: float, zero: int) -> Operand:
    return graph.make("DEQUANTIZE", [graph.raw(operand, scale, zero)], output=T.TENSOR_FLOAT32)


def _real_weights(graph: Importing, weights: Bytes, axis: int) -> Value:
    """Constant weights in float32."""
    array = weights.array
    graph.room.take(12 * array.size, "weights")
    shape = [1] * array.ndim
    shape[axis] = -1
    scales, zeros = (
        v.reshape(shape) if v.size > 1 else v.reshape(-1)[:1]
        for v in (weights.scales, weights.zeros)
    )
    real = ((array.astype(np.int32) - zeros) * scales).astype(np.float32)
    return graph.value(graph.folded(real))


def _filter(graph: Importing, weights: Bytes, type: str) -> Value:
    """Weights as a value whose operand NNAPI takes beside an image of bytes."""
    array = weights.array
    if not weights.zeros.any() and weights.value.type == "INT8":
        return weights.value
    if not weights.is_single:
        raise reason("its weights have several zero points", "import.onnx.per-channel.zero-points")
    graph.room.take(4 * array.size, "weights")
    shift = (type == "INT8") - (weights.value.type == "INT8")
    moved = (array.astype(np.int16) - 128 * shift).astype(np.int8 if type == "INT8" else np.uint8)
    name = graph.folded(moved)
    graph.hints = {**graph.hints, name: (weights.scale, weights.zero - 128 * shift)}
    return graph.value(name)


def _linear_conv(graph: Importing, node: Node) -> None:
    """QLinearConv: a convolution of bytes, or in float32 where NNAPI has none."""
    image, weights = _bytes(graph, node, 0), _bytes(graph, node, 3)
    type, output = result_of(graph, node, 6)
    if not image.is_single:
        raise reason("its image has several scales", "import.onnx.scale")
    x = image_of(graph, node.inputs[0])
    depth = x.dimensions[3]
    groups = int(node.attributes.get("group", 1))
    count, own = weights.value.shape[:2]
    check_groups(groups, depth, count, own)
    size = window(node, weights.value.shape[2:], x.dimensions[1:3])
    bias = np.zeros(count, np.int32)
    if graph.has(node, 8):
        bias = graph.constant(node.inputs[8], "its bias").astype(np.int32)
    factors = np.broadcast_to(np.float32(image.scale) * weights.scales.reshape(-1), (count,))
    result: Operand | None = None
    if type == image.value.type:
        try:
            result = _native_conv(graph, x, image, weights, bias, size, groups, output)
        except NnapiError:
            result = None  # its scales are beyond what NNAPI multiplies by
    if result is None:
        real = _real(graph, x, image.scale, image.zero)
        filter = _real_weights(graph, weights, 0)
        offset = (bias * factors.astype(np.float64)).astype(np.float32)
        computed = convolved(graph, real, filter, offset, size, groups)
        result = graph.make("QUANTIZE", [computed], output=OPERAND_TYPES[type], **output)
    give_image(graph, node, result, type, image.value.rank)


def _native_conv(
    graph: Importing,
    x: Operand,
    image: Bytes,
    weights: Bytes,
    bias: Array,
    size: Any,
    groups: int,
    output: dict[str, Any],
) -> Operand:
    x = graph.raw(x, image.scale, image.zero)
    by_channel = is_depthwise(x, groups)
    filter = _filter(graph, weights, image.value.type)
    assert filter.array is not None
    array = filter.array.reshape(image_shape(filter.shape))
    array = np.ascontiguousarray(array.transpose((1, 2, 3, 0) if by_channel else LAST))
    graph.room.take(array.size, "weights")
    if filter is weights.value:
        scales = np.broadcast_to(weights.scales.reshape(-1), (bias.size,)).tolist()
        kernel = graph.model.constant(array, scales=scales, channel_dim=3 if by_channel else 0)
        offset = graph.model.constant(bias, T.TENSOR_INT32)
    else:
        scale, zero = graph.hints[filter.name]
        kernel = graph.model.constant(array, OPERAND_TYPES[image.value.type], scale, zero)
        offset = graph.model.constant(
            bias, T.TENSOR_INT32, float(np.float32(x.scale) * np.float32(kernel.scale))
        )
    return convolution(graph, x, kernel, offset, size, groups, **output)


def _linear_matmul(graph: Importing, node: Node) -> None:
    """QLinearMatMul: FULLY_CONNECTED for constant weights with one scale, else in float32."""
    left, right = _bytes(graph, node, 0), _bytes(graph, node, 3)
    type, output = result_of(graph, node, 6)
    a, b = left.value, right.value
    if not left.is_single:
        raise reason("its first input has several scales", "import.onnx.scale")
    if b.array is not None and b.rank == 2 and a.rank >= 2 and right.is_single and type == a.type:
        try:
            _native_matmul(graph, node, left, right, output)
            return
        except NnapiError:
            pass  # its scales are beyond what NNAPI multiplies by
    first = _as_real(graph, left)
    second = (
        _real_weights(graph, right, b.rank - 1) if b.array is not None else _as_real(graph, right)
    )
    result, shape = product(graph, first, second)
    result = graph.make("QUANTIZE", [result], output=OPERAND_TYPES[type], **output)
    graph.give_elements(node, result, type, shape)


def _as_real(graph: Importing, item: Bytes) -> Value:
    if not item.is_single:
        raise reason("a computed input has several scales", "import.onnx.scale")
    name = graph.fresh()
    operand = _real(graph, graph.elements(item.value.name), item.scale, item.zero)
    graph.define(name, operand, "FLOAT", item.value.shape)
    return graph.value(name)


def _native_matmul(
    graph: Importing, node: Node, left: Bytes, right: Bytes, output: dict[str, Any]
) -> None:
    a, b = left.value, right.value
    assert b.array is not None
    shift = 128 * ((a.type == "INT8") - (b.type == "INT8"))
    graph.room.take(4 * b.array.size, "weights")
    array = np.ascontiguousarray((b.array.astype(np.int16) - shift).T)
    kernel = graph.model.constant(array, OPERAND_TYPES[a.type], right.scale, right.zero - shift)
    x = graph.reshaped(graph.elements(a.name), (math.prod(a.shape[:-1]), a.shape[-1]))
    x = graph.raw(x, left.scale, left.zero)
    scale = float(np.float32(x.scale) * np.float32(kernel.scale))
    bias = graph.model.constant(np.zeros(b.shape[1], np.int32), T.TENSOR_INT32, scale)
    result = graph.make("FULLY_CONNECTED", [x, kernel, bias, NONE], **output)
    graph.give_elements(node, result, a.type, (*a.shape[:-1], b.shape[-1]))


def _conv_integer(graph: Importing, node: Node) -> None:
    """ConvInteger in float32, where the sums are exact."""
    image, weights = (graph.value(name) for name in node.inputs[:2])
    if image.type not in BYTES or weights.type not in BYTES:
        raise reason(f"its inputs are {image.type} and {weights.type}", "import.onnx.type")
    zero = np.zeros(1, np.int32)
    if graph.has(node, 3):
        zero = graph.constant(node.inputs[3], "a zero point").astype(np.int32)
    array = graph.constant(node.inputs[1], "its weights").astype(np.int32)
    graph.room.take(8 * array.size, "weights")
    array = array - zero.reshape(-1, *[1] * (array.ndim - 1))
    largest = int(np.abs(array).reshape(array.shape[0], -1).sum(1).max(initial=0)) * 255
    if largest >= EXACT:
        raise reason(
            f"its sums reach {largest}, and NNAPI has exact ones up to {EXACT}",
            "import.onnx.integer-sums",
        )
    filter = graph.value(graph.folded(array.astype(np.float32)))
    x = image_of(graph, node.inputs[0])
    groups = int(node.attributes.get("group", 1))
    check_groups(groups, x.dimensions[3], array.shape[0], array.shape[1])
    size = window(node, array.shape[2:], x.dimensions[1:3])
    real = _real(graph, x, 1.0, 0)
    if graph.has(node, 2):
        if math.prod(graph.value(node.inputs[2]).shape) != 1:
            raise reason("its image has several zero points", "import.onnx.zero-points")
        point = _real(graph, graph.operand(node.inputs[2]), 1.0, 0)
        real = Math(graph).sub(real, graph.reshaped(point, (1,)))
    bias = np.zeros(array.shape[0], np.float32)
    sums = convolved(graph, real, filter, bias, size, groups)
    result = graph.make("CAST", [sums], output=T.TENSOR_INT32)
    give_image(graph, node, result, "INT32", image.rank)


def _dynamic(graph: Importing, node: Node) -> None:
    """DynamicQuantizeLinear: the scale and zero point of the range of the input."""
    item = graph.value(node.inputs[0])
    if item.type != "FLOAT" or item.rank > 4:
        raise reason(f"its input is {item.type} of rank {item.rank}", "import.onnx.type")
    m = Math(graph)
    aligned = Aligned(graph, node.inputs)
    x = aligned.operands[0]
    flat = graph.reshaped(x, (math.prod(x.dimensions),))
    axes = np.zeros(1, np.int32)
    high = m.max(graph.make("REDUCE_MAX", [flat, axes, False]), 0)
    low = m.min(graph.make("REDUCE_MIN", [flat, axes, False]), 0)
    span = m.div(m.sub(high, low), 255)
    scale = m.select(m.equal(span, 0), m.full(span, 1), span)
    zero = rounded(m, m.max(m.min(m.div(m.sub(0, low), scale), 255), 0))
    steps = m.add(rounded(m, m.div(x, scale)), zero)
    as_bytes: dict[str, Any] = {"output": T.TENSOR_QUANT8_ASYMM, "scale": 1.0, "zero_point": 0}
    aligned.give(graph, node, graph.make("QUANTIZE", [steps], **as_bytes), "UINT8")
    graph.give(node, graph.copy(scale), "FLOAT", (), at=1)
    graph.give(node, graph.make("QUANTIZE", [zero], **as_bytes), "UINT8", (), at=2)


def _expanded(kind: str, count: int) -> Lowering:
    """An operator of ONNX Runtime on bytes: `count` tensors with scale and zero point, then those
    of the output.
    """

    def lower(graph: Importing, node: Node) -> None:
        inputs = [*node.inputs, *[""] * (3 * count + 2 - len(node.inputs))]
        _between(graph, node, kind, inputs[: 3 * count], inputs[3 * count : 3 * count + 2])

    return lower


def _between(graph: Importing, node: Node, kind: str, inputs: list[str], output: list[str]) -> None:
    """A float operator between DequantizeLinear and QuantizeLinear."""
    old = int(node.attributes.get("opset", graph.opset)) < 13
    if kind == "Softmax" and old is not (graph.opset < 13):
        raise reason("it has the axis of another opset", "import.onnx.attribute")
    if node.attributes.get("channels_last", 0):
        raise reason("its images have their channels last", "import.onnx.attribute")
    names = [_dequantized(graph, node, inputs[at : at + 3]) for at in range(0, len(inputs), 3)]
    _quantized(graph, node, kind, names, output)


def _dequantized(graph: Importing, node: Node, inputs: list[str], **options: Any) -> str:
    """The name of the real numbers of bytes with their scale and zero point."""
    name = graph.fresh()
    graph.lower(graph, Node(node.number, "DequantizeLinear", tuple(inputs), (name,), options))
    return name


def _quantized(
    graph: Importing, node: Node, kind: str, inputs: list[str], output: list[str]
) -> None:
    """A float operator, and QuantizeLinear with the scale and zero point of the output."""
    result = graph.fresh()
    graph.lower(graph, Node(node.number, kind, tuple(inputs), (result,), node.attributes))
    ends = (result, *output)
    graph.lower(graph, Node(node.number, "QuantizeLinear", ends, node.outputs[:1], {}))


def _linear_concat(graph: Importing, node: Node) -> None:
    """QLinearConcat, whose first inputs are the scale and zero point of the output."""
    _between(graph, node, "Concat", list(node.inputs[2:]), list(node.inputs[:2]))


def _linear_gemm(graph: Importing, node: Node) -> None:
    """QGemm in float32; the bias has the scale of the products."""
    inputs = [*node.inputs, *[""] * (9 - len(node.inputs))]
    axis = 0 if node.attributes.get("transB", 0) else 1
    names = [
        _dequantized(graph, node, inputs[:3]),
        _dequantized(graph, node, inputs[3:6], axis=axis),
    ]
    if inputs[6]:
        product = graph.constant(inputs[1], "a scale") * graph.constant(inputs[4], "a scale")
        bias = graph.constant(inputs[6], "its bias") * product
        names.append(graph.folded(bias.astype(np.float32)))
    _quantized(graph, node, "Gemm", names, inputs[7:9])


RUNTIME = "com.microsoft."
"""The domain of ONNX Runtime's operators."""

LOWERINGS: dict[str, Lowering] = {
    RUNTIME + "QGemm": _linear_gemm,
    RUNTIME + "QLinearAdd": _expanded("Add", 2),
    RUNTIME + "QLinearAveragePool": _expanded("AveragePool", 1),
    RUNTIME + "QLinearConcat": _linear_concat,
    RUNTIME + "QLinearGlobalAveragePool": _expanded("GlobalAveragePool", 1),
    RUNTIME + "QLinearLeakyRelu": _expanded("LeakyRelu", 1),
    RUNTIME + "QLinearMul": _expanded("Mul", 2),
    RUNTIME + "QLinearSigmoid": _expanded("Sigmoid", 1),
    RUNTIME + "QLinearSoftmax": _expanded("Softmax", 1),
    "ConvInteger": _conv_integer,
    "DynamicQuantizeLinear": _dynamic,
    "QLinearConv": _linear_conv,
    "QLinearMatMul": _linear_matmul,
}
