"""Logistic and tanh of 16-bit fixed-point numbers, as the reference computes them.

semantics.md 5.6, 16-bit instance. Numbers are int64 arrays that hold 16-bit values; a format with k
integer bits has 15 - k fractional ones, and 1 is 32767 in the format with none.
"""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.fixed_point import rounding_shift

ONE = 32767

_POWERS = {-2: 1672461947, -1: 1302514674, 0: 790015084, 1: 290630308, 2: 39332535, 3: 720401}
_POWERS[4] = 242
"""e^-(2^key), with 31 fractional bits."""


def saturated_16(values: Array) -> Array:
    """Within 16 bits."""
    return np.clip(values, -(2**15), 2**15 - 1)


def product_16(a: Array, b: Array | int) -> Array:
    """SRDHM of 16-bit numbers: a * b / 2^15 rounded to nearest, halves upwards."""
    nudged = a * b + np.where(a * b >= 0, 2**14, 1 - 2**14)
    return saturated_16(np.sign(nudged) * (np.abs(nudged) >> 15))


def logistic_16(values: Array, integer_bits: int) -> Array:
    """1 / (1 + e^-x), without integer bits; that of a negative number is 1 - that of |x|."""
    share = saturated_16(_inverse(_exponential(-np.abs(values), integer_bits)) << 1)
    return np.where(values > 0, share, np.where(values < 0, ONE - share, 2**14))


def tanh_16(values: Array, integer_bits: int) -> Array:
    """(1 - E) / (1 + E) with E = e^-2|x|, without integer bits, with the sign of x."""
    # The same number with one more integer bit is twice as large.
    inverse = _inverse(_exponential(-np.abs(values), integer_bits + 1))
    return np.sign(values) * saturated_16((inverse - 2**13) << 2)


def _constant(value: int) -> int:
    """A constant with 31 fractional bits as the nearest 16-bit number."""
    return int(rounding_shift(np.asarray(value), np.asarray(16)))


def _exponential(values: Array, integer_bits: int) -> Array:
    """e^x for x <= 0.

    x = a - r with a in [-1/4, 0) and r a multiple of 1/4. e^a is a polynomial around -1/8; each bit
    of r is a factor.
    """
    quarter = 1 << (15 - integer_bits - 2)
    a = (values & (quarter - 1)) - quarter
    remainder = a - values
    x = (a << integer_bits) + (1 << 12)
    square = product_16(x, x)
    cube, fourth = product_16(square, x), product_16(square, square)
    tail = rounding_shift(fourth, np.asarray(2)) + cube
    tail = rounding_shift(product_16(tail, _constant(715827883)) + square, np.asarray(1))
    start = _constant(1895147668)
    result = saturated_16(start + product_16(x + tail, start))
    for power, factor in _POWERS.items():
        if power < integer_bits:
            is_set = remainder & (1 << (15 - integer_bits + power)) != 0
            result = np.where(is_set, product_16(result, _constant(factor)), result)
    if integer_bits > 5:
        result = np.where(values < -(32 << (15 - integer_bits)), 0, result)
    return np.where(values == 0, ONE, result)


def _inverse(x: Array) -> Array:
    """2 / (1 + x) with two integer bits, for x from 0 to 1: three steps of Newton's method."""
    divisor = (x + ONE + 1) // 2
    y = _constant(1515870810) + product_16(divisor, _constant(-1010580540))
    for _ in range(3):
        y += saturated_16(product_16(y, 2**13 - product_16(divisor, y)) << 2)
    return y
