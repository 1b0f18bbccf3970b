"""Arithmetic, comparisons, activations and conversions."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.expansion import images, roots
from nnapi_shim.formats.graph.expansion.conversion import dequantize, quantize
from nnapi_shim.formats.graph.rule import Rule, anything, row
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.formats.onnx.exporting.constants import emit_activated, longs, raw
from nnapi_shim.formats.onnx.exporting.types import DOUBLE, code
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.operations.shapes import broadcast


def fused(kind: str) -> Rule:
    """A binary operation with a fused activation."""

    def lower(b: Any, op: Node) -> None:
        emit_activated(b, op, kind, [op.input0, op.input1])

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


def bounded(low: float, high: float) -> Rule:
    """An activation that clips to two bounds."""
    bounds = [raw(np.asarray(n, np.float32), T.TENSOR_FLOAT32) for n in (low, high)]
    return row("Clip", "input", lambda op: bounds[0], lambda op: bounds[1])


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


def _of_rank(b: Any, t: Tensor, rank: int) -> Tensor:
    """The tensor with dimensions of 1 before its own."""
    more = rank - t.rank
    sizes = (1,) * more + t.dimensions
    if not more:
        return t
    if t.value is None:
        return b.node("Unsqueeze", [t, longs(range(more))], like=t, sizes=sizes)  # type: ignore[no-any-return]
    result = t.like(sizes)
    result.value, result.name = t.value.reshape(sizes), t.name
    return result


def _prelu(b: Any, op: Node) -> None:
    x, alpha = op.input, op.alpha
    if broadcast(x.dimensions, alpha.dimensions) == x.dimensions:
        # OpenVINO takes a slope of rank 1 for one of the second axis.
        b.emit("PRelu", [x, _of_rank(b, alpha, x.rank)], [op.output])
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


RULES = {
    "ADD": fused("Add"),
    "SUB": fused("Sub"),
    "MUL": fused("Mul"),
    "DIV": Rule("Div; Cast, Div, Floor, Equal, Where, Cast for integers", _div),
    "MAXIMUM": row("Max"),
    "MINIMUM": row("Min"),
    "POW": row("Pow"),
    "EQUAL": compared("Equal"),
    "NOT_EQUAL": compared("Equal", negated=True),
    "GREATER": compared("Greater"),
    "GREATER_EQUAL": compared("GreaterOrEqual"),
    "LESS": compared("Less"),
    "LESS_EQUAL": compared("LessOrEqual"),
    "LOGICAL_AND": row("And"),
    "LOGICAL_OR": row("Or"),
    "LOGICAL_NOT": row("Not"),
    "ABS": row("Abs"),
    "EXP": row("Exp"),
    "FLOOR": row("Floor"),
    "LOG": row("Log"),
    "NEG": row("Neg"),
    "RSQRT": Rule("Sqrt, Reciprocal", _rsqrt, native=roots.is_quantized),
    "SIN": row("Sin"),
    "SQRT": row("Sqrt"),
    "RELU": row("Relu"),
    "RELU1": bounded(-1.0, 1.0),
    "RELU6": bounded(0.0, 6.0),
    "TANH": row("Tanh"),
    "LOGISTIC": row("Sigmoid"),
    "ELU": Rule("Elu", _elu),
    "HARD_SWISH": row("HardSwish"),
    "PRELU": Rule("PRelu", _prelu),
    "CAST": Rule("Cast", _cast, native=anything),
    "DEQUANTIZE": Rule("DequantizeLinear", dequantize, native=anything),
    "QUANTIZE": Rule("QuantizeLinear", quantize, native=anything),
}
