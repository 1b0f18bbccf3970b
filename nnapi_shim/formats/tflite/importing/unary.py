"""Unary elementwise operators, and operators along the last axis."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing import math
from nnapi_shim.formats.importing.math import Math, number
from nnapi_shim.formats.importing.operations import NONE, require_known
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import BYTES, Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering, plain
from nnapi_shim.hal.enums import OperandType as T

Function = Callable[[Math, Operand], Operand]


def _input(graph: Importing, operator: Operator) -> Operand:
    return graph.operand(operator.inputs[0])


def _real(function: Function) -> Lowering:
    """A function in float32."""

    def lower(graph: Importing, operator: Operator) -> None:
        x = graph.real(_input(graph, operator))
        graph.give(operator, function(Math(graph), x))

    return lower


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
    """CEIL."""
    graph.give(operator, math.ceiling(Math(graph), _input(graph, operator)))


def leaky_relu(graph: Importing, operator: Operator) -> None:
    """LEAKY_RELU as PRELU with a one-element alpha; a quantized alpha is one step with the scale
    abs(alpha).
    """
    data = _input(graph, operator)
    slope = float(operator.options.get("Alpha", 0.0))
    alpha: Any
    if data.type in BYTES:
        offset = 128 if data.type is T.TENSOR_QUANT8_ASYMM else 0
        step = np.full(1, offset + (slope > 0) - (slope < 0), np.int16)
        alpha = graph.model.constant(step, data.type, abs(slope) or 1.0, offset)
    else:
        alpha = number(data, slope)
    graph.add("PRELU", [data, alpha], operator)


def gelu(graph: Importing, operator: Operator) -> None:
    """GELU, by tanh or by erf."""
    function = math.gelu_by_tanh if operator.options.get("Approximate", False) else math.gelu
    _real(function)(graph, operator)


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
    """SIGN."""
    data = _input(graph, operator)
    require_known(data)
    if data.type not in (T.TENSOR_FLOAT32, T.TENSOR_INT32):
        raise reason(f"its input is {data.type.name}", "import.tflite.sign.type")
    graph.give(operator, math.sign(Math(graph), data))


LOWERINGS: dict[str, Lowering] = {
    "ABS": plain("ABS"),
    "CEIL": ceil,
    "COS": _real(math.cosine),
    "ELU": _real(lambda m, x: m.graph.make("ELU", [x, 1.0])),
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
    "RELU_0_TO_1": _real(lambda m, x: m.min(m.max(x, 0), 1)),
    "RELU_N1_TO_1": plain("RELU1"),
    "ROUND": _real(math.rounded),
    "RSQRT": plain("RSQRT"),
    "SIGN": sign,
    "SIN": plain("SIN"),
    "SOFTMAX": softmax,
    "SQRT": plain("SQRT"),
    "SQUARE": square,
    "TANH": plain("TANH"),
}
