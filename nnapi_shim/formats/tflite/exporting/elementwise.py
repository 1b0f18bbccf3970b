"""Arithmetic, comparisons, activations and conversions."""

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder, Rule
from nnapi_shim.formats.graph.expansion import images, roots
from nnapi_shim.formats.graph.expansion.conversion import dequantize, quantize
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.formats.tflite.exporting.kinds import anything, eight_bits, one_kind
from nnapi_shim.formats.tflite.exporting.types import type_code
from nnapi_shim.hal.enums import OperandType as T

U8 = T.TENSOR_QUANT8_ASYMM


def fused(kind: str, table: str) -> Rule:
    """A binary operation with a fused activation; the codes equal NNAPI's."""

    def lower(b: ExportBuilder, op: Node) -> None:
        b.emit(
            kind,
            [op.input0, op.input1],
            [op.output],
            table=table,
            FusedActivationFunction=op.activation,
        )

    return Rule(kind, lower, native=eight_bits)


def _div(b: ExportBuilder, op: Node) -> None:
    """Integer DIV as FLOOR_DIV; gives 0 for a divisor of 0, for which the kernel fails."""
    pair = [op.input0, op.input1]
    if op.output.type is T.TENSOR_INT32 and (op.input1.value is None or not op.input1.value.all()):
        zero, one = (constant(np.asarray([n], np.int32)) for n in (0, 1))
        is_zero = Tensor(T.TENSOR_BOOL8, op.input1.dimensions)
        divisor, quotient = op.input1.like(), op.output.like()
        b.emit("EQUAL", [op.input1, zero], [is_zero], table="EqualOptions")
        b.emit("SELECT_V2", [is_zero, one, op.input1], [divisor], table="SelectV2Options")
        b.emit("FLOOR_DIV", [op.input0, divisor], [quotient], table="FloorDivOptions")
        b.emit("SELECT_V2", [is_zero, zero, quotient], [op.output], table="SelectV2Options")
    elif op.output.type is T.TENSOR_INT32:
        b.emit("FLOOR_DIV", pair, [op.output], table="FloorDivOptions")
    else:
        b.emit("DIV", pair, [op.output], table="DivOptions", FusedActivationFunction=op.activation)


def plain(kind: str, table: str = "", native: object = None) -> Rule:
    """An operation on one or two tensors without parameters."""

    def lower(b: ExportBuilder, op: Node) -> None:
        inputs = [op.named[name] for name in op.input_names]
        options = {"table": table} if table else {}
        b.emit(kind, inputs, op.outputs, **options)

    return Rule(kind, lower, native=native or (lambda node: False))  # type: ignore[arg-type]


def compared(kind: str, table: str) -> Rule:
    """A comparison; bool tensors are cast first, since TensorFlow Lite does not order them."""

    def lower(b: ExportBuilder, op: Node) -> None:
        pair = [op.input0, op.input1]
        if op.input0.type is T.TENSOR_BOOL8 and kind not in ("EQUAL", "NOT_EQUAL"):
            pair = [b.cast(t, t.like(type=T.TENSOR_INT32)) for t in pair]
        b.emit(kind, pair, [op.output], table=table)

    return Rule(kind, lower, native=one_kind("input0", "input1"))


def converted(b: ExportBuilder, x: Tensor, out: Tensor) -> None:
    """Emit CAST between number types; callers handle bytes and float16."""
    b.emit(
        "CAST",
        [x],
        [out],
        table="CastOptions",
        InDataType=type_code(x.type),
        OutDataType=type_code(out.type),
    )


def _cast(b: ExportBuilder, op: Node) -> None:
    """CAST; values outside the range of a byte saturate, scales are ignored."""
    x, out = op.input, op.output
    if x.type is out.type:
        b.emit("RESHAPE", [x, _shape(x)], [out], table="ReshapeOptions")
        return
    if x.type is T.TENSOR_FLOAT16:
        x = b.real(x)
    if out.type is U8:
        zero, top = (
            constant(
                np.asarray(
                    n,
                    x.value.dtype
                    if x.value is not None
                    else {T.TENSOR_FLOAT32: np.float32}.get(x.type, np.int32),
                )
            )
            for n in (0, 255)
        )
        x = b.binary("MINIMUM", b.binary("MAXIMUM", x, zero), top)
    if x.type is out.type:
        b.emit("RESHAPE", [x, _shape(x)], [out], table="ReshapeOptions")
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


