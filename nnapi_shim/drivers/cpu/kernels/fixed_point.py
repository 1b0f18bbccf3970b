"""Fixed-point arithmetic as the reference does it (semantics.md 5.3 and 5.6), in int64.

A 16-bit number with k integer bits has 15 - k fractional ones; 1 is 32767 in the format with none.
"""

from nnapi_shim.drivers.cpu.kernels.kernel import helper

ONE = 32767


@helper
def saturated(x, bits):
    """The nearest number that `bits` bits can hold."""
    limit = 1 << (bits - 1)
    return min(max(x, -limit), limit - 1)


@helper
def high_product(a, b, bits):
    """SRDHM: a * b / 2^bits rounded to nearest, halves upwards; bits: 31 or 15."""
    product = a * b
    half = 1 << (bits - 1)
    nudged = product + (half if product >= 0 else 1 - half)
    return (nudged + ((1 << bits) - 1 if nudged < 0 else 0)) >> bits


@helper
def rounding_shift(x, bits):
    """RDPOT: x / 2^bits rounded to nearest, halves away from zero."""
    mask = (1 << bits) - 1
    return (x >> bits) + (1 if x & mask > (mask >> 1) + (1 if x < 0 else 0) else 0)


@helper
def scaled(x, mantissa, exponent):
    """MBQM: x * mantissa * 2^(exponent - 31) for a 32-bit x; see `decomposed` in the lowering."""
    shifted = saturated(x << max(exponent, 0), 32)
    return rounding_shift(high_product(shifted, mantissa, 31), max(-exponent, 0))


@helper
def product_16(a, b):
    """SRDHM of 16-bit numbers."""
    return min(high_product(a, b, 15), ONE)


@helper
def _factor_16(result, is_set, factor):
    return product_16(result, factor) if is_set else result


@helper
def _exponential_16(x, integer_bits):
    """e^-x for x >= 0: a polynomial around -1/8, and a factor for each bit of the rest."""
    quarter = 1 << (15 - integer_bits - 2)
    a = (-x & (quarter - 1)) - quarter
    rest = (a + x) >> (15 - integer_bits - 2)
    t = (a << integer_bits) + (1 << 12)
    square = product_16(t, t)
    tail = rounding_shift(product_16(square, square), 2) + product_16(square, t)
    tail = rounding_shift(product_16(tail, 10923) + square, 1)
    result = min(28918 + product_16(t + tail, 28918), ONE)
    result = _factor_16(result, rest & 1, 25520)
    result = _factor_16(result, rest & 2, 19875)
    result = _factor_16(result, rest & 4, 12055)
    result = _factor_16(result, rest & 8, 4435)
    result = _factor_16(result, rest & 16, 600)
    result = _factor_16(result, rest & 32, 11)
    # The next factor is 0 in 16 bits.
    result = 0 if rest & 64 or x > 32 << (15 - integer_bits) else result
    return ONE if x == 0 else result


@helper
def _inverse_16(x):
    """2 / (1 + x) with two integer bits, for x from 0 to 1: three steps of Newton's method."""
    divisor = (x + ONE + 1) >> 1
    y = 23130 + product_16(divisor, -15420)
    for _ in range(3):
        y += saturated(product_16(y, (1 << 13) - product_16(divisor, y)) << 2, 16)
    return y


@helper
def logistic_16(x, integer_bits):
    """1 / (1 + e^-x) for x >= 0, without integer bits."""
    share = saturated(_inverse_16(_exponential_16(x, integer_bits)) << 1, 16)
    return 1 << 14 if x == 0 else share


@helper
def tanh_16(x, integer_bits):
    """The hyperbolic tangent for x >= 0, without integer bits."""
    inverse = _inverse_16(_exponential_16(x, integer_bits + 1))
    return 0 if x == 0 else saturated((inverse - (1 << 13)) << 2, 16)


@helper
def inverse_root(n):
    """(m, s) with m * 2^-(31 + s) = 1 / sqrt(n) for a positive n: five steps of Newton's method."""
    if n <= 1:
        return (1 << 31) - 1, 0
    shift = 11
    while n >= 1 << 29:
        n, shift = n >> 2, shift + 1
    while n < 1 << 27:
        n, shift = n << 2, shift - 1
    half = rounding_shift(n >> 1, 1)
    x = 1 << 28
    for _ in range(5):
        cube = saturated(high_product(high_product(x, x, 31), x, 31) << 6, 32)
        x = saturated((high_product(3 << 27, x, 31) - high_product(half, cube, 31)) << 3, 32)
    mantissa = high_product(x, 1518500250, 31)
    return mantissa << max(-shift, 0), max(shift, 0)
