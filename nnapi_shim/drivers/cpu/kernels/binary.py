"""ADD SUB MUL DIV MAXIMUM MINIMUM POW: a formula per operation and element type.

float: computed in float32, rounded once to the stored type, clamped; NaN stays NaN.
int32: 64-bit integers, of which the lower half stays; division rounds down.
quantized: ADD, SUB and MUL in fixed point, rounded where the reference does (semantics.md 6.1 and
6.2), or in float32 where that gives the same; MAXIMUM and MINIMUM in float32, rounded to the
nearest, halves away from zero.
"""

from operator import add, mul, sub, truediv

import numpy as np

from nnapi_shim.drivers.cpu.codegen.broadcasting import (
    pairwise,
    pairwise_with_shortcut,
    without_constants,
)
from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, nothing
from nnapi_shim.drivers.cpu.codegen.fixed_point import (
    long_product,
    result_constants,
    rounded_twice,
    scaled_short,
    short_constants,
    stored,
)
from nnapi_shim.drivers.cpu.codegen.float_shortcut import confidence_mask, requantize_shortcut
from nnapi_shim.drivers.cpu.codegen.logarithm import power
from nnapi_shim.drivers.cpu.codegen.numeric import (
    add32,
    bits_of,
    bounded,
    clamp,
    float_of,
    multiply32,
    multiply_add,
    rounded,
    shift_right32,
    words,
    xor32,
)
from nnapi_shim.drivers.cpu.lowering.binary import FLOAT, LARGEST, LARGEST_REQUANTIZED, PRODUCT, SUM
from nnapi_shim.drivers.cpu.lowering.broadcasting import PLAIN
from nnapi_shim.drivers.cpu.lowering.fixed_point import ROUNDING
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

TEN, AWAY = np.int32(10), np.int32(-2)


def clamped(function):
    """The formula function(x, y), clamped to the bounds; NaN stays NaN."""

    @helper
    def formula(x, y, bounds):
        return clamp(function(x, y), bounds[0], bounds[1])

    return formula


@helper
def add_bounded(x, y, bounds):
    """The sum within bounds that are in the other order (lowering/bounds.py)."""
    return bounded(x + y, bounds[1], bounds[0])


@helper
def divide_rounding_down(x, y):
    """INT32: the quotient in float64, the only vector division there is, lies on the right side of
    every integer, because it is at least 2^-31 of its size away from those that it does not equal.
    0 for y = 0; the quotient that does not fit, 2^31, wraps.
    """
    quotient = np.floor(np.float64(x) / np.float64(y))
    fits = quotient < 2.0**31
    return np.int32(quotient if y != 0 and fits else (0.0 if y == 0 else -(2.0**31)))


@helper
def add_quantized(x, y, values):
    """The sum of both, each times its multiplier, times that of the sum."""
    (zero0, coarse), (zero1, high, low, nudge, down), mantissa, total, result = values
    x, y = add32(np.int32(x), zero0), add32(np.int32(y), zero1)
    # y * 2^20 * M / 2^30
    fine = add32(multiply32(y, high), shift_right32(multiply32(y, low), TEN))
    fine = rounded_twice(fine, nudge, AWAY, down)
    product = long_product(add32(multiply32(x, coarse), fine), mantissa)
    return stored(rounded_twice(product, *total), result)


@helper
def add_shortcut(x, y, values):
    """As add_quantized, in float32; see lowering/float_shortcut.py."""
    (zero0, zero1), (close0, close1, middle), (bits, lowest, highest), mask = values
    x, y = np.float32(add32(np.int32(x), zero0)), np.float32(add32(np.int32(y), zero1))
    units = multiply_add(x, close0, multiply_add(y, close1, middle))
    return requantize_shortcut(units, bits, mask, lowest, highest)


@helper
def mul_quantized(x, y, values):
    """The product of both without their zero points, times the multiplier."""
    (zero0, zero1), multiplier, result = values
    product = multiply32(add32(np.int32(x), zero0), add32(np.int32(y), zero1))
    return stored(scaled_short(product, multiplier), result)


