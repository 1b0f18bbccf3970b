"""Cast, Identity, and the quantization of single tensors."""

import math
from typing import Any

import numpy as np

from nnapi_shim.formats.importing.math import Math, number
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.onnx.file import Node
from nnapi_shim.formats.onnx.importing.elementwise import Aligned, Lowering
from nnapi_shim.formats.onnx.importing.graph import Importing
from nnapi_shim.formats.onnx.importing.value import BYTES, FLOATS, OPERAND_TYPES
from nnapi_shim.formats.onnx.schema import TYPES
from nnapi_shim.hal.enums import OperandType as T

WHOLE = ("INT32", "INT64")


def _cast(graph: Importing, node: Node) -> None:
    cast_to(graph, node, TYPES.get(node.attributes.get("to", 0), "?"))


def _cast_like(graph: Importing, node: Node) -> None:
    cast_to(graph, node, graph.value(node.inputs[1]).type)


def cast_to(graph: Importing, node: Node, target: str) -> None:
    """Cast to an element type."""
    source = graph.value(node.inputs[0]).type
    kind = graph.operand_type(target, "its result")
    graph.operand_type(source, "its input")
    if source == target or {source, target} == set(WHOLE):
        if source == "INT64":
            raise_unless_fits(graph, node.inputs[0])
        graph.alias(node, node.inputs[0])
        name = node.outputs[0]
        graph.values[name] = graph.values[name]._replace(type=target)
        return
    aligned = Aligned(graph, node.inputs[:1])
    x = aligned.operands[0]
    if x.type in (T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED):
        x = graph.raw(x, 1.0, 0)
        if x.type is T.TENSOR_QUANT8_ASYMM_SIGNED or target == "BOOL":
            x = graph.make("DEQUANTIZE", [x], output=T.TENSOR_FLOAT32)
    if target == "BOOL":
        x = graph.make("NOT_EQUAL", [x, number(x, 0)])
    elif source == "BOOL":
        x = from_bool(graph, x, target)
    elif target in BYTES and source not in FLOATS:
        raise reason(
            f"it casts {source} to {target}: NNAPI saturates, ONNX wraps", "import.onnx.cast.wraps"
        )
    elif target == "INT8":
        whole = graph.make("CAST", [x], output=T.TENSOR_INT32)
        real = graph.make("CAST", [whole], output=T.TENSOR_FLOAT32)
        x = graph.make("QUANTIZE", [real], output=kind, scale=1.0, zero_point=0)
    elif target == "UINT8":
        x = graph.make("CAST", [x], output=kind, scale=1.0, zero_point=0)
    elif x.type is not kind:
        x = graph.make("CAST", [x], output=kind)
    aligned.give(graph, node, x, target)


def raise_unless_fits(graph: Importing, name: str) -> None:
    """Refuse a constant that 32 bits do not hold; computed values do not exceed them."""
    array = graph.array(name)
    if array is not None and array.size and int(np.abs(array).max()) >= 2**31:
        raise reason(f"{name[:80]!r} has numbers beyond 32 bits", "import.onnx.int64-range")


def from_bool(graph: Importing, x: Any, target: str) -> Any:
    """A boolean operand as numbers."""
    if target in BYTES:
        raise reason(f"it casts BOOL to {target}", "import.onnx.cast.bool")
    kind: Any = float if target == "FLOAT" else int
    if target == "FLOAT16":
        real = from_bool(graph, x, "FLOAT")
        return graph.make("CAST", [real], output=T.TENSOR_FLOAT16)
    values = [graph.filled(x.dimensions, kind(value)) for value in (1, 0)]
    return graph.make("SELECT", [x, *values])


def _identity(graph: Importing, node: Node) -> None:
    graph.alias(node, node.inputs[0])


def _dropout(graph: Importing, node: Node) -> None:
    """Dropout of inference: the input."""
    if graph.opset < 7 and not node.attributes.get("is_test", 0):
        raise reason("it is in training mode", "import.onnx.training")
    if graph.has(node, 2) and graph.constant(node.inputs[2], "training_mode").any():
        raise reason("it is in training mode", "import.onnx.training")
    if len(node.outputs) > 1 and node.outputs[1]:
        shape = graph.value(node.inputs[0]).shape
        graph.fold(node.outputs[1], np.broadcast_to(np.bool_(True), shape))  # nothing is dropped
    graph.alias(node, node.inputs[0])


