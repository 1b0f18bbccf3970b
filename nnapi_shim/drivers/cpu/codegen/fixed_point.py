"""Fixed-point arithmetic as the reference does it (semantics.md 5.3 and 5.6).

The first part vectorizes, in int32: MBQM for multipliers below 1, with both roundings in one. With
r = x * M / 2^30, rounded down, and e = -n, the first rounding is t = (r + 1) >> 1, and the second
(t + 2^(n-1) - (t < 0)) >> n; the two shifts are one shift. For n = 0 there is no second rounding.
t < 0 may be replaced by r < 0: they differ only for t = 0, where the result is 0 in both cases.

The second part is the general form, in int64: a number with k integer bits has width - 1 - k
fractional bits, of a width of 16 or 32; 1 is the largest number without integer bits.
"""

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.numeric import (
    add32,
    and32,
    arithmetic,
    bits64_of,
    multiply32,
    shift_right32,
    words,
)
from nnapi_shim.drivers.cpu.lowering.fixed_point import SHORT
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

SIXTEEN, SIGN_SHIFT = np.int32(16), np.int32(31)


def _emit_product(builder, x, mantissa):
    long = ir.IntType(64)
    product = builder.mul(builder.sext(x, long), builder.sext(mantissa, long))
    return builder.trunc(builder.ashr(product, ir.Constant(long, 30)), ir.IntType(32))


long_product = arithmetic(types.int32, _emit_product)
"""x * M / 2^30, rounded down."""


shift_right_unsigned = arithmetic(types.int32, lambda b, x, bits: b.lshr(x, bits))
"""Of the 32 bits of x as a positive number."""


@helper
def short_product(x, high, low, shift):
    """The product x * M / 2^(16 + shift), rounded down, for |x| of up to 16 bits; see `halves`."""
    return shift_right32(
        add32(multiply32(x, high), shift_right32(multiply32(x, low), SIXTEEN)), shift
    )


@helper
def rounded_twice(product, nudge, away, down):
    """RDPOT of SRDHM from one of the products above; see `rounding`."""
    is_negative = shift_right32(product, SIGN_SHIFT)
    return shift_right32(add32(add32(product, nudge), and32(is_negative, away)), down)


short_constants = words(*SHORT)
"""The multiplier of a record with these fields."""


@helper
def scaled_short(x, multiplier):
    """MBQM of a number of up to 16 bits and a sign; see `short_multiplier`."""
    high, low, shift, nudge, away, down = multiplier
    return rounded_twice(short_product(x, high, low, shift), nudge, away, down)


result_constants = words("zero_point", "lowest", "highest")
"""Of a record with these fields."""


@helper
def stored(steps, result):
    """Steps from the zero point, within bounds; result: see `result_constants`."""
    zero_point, low, high = result
    return min(max(add32(steps, zero_point), low), high)


# The general form


@helper
def saturated(x, bits):
    """The nearest number that `bits` bits can hold."""
    limit = 1 << (bits - 1)
    return min(max(x, -limit), limit - 1)


@helper
def high_product(a, b, bits):
    """SRDHM: a * b / 2^bits rounded to nearest, halves upwards; bits: 31 or 15."""
    # What semantics.md adds to a negative product, and cuts off toward zero, comes to the same.
    return (a * b + (1 << (bits - 1))) >> bits


@helper
def rounding_shift(x, bits):
    """RDPOT: x / 2^bits rounded to nearest, halves away from zero."""
    mask = (1 << bits) - 1
    return (x >> bits) + (1 if x & mask > (mask >> 1) + (1 if x < 0 else 0) else 0)


@helper
def rounding_shift_16(x, bits):
    """RDPOT of a 16-bit number: the mask is one, too, and all ones from 16 bits on."""
    if bits < 16:
        return rounding_shift(x, bits)
    return -1 if x < 0 else 1


@helper
def scaled(x, mantissa, exponent):
    """MBQM: x * mantissa * 2^(exponent - 31) for a 32-bit x; see `decomposed` in the lowering."""
    shifted = saturated(x << max(exponent, 0), 32)
    return rounding_shift(high_product(shifted, mantissa, 31), max(-exponent, 0))