def _pow(b: ExportBuilder, op: Node) -> None:
    b.emit("POW", [op.base, op.exponent], [op.output], table="PowOptions")


def _has_prelu_kernel(node: Node) -> bool:
    """Whether the operands are quantized and alpha has no more elements than the input."""
    return eight_bits(node) and node.input.dimensions == node.output.dimensions


def _prelu(b: ExportBuilder, op: Node) -> None:
    if op.input.dimensions == op.output.dimensions:
        b.emit("PRELU", [op.input, op.alpha], [op.output])
    else:
        roots.prelu(b, op)


def _is_quantized(node: Node) -> bool:
    return bool(node.output.is_quantized)


def _rsqrt(b: ExportBuilder, op: Node) -> None:
    """RSQRT; the 8-bit kernel rejects non-positive inputs, so they are clamped first."""
    if op.output.is_quantized:
        roots.quantized_rsqrt(b, op)
    else:
        b.emit("RSQRT", [op.input], [op.output])


RULES = {
    "ADD": fused("ADD", "AddOptions"),
    "SUB": fused("SUB", "SubOptions"),
    "MUL": fused("MUL", "MulOptions"),
    "DIV": Rule("DIV, FLOOR_DIV; EQUAL, SELECT_V2 if a divisor may be 0", _div),
    "MAXIMUM": plain("MAXIMUM", "MaximumMinimumOptions", one_kind("input0", "input1", "output")),
    "MINIMUM": plain("MINIMUM", "MaximumMinimumOptions", one_kind("input0", "input1", "output")),
    "POW": Rule("POW", _pow),
    "EQUAL": compared("EQUAL", "EqualOptions"),
    "NOT_EQUAL": compared("NOT_EQUAL", "NotEqualOptions"),
    "GREATER": compared("GREATER", "GreaterOptions"),
    "GREATER_EQUAL": compared("GREATER_EQUAL", "GreaterEqualOptions"),
    "LESS": compared("LESS", "LessOptions"),
    "LESS_EQUAL": compared("LESS_EQUAL", "LessEqualOptions"),
    "LOGICAL_AND": plain("LOGICAL_AND", "LogicalAndOptions"),
    "LOGICAL_OR": plain("LOGICAL_OR", "LogicalOrOptions"),
    "LOGICAL_NOT": plain("LOGICAL_NOT", "LogicalNotOptions"),
    "ABS": plain("ABS", "AbsOptions"),
    "EXP": plain("EXP", "ExpOptions"),
    "FLOOR": plain("FLOOR"),
    "LOG": plain("LOG"),
    "NEG": plain("NEG", "NegOptions"),
    "RSQRT": Rule("RSQRT", _rsqrt, native=_is_quantized),
    "SIN": plain("SIN"),
    "SQRT": plain("SQRT"),
    "RELU": plain("RELU", native=eight_bits),
    "RELU1": plain("RELU_N1_TO_1", native=eight_bits),
    "RELU6": plain("RELU6", native=eight_bits),
    "TANH": plain("TANH", native=eight_bits),
    "LOGISTIC": plain("LOGISTIC", native=eight_bits),
    "ELU": Rule("ELU; RELU, MINIMUM, EXP, SUB, MUL, ADD if alpha is not 1", _elu),
    "HARD_SWISH": plain("HARD_SWISH", "HardSwishOptions", eight_bits),
    "PRELU": Rule("PRELU", _prelu, native=_has_prelu_kernel),
    "CAST": Rule("CAST; RESHAPE between equal types", _cast, native=anything),
    "DEQUANTIZE": Rule("DEQUANTIZE", dequantize, native=anything),
    "QUANTIZE": Rule("QUANTIZE", quantize, native=anything),
}
