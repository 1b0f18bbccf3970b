"""Unary elementwise operators, and operators along the last axis."""

import math
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing import functions
from nnapi_shim.formats.tflite.importing.graph import BYTES, Importing
from nnapi_shim.formats.tflite.importing.operations import NONE
from nnapi_shim.formats.tflite.importing.plain import Lowering, plain
from nnapi_shim.formats.tflite.importing.reason import reason
from nnapi_shim.hal.enums import OperandType as T

_GELU = math.sqrt(2 / math.pi), 0.044715


def _input(graph: Importing, operator: Operator) -> Operand:
    return graph.operand(operator.inputs[0])


def _number(operand: Operand, value: float) -> Array:
    """A one-element constant of the type of a float operand."""
    return np.full(1, value, np.float16 if operand.type is T.TENSOR_FLOAT16 else np.float32)


def square(graph: Importing, operator: Operator) -> None:
    """SQUARE as MUL."""
    data = _input(graph, operator)
    graph.add("MUL", [data, data, NONE], operator)


def negative(graph: Importing, operator: Operator) -> None:
    """NEG; LiteRT negates stored elements of quantized tensors regardless of zero points, so they
    are refused.
    """
    data = _input(graph, operator)
    if graph.tensor(operator.inputs[0]).scales:
        raise reason(
            "its values are quantized, and LiteRT negates them without the scale",
            "import.tflite.neg.quantized",
        )
    graph.add("NEG", [data], operator)


def ceil(graph: Importing, operator: Operator) -> None:
    """CEIL as -FLOOR(-x)."""
    below = graph.make("FLOOR", [graph.make("NEG", [_input(graph, operator)])])
    graph.add("NEG", [below], operator)


def elu(graph: Importing, operator: Operator) -> None:
    """ELU with alpha 1."""
    graph.give(operator, graph.make("ELU", [graph.real(_input(graph, operator)), 1.0]))


def leaky_relu(graph: Importing, operator: Operator) -> None:
    """LEAKY_RELU as PRELU with a one-element alpha; a quantized alpha is one step with the scale
    abs(alpha).
    """
    data = _input(graph, operator)
    slope = float(operator.options.get("Alpha", 0.0))
    alpha: Any = _number(data, slope)
    if data.type in BYTES:
        offset = 128 if data.type is T.TENSOR_QUANT8_ASYMM else 0
        step = np.full(1, offset + int(np.sign(slope)), np.int16)
        alpha = graph.model.constant(step, data.type, abs(slope) or 1.0, offset)
    graph.add("PRELU", [data, alpha], operator)


def gelu(graph: Importing, operator: Operator) -> None:
    """GELU, by tanh or by erf."""
    data = graph.real(_input(graph, operator))
    if not operator.options.get("Approximate", False):
        graph.give(operator, functions.gelu(graph, data))
        return
    factor, cubic = (_number(data, value) for value in _GELU)
    square = graph.make("MUL", [data, data, NONE])
    cube = graph.make("MUL", [graph.make("MUL", [square, data, NONE]), cubic, NONE])
    inner = graph.make("MUL", [graph.make("ADD", [data, cube, NONE]), factor, NONE])
    weight = graph.make("ADD", [graph.make("TANH", [inner]), _number(data, 1), NONE])
    half = graph.make("MUL", [data, _number(data, 0.5), NONE])
    graph.give(operator, graph.make("MUL", [half, weight, NONE]))


def relu_0_to_1(graph: Importing, operator: Operator) -> None:
    """RELU_0_TO_1 as MINIMUM and MAXIMUM."""
    data = graph.real(_input(graph, operator))
    above = graph.make("MAXIMUM", [data, _number(data, 0)])
    graph.give(operator, graph.make("MINIMUM", [above, _number(data, 1)]))


def softmax(graph: Importing, operator: Operator) -> None:
    """SOFTMAX; beta is 0 if the file has none, as in LiteRT."""
    beta = float(operator.options.get("Beta", 1.0))
    graph.add("SOFTMAX", [_input(graph, operator), beta], operator)


def log_softmax(graph: Importing, operator: Operator) -> None:
    """LOG_SOFTMAX along the last axis."""
    graph.add("LOG_SOFTMAX", [_input(graph, operator), 1.0, -1], operator)


def l2_normalization(graph: Importing, operator: Operator) -> None:
    """L2_NORMALIZATION along the last axis."""
    if operator.options.get("FusedActivationFunction", 0):
        raise reason(
            "NNAPI does not fuse an activation into it", "import.tflite.no-fused-activation"
        )
    graph.add("L2_NORMALIZATION", [_input(graph, operator)], operator)


def local_response(graph: Importing, operator: Operator) -> None:
    """LOCAL_RESPONSE_NORMALIZATION along the last axis."""
    options = operator.options
    values = [float(options.get(name, 0.0)) for name in ("Bias", "Alpha", "Beta")]
    inputs: list[Any] = [_input(graph, operator), int(options.get("Radius", 0)), *values]
    graph.add("LOCAL_RESPONSE_NORMALIZATION", inputs, operator)


def sign(graph: Importing, operator: Operator) -> None:
    """SIGN: 1, -1, or the input itself for 0 and NaN."""
    data = _input(graph, operator)
    if not data.is_known:
        raise reason(
            "the dimensions of its input are unknown before a run",
            "import.tflite.dynamic-dimensions",
        )
    kinds: dict[T, Any] = {T.TENSOR_FLOAT32: np.float32, T.TENSOR_INT32: np.int32}
    if data.type not in kinds:
        raise reason(f"its input is {data.type.name}", "import.tflite.sign.type")
    dtype = kinds[data.type]
    zero = np.zeros(1, dtype)
    one, minus_one = (graph.filled(data.dimensions, dtype(sign).item()) for sign in (1, -1))
    below = graph.make("SELECT", [graph.make("LESS", [data, zero]), minus_one, data])
    graph.add("SELECT", [graph.make("GREATER", [data, zero]), one, below], operator)


LOWERINGS: dict[str, Lowering] = {
    "ABS": plain("ABS"),
    "CEIL": ceil,
    "ELU": elu,
    "EXP": plain("EXP"),
    "FLOOR": plain("FLOOR"),
    "GELU": gelu,
    "HARD_SWISH": plain("HARD_SWISH"),
    "L2_NORMALIZATION": l2_normalization,
    "LEAKY_RELU": leaky_relu,
    "LOCAL_RESPONSE_NORMALIZATION": local_response,
    "LOG": plain("LOG"),
    "LOGISTIC": plain("LOGISTIC"),
    "LOG_SOFTMAX": log_softmax,
    "NEG": negative,
    "PRELU": plain("PRELU"),
    "RELU": plain("RELU"),
    "RELU6": plain("RELU6"),
    "RELU_0_TO_1": relu_0_to_1,
    "RELU_N1_TO_1": plain("RELU1"),
    "RSQRT": plain("RSQRT"),
    "SIGN": sign,
    "SIN": plain("SIN"),
    "SOFTMAX": softmax,
    "SQRT": plain("SQRT"),
    "SQUARE": square,
    "TANH": plain("TANH"),
}
