"""Multiplication of integers by a real number, as the reference does it (semantics.md 5.2, 5.3).

Two roundings: results can differ by 1 from the exact product rounded once, so operations for which
the specification gives this recipe follow it.
"""

from typing import Any

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, rounded


def scaled(values: Array, multiplier: Any) -> Array:
    """32-bit values * multiplier: RDPOT(SRDHM(values << e+, M), e-).

    multiplier: M * 2^(e - 31), a float or an array of them that broadcasts against the values;
    e+ is e where it is positive, e- is -e where it is negative. A negative one has a negative M.
    """
    mantissa, exponent = decomposed(multiplier)
    up, down = np.clip(exponent, 0, 31), np.maximum(-exponent, 0)
    # The reference overflows when a shifted value leaves 32 bits; the nearest sense is the limit.
    shifted = limited(values.astype(np.int64) * (1 << up), 32)
    return rounding_shift(doubling_high_product(shifted, mantissa), down)


def decomposed(multiplier: Any) -> tuple[Array, Array]:
    """(M, e) with multiplier = M * 2^(e - 31) and 2^30 <= |M| < 2^31; (0, 0) below 2^-32."""
    # An infinite float32 product has the effect of the largest float32.
    fraction, exponent = np.frexp(np.minimum(np.float64(multiplier), np.finfo(np.float32).max))
    mantissa = rounded(fraction * 2.0**31).astype(np.int64)
    carried = np.abs(mantissa) == 2**31
    mantissa = np.where(carried, mantissa // 2, mantissa)
    exponent = np.where(carried, exponent + 1, exponent).astype(np.int64)
    vanishes = exponent < -31
    return np.where(vanishes, 0, mantissa), np.where(vanishes, 0, exponent)


def input_radius(multiplier: float, integer_bits: int) -> int:
    """The distance from the zero point where numbers times a multiplier leave a 32-bit format with
    so many integer bits (semantics.md 5.7); the multiplier is above 1, but for empty tensors.
    """
    _, exponent = decomposed(multiplier)
    return ((1 << integer_bits) - 1) << (31 - integer_bits) >> max(int(exponent), 0)


def doubling_high_product(a: Array | int, b: Array | int, width: int = 32) -> Array:
    """SRDHM of numbers of `width` bits: a * b / 2^(width - 1) to nearest, halves upwards."""
    product = a * b
    half = 1 << (width - 2)
    nudged: Array = product + np.where(product >= 0, half, 1 - half)
    quotient: Array = np.sign(nudged) * (np.abs(nudged) >> (width - 1))
    return limited(quotient, width)


def rounding_shift(x: Array, bits: Array | int, width: int = 32) -> Array:
    """RDPOT: x / 2^bits rounded to nearest, halves away from zero; bits from 0 to 31.

    width: bits of the numbers that the reference computes with. The mask is such a number, too: to
    shift a 16-bit number by 16 or more gives 1, and -1 for a negative one.
    """
    mask = np.where(bits < width, (1 << bits) - 1, -1)
    threshold = (mask >> 1) + (x < 0)
    result: Array = (x >> bits) + ((x & mask) > threshold)
    return result


def limited(values: Array, width: int) -> Array:
    """The nearest numbers of `width` bits."""
    return np.clip(values, -one(width) - 1, one(width))


def wrapped(values: Array, width: int = 32) -> Array:
    """The low `width` bits, signed: what remains of a sum that overflows."""
    half = 1 << (width - 1)
    result: Array = (values + half) % (2 * half) - half
    return result


def one(width: int) -> int:
    """1 without integer bits: the largest number of `width` bits."""
    return (1 << (width - 1)) - 1


def inverse_square_root(n: Array) -> tuple[Array, Array]:
    """(M, shift) with 1 / sqrt(n) = M * 2^-31 * 2^-shift (semantics.md 5.6).

    Newton's iteration for 1 / sqrt(v) of v = n / 2^29 * 4^k in [1/4, 1), numbers in Q3.28. As in
    the reference, 1 is the largest mantissa, and so is 1 / sqrt(0), and what belongs to a sum that
    has overflowed.
    """
    v, shift = n.astype(np.int64), np.full(n.shape, 11)
    while (too_large := v >= 2**29).any():
        v, shift = np.where(too_large, v // 4, v), shift + too_large
    while (too_small := (v > 1) & (v < 2**27)).any():
        v, shift = np.where(too_small, v * 4, v), shift - too_small
    v >>= 1
    half = rounding_shift(v, 1)
    x = np.full(n.shape, 2**28)
    for _ in range(5):
        cube = limited(doubling_high_product(doubling_high_product(x, x), x) << 6, 32)
        step = doubling_high_product(3 * 2**27, x) - doubling_high_product(half, cube)
        x = limited(step << 3, 32)
    mantissa = doubling_high_product(x, 1518500250) << np.maximum(-shift, 0)
    is_trivial = n <= 1
    return (
        np.where(is_trivial, 2**31 - 1, mantissa),
        np.where(is_trivial, 0, np.maximum(shift, 0)),
    )
