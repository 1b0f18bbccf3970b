"""ADD SUB MUL DIV MAXIMUM MINIMUM POW: a formula per operation and element type.

float: computed in float32, rounded once to the stored type, clamped; NaN stays NaN.
int32: 64-bit integers, of which the lower half stays; division rounds down.
quantized: ADD, SUB and MUL in fixed point, rounded where the reference does (semantics.md 6.1 and
6.2), sums in float32 where all of them are the same; MAXIMUM and MINIMUM in float32, rounded to
the nearest, halves away from zero.
"""

from operator import add, mul, sub, truediv

import numpy as np

from nnapi_shim.drivers.cpu.codegen.broadcasting import (
    pairwise,
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
from nnapi_shim.drivers.cpu.codegen.logarithm import power
from nnapi_shim.drivers.cpu.codegen.numeric import (
    add32,
    bits_of,
    bounded,
    clamp,
    f32,
    float_of,
    i64,
    multiply32,
    multiply_add,
    nearest,
    rounded,
    shift_right32,
    words,
    xor32,
)
from nnapi_shim.drivers.cpu.lowering.binary import FLOAT, LARGEST, LARGEST_REQUANTIZED, PRODUCT, SUM
from nnapi_shim.drivers.cpu.lowering.broadcasting import PLAIN
from nnapi_shim.drivers.cpu.lowering.fixed_point import ROUNDING
from nnapi_shim.drivers.cpu.lowering.quantized_sum import PROVE_SUM, SCALES
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

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
    """The sum of two int8, each times its multiplier, times that of the sum."""
    (zero0, coarse), (zero1, high, low, nudge, down), mantissa, total, result = values
    x, y = add32(x, zero0), add32(y, zero1)
    # y * 2^20 * M / 2^30
    fine = add32(multiply32(y, high), shift_right32(multiply32(y, low), TEN))
    fine = rounded_twice(fine, nudge, AWAY, down)
    product = long_product(add32(multiply32(x, coarse), fine), mantissa)
    return stored(rounded_twice(product, *total), result)


@helper
def add_float(x, y, values):
    """As add_quantized, in float32; see lowering/quantized_sum.py."""
    (scale0, scale1, offset), (lowest, highest) = values
    total = multiply_add(np.float32(x), scale0, multiply_add(np.float32(y), scale1, offset))
    return min(max(nearest(total), lowest), highest)


def of_stored(formula):
    """The formula of int8, of bytes as they are stored."""

    @helper
    def flipped(x, y, constants):
        flip, values = constants
        result = formula(xor32(np.int32(x), flip), xor32(np.int32(y), flip), values)
        return xor32(result, flip)

    return flipped


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
limits = words("lowest", "highest")
sum_constants = helper(
    lambda a: (coarse(a), fine(a), np.int32(a.mantissa), rounding(a), result_constants(a))
)
stored_sum_constants = helper(lambda a: (np.int32(a.flip), sum_constants(a)))
float_sum_constants = helper(
    lambda a: (np.int32(a.flip), ((a.scale0, a.scale1, a.offset), limits(a)))
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

for _type in ("u8", "s8"):
    _io = READ[_type], WRITE["b8"], (1, 1)
    pairwise(f"mul_q{_type}", PRODUCT, *_io, product_constants, mul_quantized)

pairwise("add_b8", SUM, *_io, stored_sum_constants, of_stored(add_quantized))
pairwise("add_float_b8", SUM, *_io, float_sum_constants, of_stored(add_float))

_io = READ["u8"], WRITE["b8"], (1, 1)
pairwise("largest_b8", LARGEST, *_io, flip_byte, largest_byte)
pairwise(
    "largest_requantized", LARGEST_REQUANTIZED, *_io, requantized_constants, largest_requantized
)


NEAR = 5
"""A float32 number, and two on each side of it."""
TRIALS = NEAR ** len(SCALES)


@helper
def beside(number, place):
    """The number itself, the next one, the one before, and so on."""
    distance = (place + 1) // 2
    return float_of(bits_of(number) + np.int32(distance if place % 2 else -distance))


@helper
def is_same_sum(fixed, floats):
    """Whether all sums of int8 are the same in fixed point and in float32.

    fixed, floats: the values of add_quantized and of add_float.
    """
    for second in range(-128, 128):
        y, others = np.int32(second), np.int32(0)
        for first in range(-128, 128):
            x = np.int32(first)
            differs = add_float(x, y, floats) != add_quantized(x, y, fixed)
            others = add32(others, np.int32(differs))
        if others != 0:
            return False
    return True


@kernel(PROVE_SUM)
def prove_sum(a, tile):
    """See ../lowering/quantized_sum.py."""
    fixed, found, scales = sum_constants(a), i64(a.output), f32(a.output + 8)
    found[0] = 0
    for trial in range(TRIALS):
        offset = beside(a.offset, trial % NEAR)
        scale0 = beside(a.scale0, trial // NEAR % NEAR)
        scale1 = beside(a.scale1, trial // NEAR // NEAR)
        if is_same_sum(fixed, ((scale0, scale1, offset), limits(a))):
            found[0] = 1
            scales[0], scales[1], scales[2] = scale0, scale1, offset
            break
    return 0
