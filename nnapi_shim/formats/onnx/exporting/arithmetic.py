"""Arithmetic, comparisons, activations and conversions."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import Rule
from nnapi_shim.formats.graph.expansion import images, roots
from nnapi_shim.formats.graph.expansion.conversion import dequantize, quantize
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.formats.onnx.exporting.constants import raw
from nnapi_shim.formats.onnx.exporting.types import DOUBLE, code
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.operations.shapes import broadcast

CLIPS = {2: (-1.0, 1.0), 3: (0.0, 6.0)}


def clipped(b: Any, x: Tensor, low: float, high: float, out: Tensor) -> None:
    """Clip to [low, high]."""
    bounds = [raw(np.asarray(n, np.float32), T.TENSOR_FLOAT32) for n in (low, high)]
    b.emit("Clip", [x, *bounds], [out])


def activate(b: Any, x: Tensor, activation: int, out: Tensor) -> None:
    """Apply a fused activation; code 0 copies."""
    b.activated(x, activation, out)


def fused(kind: str) -> Rule:
    """A binary operation with a fused activation."""

    def lower(b: Any, op: Node) -> None:
        result = op.output if not op.activation else op.output.like()
        b.emit(kind, [op.input0, op.input1], [result])
        if op.activation:
            activate(b, result, op.activation, op.output)

    return Rule(f"{kind}; Relu or Clip", lower)


def _div(b: Any, op: Node) -> None:
    """Integer division rounds down and gives 0 for a divisor of 0."""
    if op.output.type is not T.TENSOR_INT32:
        fused("Div").lower(b, op)  # type: ignore[misc]
        return
    wide = [
        b.node("Cast", [t], like=t, type=DOUBLE, to=code(DOUBLE)) for t in (op.input0, op.input1)
    ]
    quotient = b.node("Div", wide, like=op.output, type=DOUBLE)
    floored = b.node("Floor", [quotient], like=quotient)
    zero = raw(np.zeros((), np.float64), DOUBLE)
    is_zero = b.node("Equal", [wide[1], zero], like=wide[1], type=T.TENSOR_BOOL8)
    b.cast(b.node("Where", [is_zero, zero, floored], like=floored), op.output)


def plain(kind: str) -> Rule:
    """An operation on tensors without parameters."""

    def lower(b: Any, op: Node) -> None:
        b.emit(kind, [op.named[name] for name in op.input_names], op.outputs)

    return Rule(kind, lower)


def bounded(low: float, high: float) -> Rule:
    """An activation that clips to two bounds."""

    def lower(b: Any, op: Node) -> None:
        clipped(b, op.input, low, high, op.output)

    return Rule("Clip", lower)


def compared(kind: str, negated: bool = False) -> Rule:
    """A comparison; bool tensors are cast first, since ONNX does not order them."""

    def lower(b: Any, op: Node) -> None:
        pair = [op.input0, op.input1]
        if op.input0.type is T.TENSOR_BOOL8 and kind != "Equal":
            pair = [b.cast(t, t.like(type=T.TENSOR_INT32)) for t in pair]
        result = op.output.like() if negated else op.output
        b.emit(kind, pair, [result])
        if negated:
            b.emit("Not", [result], [op.output])

    return Rule(f"{kind}, Not" if negated else kind, lower)


def _is_quantized(node: Node) -> bool:
    return bool(node.output.is_quantized)


def _rsqrt(b: Any, op: Node) -> None:
    if op.output.is_quantized:
        roots.quantized_rsqrt(b, op)
        return
    b.emit("Reciprocal", [b.node("Sqrt", [op.input], like=op.input)], [op.output])


def _elu(b: Any, op: Node) -> None:
    if op.alpha < 0:
        images.elu(b, op)
    else:
        b.emit("Elu", [op.input], [op.output], alpha=float(op.alpha))


def _prelu(b: Any, op: Node) -> None:
    x, alpha = op.input, op.alpha
    if broadcast(x.dimensions, alpha.dimensions) == x.dimensions:
        b.emit("PRelu", [x, alpha], [op.output])
    else:
        roots.prelu(b, op)


def _cast(b: Any, op: Node) -> None:
    """CAST; values outside the range of a byte saturate, scales are ignored."""
    x, out = op.input, op.output
    if x.type is out.type:
        b.emit("Identity", [x], [out])
        return
    if out.type is T.TENSOR_QUANT8_ASYMM:
        x = b.real(x) if x.type is T.TENSOR_FLOAT16 else x
        dtype = np.int32 if x.type is T.TENSOR_INT32 else np.float32
        zero, top = (constant(np.asarray(n, dtype)) for n in (0, 255))
        x = b.binary("MINIMUM", b.binary("MAXIMUM", x, zero), top)
    b.cast(x, out)


def _any(node: Node) -> bool:
    return True


RULES = {
    "ADD": fused("Add"),
    "SUB": fused("Sub"),
    "MUL": fused("Mul"),
    "DIV": Rule("Div; Cast, Div, Floor, Equal, Where, Cast for integers", _div),
    "MAXIMUM": plain("Max"),
    "MINIMUM": plain("Min"),
    "POW": plain("Pow"),
    "EQUAL": compared("Equal"),
    "NOT_EQUAL": compared("Equal", negated=True),
    "GREATER": compared("Greater"),
    "GREATER_EQUAL": compared("GreaterOrEqual"),
    "LESS": compared("Less"),
    "LESS_EQUAL": compared("LessOrEqual"),
    "LOGICAL_AND": plain("And"),
    "LOGICAL_OR": plain("Or"),
    "LOGICAL_NOT": plain("Not"),
    "ABS": plain("Abs"),
    "EXP": plain("Exp"),
    "FLOOR": plain("Floor"),
    "LOG": plain("Log"),
    "NEG": plain("Neg"),
    "RSQRT": Rule("Sqrt, Reciprocal", _rsqrt, native=_is_quantized),
    "SIN": plain("Sin"),
    "SQRT": plain("Sqrt"),
    "RELU": plain("Relu"),
    "RELU1": bounded(*CLIPS[2]),
    "RELU6": bounded(*CLIPS[3]),
    "TANH": plain("Tanh"),
    "LOGISTIC": plain("Sigmoid"),
    "ELU": Rule("Elu", _elu),
    "HARD_SWISH": plain("HardSwish"),
    "PRELU": Rule("PRelu", _prelu),
    "CAST": Rule("Cast", _cast, native=_any),
    "DEQUANTIZE": Rule("DequantizeLinear", dequantize, native=_any),
    "QUANTIZE": Rule("QuantizeLinear", quantize, native=_any),
}