@helper
def scaled_down(x, mantissa, shift):
    """`scaled` of int32 with an exponent of -shift, at most 0, in fewer operations."""
    product = (np.int64(x) * np.int64(mantissa) + (1 << 30)) >> 31
    half, away = (1 << shift) >> 1, -1 if shift > 0 else 0
    return (product + half + (product >> 63 & away)) >> shift


ONE = 32767
"""In 16 bits."""


@helper
def product_16(a, b):
    """SRDHM of 16-bit numbers."""
    return min(high_product(a, b, 15), ONE)


@helper
def wrapped_32(x):
    """The low 32 bits, signed."""
    return np.int64(np.int32(x))


def exponentials(width):
    """(exponential, reciprocal, logistic, tanh) of numbers of `width` bits, all without integer
    bits.

    exponential(x, integer_bits): e^-x for x >= 0; reciprocal(x): 1 / (1 + x) for x from 0 to 1;
    logistic(x, integer_bits), tanh(x, integer_bits): for x >= 0.
    """
    top = width - 1
    one, half_one, lowered = (1 << top) - 1, 1 << (width - 2), 1 << (width - 3)
    eighth = 1 << (width - 4)
    rounded = rounded_to(width)
    third, start, first, slope = rounded(715827883, 1895147668, 1515870810, -1010580540)
    factors = tuple(rounded(1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242))

    @helper
    def product(a, b):
        return min(high_product(a, b, top), one)

    @helper
    def exponential(x, integer_bits):
        # A polynomial around -1/8, and a factor for each bit of the rest.
        fraction_bits = top - integer_bits - 2
        quarter = 1 << fraction_bits
        a = (-x & (quarter - 1)) - quarter
        rest = (a + x) >> fraction_bits
        t = (a << integer_bits) + eighth
        square = product(t, t)
        tail = rounding_shift(product(square, square), 2) + product(square, t)
        tail = rounding_shift(product(tail, third) + square, 1)
        result = min(start + product(t + tail, start), one)
        for bit in range(len(factors)):
            result = product(result, factors[bit]) if rest & (1 << bit) else result
        result = 0 if x > 32 << (top - integer_bits) else result
        return one if x == 0 else result

    @helper
    def inverse(x):
        # 2 / (1 + x) with two integer bits: three steps of Newton's method.
        total = x + one
        divisor = (total + 1) >> 1 if total >= 0 else -((1 - total) >> 1)
        y = first + product(divisor, slope)
        for _ in range(3):
            error = wrapped_32(lowered - product(divisor, y))
            y = wrapped_32(y + saturated(product(y, error) << 2, width))
        return y

    @helper
    def reciprocal(x):
        return saturated(inverse(x) << 1, width)

    @helper
    def logistic(x, integer_bits):
        share = reciprocal(exponential(x, integer_bits))
        return half_one if x == 0 else share

    @helper
    def tanh(x, integer_bits):
        # The same number with one more integer bit is twice as large.
        share = saturated((inverse(exponential(x, integer_bits + 1)) - lowered) << 2, width)
        return 0 if x == 0 else share

    return exponential, reciprocal, logistic, tanh


def rounded_to(width):
    """A function from constants with 31 fractional bits to the nearest of `width` bits."""
    half = 1 << (31 - width) if width < 32 else 0
    return lambda *values: [(value + half) >> (32 - width) for value in values]


_, _, logistic_16, tanh_16 = exponentials(16)
exponential_32, reciprocal_32, logistic_32, tanh_32 = exponentials(32)


@helper
def floor_log2(n):
    """The place of the highest bit of a positive n below 2^53."""
    return (bits64_of(np.float64(n)) >> 52) - 1023


@helper
def inverse_root(n):
    """(m, s) with m * 2^-(31 + s) = 1 / sqrt(n): five steps of Newton's method.

    1 is the largest m; n < 1 counts as 1.
    """
    if n <= 1:
        return (1 << 31) - 1, 0
    pairs = (28 - floor_log2(n)) >> 1
    shift = 11 - pairs
    n = n << (2 * pairs) if pairs >= 0 else n >> 2
    half = rounding_shift(n >> 1, 1)
    x = 1 << 28
    for _ in range(5):
        cube = saturated(high_product(high_product(x, x, 31), x, 31) << 6, 32)
        x = saturated((high_product(3 << 27, x, 31) - high_product(half, cube, 31)) << 3, 32)
    mantissa = high_product(x, 1518500250, 31)
    return mantissa << max(-shift, 0), max(shift, 0)
