"""Arithmetic of operands, and functions that NNAPI lacks, composed of its operations."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.operations import NONE, Operations
from nnapi_shim.hal.enums import OperandType as T

FUSING = ("ADD", "DIV", "MUL", "SUB")
"""Operations whose last input is an activation."""


def number(operand: Operand, value: float) -> Array:
    """A one-element constant of the type of an operand.

    A file may give integers a number that is none; whether the operation takes integers is asked
    when it is added.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.full(1, value, DTYPES[operand.type])


def _binary(kind: str) -> "Callable[[Math, Any, Any], Operand]":
    return lambda m, a, b: m.pair(kind, a, b)


class Math:
    """Arithmetic of operands; Python numbers become constants of the other operand's type."""

    def __init__(self, graph: Operations) -> None:
        self.graph = graph

    def pair(self, kind: str, a: Any, b: Any) -> Operand:
        """A binary operation."""
        like = a if isinstance(a, Operand) else b
        inputs = [i if isinstance(i, Operand | np.ndarray) else number(like, i) for i in (a, b)]
        return self.graph.make(kind, [*inputs, *([NONE] if kind in FUSING else [])])

    add = _binary("ADD")
    sub = _binary("SUB")
    mul = _binary("MUL")
    div = _binary("DIV")
    max = _binary("MAXIMUM")
    min = _binary("MINIMUM")
    less = _binary("LESS")
    greater = _binary("GREATER")
    equal = _binary("EQUAL")

    def unary(self, kind: str, x: Operand) -> Operand:
        """An operation of one operand."""
        return self.graph.make(kind, [x])

    def select(self, condition: Operand, a: Operand, b: Operand) -> Operand:
        """A where the condition holds, else b; all of one shape."""
        return self.graph.make("SELECT", [condition, a, b])

    def full(self, like: Operand, value: float) -> Operand:
        """A tensor of the dimensions of an operand, filled with a number."""
        if like.type is T.TENSOR_FLOAT32 or like.type is T.TENSOR_INT32:
            dtype: Any = float if like.type is T.TENSOR_FLOAT32 else int
            return self.graph.filled(like.dimensions, dtype(value))
        dtype = DTYPES[like.type]
        array = self.graph.room.filled(like.dimensions, value, dtype, "a constant")
        return self.graph.model.constant(array)

    def reduced(self, kind: str, x: Operand, axes: Sequence[int]) -> Operand:
        """A reduction over axes, which keep size 1."""
        keep = 1 if kind == "MEAN" else True
        return self.graph.make(kind, [x, np.array(axes, np.int32), keep])

    def mean(self, x: Operand, axes: Sequence[int]) -> Operand:
        """The mean over axes, which keep size 1."""
        return self.reduced("MEAN", x, axes)


def ceiling(m: Math, x: Operand) -> Operand:
    """-floor(-x)."""
    return m.unary("NEG", m.unary("FLOOR", m.unary("NEG", x)))


def cosine(m: Math, x: Operand) -> Operand:
    """1 - 2 sin(x / 2)^2: x / 2 is exact, so the error is at most 5e-7 for every x. sin(x + pi / 2)
    has an error of 5e-4 at 10,000, where x + pi / 2 is rounded.
    """
    sine = m.unary("SIN", m.mul(x, 0.5))
    return m.sub(1, m.mul(m.mul(sine, sine), 2))


WHOLE = {T.TENSOR_FLOAT32: 2.0**23, T.TENSOR_FLOAT16: 2.0**10}
"""From here on every number is an integer; adding it rounds smaller ones half to even."""


def rounded(m: Math, x: Operand) -> Operand:
    """The nearest integers, halves to even."""
    size, whole = m.unary("ABS", x), WHOLE[x.type]
    near = m.sub(m.add(size, whole), whole)
    signed = m.select(m.less(x, 0), m.unary("NEG", near), near)
    return m.select(m.less(size, whole), signed, x)


def sign(m: Math, x: Operand) -> Operand:
    """1, -1, or the input itself for 0 and NaN."""
    below = m.select(m.less(x, 0), m.full(x, -1), x)
    return m.select(m.greater(x, 0), m.full(x, 1), below)


_P = 0.3275911
_FACTORS = 1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592


def _erf_rest(m: Math, size: Operand) -> Operand:
    """1 - erf(x) for x from 0 on, by Abramowitz and Stegun 7.1.26: the error is below 1.5e-7."""
    t = m.div(1, m.add(m.mul(size, _P), 1))
    first, *others = _FACTORS
    total = m.mul(t, first)
    for factor in others:
        total = m.mul(m.add(total, factor), t)
    return m.mul(total, m.unary("EXP", m.unary("NEG", m.mul(size, size))))


def erf(m: Math, x: Operand) -> Operand:
    """The error function."""
    size = m.sub(1, _erf_rest(m, m.unary("ABS", x)))
    return m.select(m.less(x, 0), m.unary("NEG", size), size)


def gelu(m: Math, x: Operand) -> Operand:
    """X / 2 (1 + erf(x / sqrt 2)); the error is at most 2.1e-7 abs(x), LiteRT's 1.0e-7 abs(x)."""
    tail = _erf_rest(m, m.unary("ABS", m.mul(x, math.sqrt(0.5))))
    weight = m.select(m.less(x, 0), tail, m.sub(2, tail))
    return m.mul(m.mul(x, 0.5), weight)


def gelu_by_tanh(m: Math, x: Operand) -> Operand:
    """The approximation of GELU by tanh, in the form that nnapi-cpu fuses."""
    cube = m.mul(m.mul(m.mul(x, x), x), 0.044715)
    inner = m.mul(m.add(x, cube), math.sqrt(2 / math.pi))
    return m.mul(m.mul(m.add(m.unary("TANH", inner), 1), x), 0.5)