def parameters(graph: Importing, node: Node, type: str) -> tuple[float, int]:
    """The constant scale and zero point, of one element, of inputs 1 and 2."""
    scale = graph.constant(node.inputs[1], "its scale")
    zero = graph.constant(node.inputs[2], "its zero point") if graph.has(node, 2) else None
    if scale.size != 1 or (zero is not None and zero.size != 1):
        raise reason(
            "a computed tensor has several scales, which NNAPI does not have",
            "import.onnx.per-channel.not-constant",
        )
    number = float(scale.reshape(-1)[0])
    if not 0 < number < float("inf"):
        raise reason(f"its scale is {number}", "import.onnx.scale")
    return number, 0 if zero is None else int(zero.reshape(-1)[0])


def _quantize(graph: Importing, node: Node) -> None:
    """QuantizeLinear to bytes, with one scale."""
    type = "UINT8"
    if graph.has(node, 2):
        type = graph.value(node.inputs[2]).type
    elif node.attributes.get("output_dtype", 0):
        type = TYPES.get(node.attributes["output_dtype"], "?")
    if type not in BYTES:
        raise reason(f"its result is {type}, which NNAPI does not have", "import.onnx.type")
    if graph.value(node.inputs[0]).type not in FLOATS:
        raise reason("its input is no float", "import.onnx.type")
    scale, zero = parameters(graph, node, type)
    aligned = Aligned(graph, node.inputs[:1])
    result = graph.make(
        "QUANTIZE", aligned.operands, output=OPERAND_TYPES[type], scale=scale, zero_point=zero
    )
    aligned.give(graph, node, result, type)


def _dequantize(graph: Importing, node: Node) -> None:
    """DequantizeLinear with one scale; constants are converted at import."""
    type = graph.value(node.inputs[0]).type
    if math.prod(graph.value(node.inputs[1]).shape) > 1:
        _dequantize_by_axis(graph, node)
        return
    scale, zero = parameters(graph, node, type)
    aligned = Aligned(graph, node.inputs[:1])
    target = graph.value(node.inputs[1]).type
    if target not in FLOATS:
        raise reason(f"its scale is {target}", "import.onnx.type")
    if type == "INT32":
        if zero or target != "FLOAT":
            raise reason("its input is INT32 with a zero point", "import.onnx.type")
        real = graph.make("CAST", aligned.operands, output=T.TENSOR_FLOAT32)
        result = Math(graph).mul(real, scale)
    elif type in BYTES:
        raw = graph.raw(aligned.operands[0], scale, zero)
        result = graph.make("DEQUANTIZE", [raw], output=OPERAND_TYPES[target])
    else:
        raise reason(f"its input is {type}, which NNAPI does not have", "import.onnx.type")
    aligned.give(graph, node, result, target)


def _dequantize_by_axis(graph: Importing, node: Node) -> None:
    """DequantizeLinear of a computed tensor with a scale for each index of an axis."""
    item = graph.value(node.inputs[0])
    scale = graph.constant(node.inputs[1], "its scale")
    axis = int(node.attributes.get("axis", 1))
    if scale.ndim != 1 or scale.dtype != np.float32 or node.attributes.get("block_size", 0):
        raise reason("it has a scale for each block", "import.onnx.scale")
    if item.type not in ("UINT8", "INT8", "INT32") or not -item.rank <= axis < item.rank:
        raise reason(f"its input is {item.type}, its axis {axis}", "import.onnx.type")
    shape = [1] * item.rank
    shape[axis] = scale.size
    factor = graph.folded(scale.reshape(shape))
    zero = np.zeros(1, np.float32)
    if graph.has(node, 2):
        points = graph.constant(node.inputs[2], "its zero point").astype(np.float32)
        zero = points.reshape(shape) if points.size > 1 else points.reshape(-1)
    aligned = Aligned(graph, [node.inputs[0], graph.folded(zero), factor])
    x, points_of, scales = aligned.operands
    m = Math(graph)
    if item.type == "INT32":
        x = graph.make("CAST", [x], output=T.TENSOR_FLOAT32)
    else:
        x = graph.make("DEQUANTIZE", [graph.raw(x, 1.0, 0)], output=T.TENSOR_FLOAT32)
    aligned.give(graph, node, m.mul(m.sub(x, points_of) if zero.any() else x, scales), "FLOAT")


LOWERINGS: dict[str, Lowering] = {
    "Cast": _cast,
    "CastLike": _cast_like,
    "DequantizeLinear": _dequantize,
    "Dropout": _dropout,
    "Identity": _identity,
    "QuantizeLinear": _quantize,
}
