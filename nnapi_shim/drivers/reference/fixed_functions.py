"""Exponentials, logistic, tanh and reciprocals of fixed-point numbers, as the reference computes
them.

semantics.md 5.6. Numbers are int64 arrays that hold numbers of `width` bits, 16 or 32; a format
with k integer bits has width - 1 - k fractional ones. In the format with none, 1 is the largest
number.
"""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.fixed_point import (
    doubling_high_product,
    limited,
    one,
    rounding_shift,
    wrapped,
)

_POWERS = {-2: 1672461947, -1: 1302514674, 0: 790015084, 1: 290630308, 2: 39332535, 3: 720401}
_POWERS[4] = 242
"""e^-(2^key), with 31 fractional bits."""


def logistic(values: Array, integer_bits: int, width: int) -> Array:
    """1 / (1 + e^-x), without integer bits; that of a negative number is 1 - that of |x|."""
    share = reciprocal(exponential(-np.abs(values), integer_bits, width), width)
    half = 1 << (width - 2)
    return np.where(values > 0, share, np.where(values < 0, one(width) - share, half))


def tanh(values: Array, integer_bits: int, width: int) -> Array:
    """(1 - E) / (1 + E) with E = e^-2|x|, without integer bits, with the sign of x."""
    # The same number with one more integer bit is twice as large.
    inverse = _inverse(exponential(-np.abs(values), integer_bits + 1, width), width)
    return np.sign(values) * limited((inverse - (1 << (width - 3))) << 2, width)


def reciprocal(x: Array, width: int) -> Array:
    """1 / (1 + x) for x from 0 to 1, both without integer bits."""
    return limited(_inverse(x, width) << 1, width)


def exponential(values: Array, integer_bits: int, width: int) -> Array:
    """e^x for x <= 0 with so many integer bits, the result without.

    x = a - r with a in [-1/4, 0) and r a multiple of 1/4. e^a is a polynomial around -1/8; each bit
    of r is a factor.
    """
    fraction_bits = width - 1 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    a = (values & (quarter - 1)) - quarter
    remainder = a - values
    x = (a << integer_bits) + (1 << (width - 4))
    square = doubling_high_product(x, x, width)
    cube = doubling_high_product(square, x, width)
    fourth = doubling_high_product(square, square, width)
    tail = rounding_shift(fourth, 2) + cube
    third = doubling_high_product(tail, _constant(715827883, width), width)
    tail = rounding_shift(third + square, 1)
    start = _constant(1895147668, width)
    result = limited(start + doubling_high_product(x + tail, start, width), width)
    for power, factor in _POWERS.items():
        if power < integer_bits:
            is_set = remainder & (1 << (fraction_bits + power)) != 0
            product = doubling_high_product(result, _constant(factor, width), width)
            result = np.where(is_set, product, result)
    if integer_bits > 5:
        result = np.where(values < -(32 << fraction_bits), 0, result)
    return np.where(values == 0, one(width), result)


def _constant(value: int, width: int) -> Array:
    """A constant with 31 fractional bits as the nearest number of `width` bits."""
    return rounding_shift(np.asarray(value), 32 - width)


def _inverse(x: Array, width: int) -> Array:
    """2 / (1 + x) with two integer bits, for x from 0 to 1: three steps of Newton's method."""
    total = x + one(width)
    divisor = np.sign(total) * ((np.abs(total) + 1) // 2)
    first = doubling_high_product(divisor, _constant(-1010580540, width), width)
    y: Array = _constant(1515870810, width) + first
    for _ in range(3):
        error = (1 << (width - 3)) - doubling_high_product(divisor, y, width)
        step = limited(doubling_high_product(y, wrapped(error, width), width) << 2, width)
        y = wrapped(y + step, width)
    return y
