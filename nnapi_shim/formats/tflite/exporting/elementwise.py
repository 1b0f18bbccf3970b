"""Arithmetic, comparisons, activations and conversions."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.expansion import images, roots
from nnapi_shim.formats.graph.expansion.conversion import dequantize, quantize
from nnapi_shim.formats.graph.rule import Rule, anything, row
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.formats.tflite.exporting.kinds import eight_bits, one_kind
from nnapi_shim.formats.tflite.exporting.types import type_code
from nnapi_shim.hal.enums import OperandType as T

U8 = T.TENSOR_QUANT8_ASYMM


def fused(kind: str) -> Rule:
    """A binary operation with a fused activation; the codes equal NNAPI's."""
    pair = ("input0", "input1")
    return row(kind, *pair, native=eight_bits, FusedActivationFunction="activation")


def _div(b: ExportBuilder, op: Node) -> None:
    """Integer DIV as FLOOR_DIV; gives 0 for a divisor of 0, for which the kernel fails."""
    pair = [op.input0, op.input1]
    if op.output.type is T.TENSOR_INT32 and (op.input1.value is None or not op.input1.value.all()):
        zero, one = (constant(np.asarray([n], np.int32)) for n in (0, 1))
        is_zero = Tensor(T.TENSOR_BOOL8, op.input1.dimensions)
        divisor, quotient = op.input1.like(), op.output.like()
        b.emit("EQUAL", [op.input1, zero], [is_zero])
        b.emit("SELECT_V2", [is_zero, one, op.input1], [divisor])
        b.emit("FLOOR_DIV", [op.input0, divisor], [quotient])
        b.emit("SELECT_V2", [is_zero, zero, quotient], [op.output])
    elif op.output.type is T.TENSOR_INT32:
        b.emit("FLOOR_DIV", pair, [op.output])
    else:
        b.emit("DIV", pair, [op.output], FusedActivationFunction=op.activation)


def compared(kind: str) -> Rule:
    """A comparison; bool tensors are cast first, since TensorFlow Lite does not order them."""

    def lower(b: ExportBuilder, op: Node) -> None:
        pair = [op.input0, op.input1]
        if op.input0.type is T.TENSOR_BOOL8 and kind not in ("EQUAL", "NOT_EQUAL"):
            pair = [b.cast(t, t.like(type=T.TENSOR_INT32)) for t in pair]
        b.emit(kind, pair, [op.output])

    return Rule(kind, lower, native=one_kind("input0", "input1"))


def converted(b: ExportBuilder, x: Tensor, out: Tensor) -> None:
    """Emit CAST between number types; callers handle bytes and float16."""
    types = {"InDataType": type_code(x.type), "OutDataType": type_code(out.type)}
    b.emit("CAST", [x], [out], **types)


def _cast(b: ExportBuilder, op: Node) -> None:
    """CAST; values outside the range of a byte saturate, scales are ignored."""
    x, out = op.input, op.output
    if x.type is out.type:
        b.emit("RESHAPE", [x, _shape(x)], [out])
        return
    if x.type is T.TENSOR_FLOAT16:
        x = b.real(x)
    if out.type is U8:
        dtype: Any = np.float32 if x.type is T.TENSOR_FLOAT32 else np.int32
        zero, top = (constant(np.asarray(n, dtype)) for n in (0, 255))
        x = b.binary("MINIMUM", b.binary("MAXIMUM", x, zero), top)
    if x.type is out.type:
        b.emit("RESHAPE", [x, _shape(x)], [out])
    elif out.type is T.TENSOR_FLOAT16 and x.type is not T.TENSOR_FLOAT32:
        real = x.like(type=T.TENSOR_FLOAT32)
        converted(b, x, real)
        converted(b, real, out)
    else:
        converted(b, x, out)


def _shape(x: Tensor) -> Tensor:
    return constant(np.asarray([n or -1 for n in x.dimensions], np.int32))


def _elu(b: ExportBuilder, op: Node) -> None:
    if op.alpha == 1:
        b.emit("ELU", [op.input], [op.output])
    else:
        images.elu(b, op)


def _has_prelu_kernel(node: Node) -> bool:
    """Whether the operands are quantized and alpha has no more elements than the input."""
    return eight_bits(node) and node.input.dimensions == node.output.dimensions


def _prelu(b: ExportBuilder, op: Node) -> None:
    if op.input.dimensions == op.output.dimensions:
        b.emit("PRELU", [op.input, op.alpha], [op.output])
    else:
        roots.prelu(b, op)


def _rsqrt(b: ExportBuilder, op: Node) -> None:
    """RSQRT; the 8-bit kernel rejects non-positive inputs, so they are clamped first."""
    if op.output.is_quantized:
        roots.quantized_rsqrt(b, op)
    else:
        b.emit("RSQRT", [op.input], [op.output])


SAME = one_kind("input0", "input1", "output")

RULES = {
    "ADD": fused("ADD"),
    "SUB": fused("SUB"),
    "MUL": fused("MUL"),
    "DIV": Rule("DIV, FLOOR_DIV; EQUAL, SELECT_V2 if a divisor may be 0", _div),
    "MAXIMUM": row("MAXIMUM", native=SAME),
    "MINIMUM": row("MINIMUM", native=SAME),
    "POW": row("POW", "base", "exponent"),
    "EQUAL": compared("EQUAL"),
    "NOT_EQUAL": compared("NOT_EQUAL"),
    "GREATER": compared("GREATER"),
    "GREATER_EQUAL": compared("GREATER_EQUAL"),
    "LESS": compared("LESS"),
    "LESS_EQUAL": compared("LESS_EQUAL"),
    "LOGICAL_AND": row("LOGICAL_AND"),
    "LOGICAL_OR": row("LOGICAL_OR"),
    "LOGICAL_NOT": row("LOGICAL_NOT"),
    "ABS": row("ABS"),
    "EXP": row("EXP"),
    "FLOOR": row("FLOOR"),
    "LOG": row("LOG"),
    "NEG": row("NEG"),
    "RSQRT": Rule("RSQRT", _rsqrt, native=roots.is_quantized),
    "SIN": row("SIN"),
    "SQRT": row("SQRT"),
    "RELU": row("RELU", native=eight_bits),
    "RELU1": row("RELU_N1_TO_1", native=eight_bits),
    "RELU6": row("RELU6", native=eight_bits),
    "TANH": row("TANH", native=eight_bits),
    "LOGISTIC": row("LOGISTIC", native=eight_bits),
    "ELU": Rule("ELU; RELU, MINIMUM, EXP, SUB, MUL, ADD if alpha is not 1", _elu),
    "HARD_SWISH": row("HARD_SWISH", native=eight_bits),
    "PRELU": Rule("PRELU", _prelu, native=_has_prelu_kernel),
    "CAST": Rule("CAST; RESHAPE between equal types", _cast, native=anything),
    "DEQUANTIZE": Rule("DEQUANTIZE", dequantize, native=anything),
    "QUANTIZE": Rule("QUANTIZE", quantize, native=anything),
}
