"""sin in float32: with a reduction that vectorises, and with one for all numbers.

Absolute errors are below 1.2e-7 with or without fused multiply-add; a test measures them.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.elements import READ
from nnapi_shim.drivers.cpu.codegen.exponential import MAGIC
from nnapi_shim.drivers.cpu.codegen.numeric import bits_of, float_of, multiply_add
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

ONE, INFINITY = np.float32(1), np.float32(np.inf)
ONE_OVER_PI = np.float32(1 / np.pi)

LIMIT = np.float32(2.0**13)
"""Up to this, the integer that x is a multiple of pi has 12 bits."""

MINUS_PI_HIGH = np.float32(-3.140625)
MINUS_PI_MIDDLE = np.float32(-0.0009675025939941406)
MINUS_PI_LOW = np.float32(-1.5099579909783765e-07)
"""The first two have at most 12 bits, so that their products with such an integer are exact."""

S3, S5, S7, S9 = (np.float32(s) for s in (-0.1666666, 0.008333069, -0.00019809774, 2.6060818e-06))
"""sin(r) = r + S3 r^3 + ... + S9 r^9 within 6.3e-9 of its size for |r| <= pi/2; fitted like the
polynomial in exponential.py.
"""

read_power = READ["u64"]

BIT_63 = np.uint64(1 << 63)
HALF_TURN = np.float32(np.pi / 2**63)


@helper
def near_0(r, half_turns):
    """sin(r + half_turns * pi) for |r| <= pi/2."""
    square = r * r
    tail = multiply_add(multiply_add(multiply_add(S9, square, S7), square, S5), square, S3)
    return float_of(bits_of(multiply_add(tail * square, r, r)) ^ np.int32(half_turns << 31))


@helper
def sine(x):
    """sin(x) for |x| <= LIMIT."""
    shifted = multiply_add(x, ONE_OVER_PI, MAGIC)
    whole = shifted - MAGIC
    r = multiply_add(whole, MINUS_PI_MIDDLE, multiply_add(whole, MINUS_PI_HIGH, x))
    return near_0(multiply_add(whole, MINUS_PI_LOW, r), bits_of(shifted))


@helper
def sine_of_any(x, table):
    """sin(x), NaN for infinities; table: see lowering/unary.py.

    From 1 on, x is an integer of 24 bits times a power of 2. Its product with that power over pi,
    from the table, wraps around at two half turns, the last bit being worth 2^-63 of one.
    """
    if not abs(x) < INFINITY:
        return x - x
    if abs(x) < ONE:
        return near_0(x, 0)
    bits = np.int64(bits_of(x))
    exponent = (bits >> 23) & 0xFF
    mantissa = np.uint64((bits & 0x7FFFFF) | 0x800000)
    turn = mantissa * read_power(table, (exponent - 127) & 127)
    half_turns = (turn + (BIT_63 >> np.uint64(1))) >> np.uint64(63)
    r = np.float32(np.int64(turn - (half_turns << np.uint64(63)))) * HALF_TURN
    return near_0(r if x > 0 else -r, np.int64(half_turns))
