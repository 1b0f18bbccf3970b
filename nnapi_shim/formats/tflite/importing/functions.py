"""Functions that NNAPI lacks, composed of its operations."""

import math

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.operations import NONE
from nnapi_shim.formats.tflite.importing.plain import Lowering


def _number(value: float) -> Array:
    return np.full(1, value, np.float32)


def _input(graph: Importing, operator: Operator) -> Operand:
    return graph.real(graph.operand(operator.inputs[0]))


def cosine(graph: Importing, operator: Operator) -> None:
    """1 - 2 sin(x / 2)^2: x / 2 is exact, so the error is at most 5e-7 for every x. sin(x + pi / 2)
    has an error of 5e-4 at 10,000, where x + pi / 2 is rounded.
    """
    half = graph.make("MUL", [_input(graph, operator), _number(0.5), NONE])
    sine = graph.make("SIN", [half])
    square = graph.make("MUL", [sine, sine, NONE])
    double = graph.make("MUL", [square, _number(2), NONE])
    graph.give(operator, graph.make("SUB", [_number(1), double, NONE]))


WHOLE = 2.0**23
"""2^23: from here on every float32 is an integer; adding it rounds smaller values half to even."""


def round_(graph: Importing, operator: Operator) -> None:
    """ROUND: adding and subtracting 2^23 rounds abs(x); larger values are integers already."""
    data = _input(graph, operator)
    size = graph.make("ABS", [data])
    moved = graph.make("ADD", [size, _number(WHOLE), NONE])
    rounded = graph.make("SUB", [moved, _number(WHOLE), NONE])
    negative = graph.make("LESS", [data, _number(0)])
    signed = graph.make("SELECT", [negative, graph.make("NEG", [rounded]), rounded])
    is_small = graph.make("LESS", [size, _number(WHOLE)])
    graph.give(operator, graph.make("SELECT", [is_small, signed, data]))


_P = 0.3275911
_FACTORS = 1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592


def gelu(graph: Importing, data: Operand) -> Operand:
    """X / 2 (1 + erf(x / sqrt 2)), with erf by Abramowitz and Stegun 7.1.26.

    The error of erf is at most 1.5e-7, that of the result 2.1e-7 abs(x); LiteRT's is 1.0e-7 abs(x).
    """
    inner = graph.make("MUL", [data, _number(math.sqrt(0.5)), NONE])
    size = graph.make("ABS", [inner])
    below = graph.make("ADD", [graph.make("MUL", [size, _number(_P), NONE]), _number(1), NONE])
    t = graph.make("DIV", [_number(1), below, NONE])
    first, *others = _FACTORS
    total = graph.make("MUL", [t, _number(first), NONE])
    for factor in others:
        total = graph.make("ADD", [total, _number(factor), NONE])
        total = graph.make("MUL", [total, t, NONE])
    power = graph.make("NEG", [graph.make("MUL", [size, size, NONE])])
    tail = graph.make("MUL", [total, graph.make("EXP", [power]), NONE])  # 1 - erf(|x|)
    rest = graph.make("SUB", [_number(2), tail, NONE])
    weight = graph.make("SELECT", [graph.make("LESS", [data, _number(0)]), tail, rest])
    half = graph.make("MUL", [data, _number(0.5), NONE])
    result: Operand = graph.make("MUL", [half, weight, NONE])
    return result


LOWERINGS: dict[str, Lowering] = {"COS": cosine, "ROUND": round_}