@helper
def largest_float(x, y, flip):
    """The larger of x and y after `flip` on their bits; x where one of them is NaN."""
    x, y = float_of(xor32(bits_of(x), flip)), float_of(xor32(bits_of(y), flip))
    return float_of(xor32(bits_of(y if x < y else x), flip))


@helper
def largest_byte(x, y, flip):
    """The larger of x and y after `flip` on their bits."""
    return max(x ^ flip, y ^ flip) ^ flip


@helper
def largest_word(x, y, flip):
    """As largest_byte."""
    x, y = xor32(np.int32(x), flip), xor32(np.int32(y), flip)
    return xor32(y if x < y else x, flip)


@helper
def largest_requantized(x, y, values):
    """The larger of (x - zero0) * scale0 and (y - zero1) * scale1, negated if sign is -1, plus the
    zero point. Signed bytes are flipped to be 128 higher.
    """
    signed, zero0, scale0, zero1, scale1, sign, zero_point, low, high = values
    x = (np.float32(x ^ signed) - zero0) * scale0
    y = (np.float32(y ^ signed) - zero1) * scale1
    return rounded(bounded((y if x < y else x) * sign + zero_point, low, high))


bounds = helper(lambda a: (a.low, a.high))
coarse, fine = (
    words("zero0", "coarse"),
    words("zero1", "fine_high", "fine_low", "fine_nudge", "fine_down"),
)
rounding, zeros = words(*ROUNDING), words("zero0", "zero1")
limits = words("bits", "lowest", "highest")
sum_constants = helper(
    lambda a: (coarse(a), fine(a), np.int32(a.mantissa), rounding(a), result_constants(a))
)
shortcut_sum_constants = helper(
    lambda a: (
        sum_constants(a),
        (zeros(a), (a.close0, a.close1, a.middle), limits(a), confidence_mask(a.bits)),
    )
)
product_constants = helper(lambda a: (zeros(a), short_constants(a), result_constants(a)))

flip_word = helper(lambda a: np.int32(a.flip))
flip_byte = helper(lambda a: np.uint8(a.flip))
requantized_constants = helper(
    lambda a: (
        np.uint8(a.signed),
        a.zero0,
        a.scale0,
        a.zero1,
        a.scale1,
        a.sign,
        a.zero_point,
        a.low,
        a.high,
    )
)

for _type, _size in (("f32", 4), ("f16", 2)):
    _io = READ[_type], WRITE[_type], (_size, _size)
    for _name, _function in {"add": add, "sub": sub, "mul": mul, "div": truediv}.items():
        pairwise(f"{_name}_{_type}", FLOAT, *_io, bounds, clamped(_function))
    pairwise(f"add_bounded_{_type}", FLOAT, *_io, bounds, add_bounded)
    pairwise(f"pow_{_type}", PLAIN, *_io, nothing, without_constants(power))
    pairwise(f"largest_{_type}", LARGEST, *_io, flip_word, largest_float)

_io = READ["i32"], WRITE["i32"], (4, 4)
for _name, _function in {"add": add, "sub": sub, "mul": mul, "div": divide_rounding_down}.items():
    pairwise(f"{_name}_i32", PLAIN, *_io, nothing, without_constants(_function))
pairwise("largest_i32", LARGEST, *_io, flip_word, largest_word)

for _type in ("qu8", "qs8"):
    _read, _write = READ[_type[1:]], WRITE["b8"]
    _io = _read, _write, (1, 1)
    pairwise(f"add_{_type}", SUM, *_io, sum_constants, add_quantized)
    pairwise_with_shortcut(
        f"add_guarded_{_type}",
        SUM,
        _read,
        _write,
        shortcut_sum_constants,
        add_shortcut,
        add_quantized,
    )
    pairwise(f"mul_{_type}", PRODUCT, *_io, product_constants, mul_quantized)

_io = READ["u8"], WRITE["b8"], (1, 1)
pairwise("largest_b8", LARGEST, *_io, flip_byte, largest_byte)
pairwise(
    "largest_requantized", LARGEST_REQUANTIZED, *_io, requantized_constants, largest_requantized
)
