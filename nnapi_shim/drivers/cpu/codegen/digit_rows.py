"""Helpers of digit products: the levels of a row, and the sums of a panel's columns.

See ../lowering/digit_products.py.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import late
from nnapi_shim.drivers.cpu.codegen.digit_microkernel import (
    GROUP,
    LANES,
    fill_digit,
    fill_whole,
    magnitudes,
    multiply_digits,
)
from nnapi_shim.drivers.cpu.codegen.elements import READ
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.numeric import f32, i32, i64, u8
from nnapi_shim.drivers.cpu.lowering.digit_products import (
    BINADES,
    COLUMN_HEAD,
    HEAD_BYTES,
    LARGE,
    LEVEL_BITS,
    LEVEL_BYTES,
    NUMBER_BYTES,
    digit_columns,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

BIAS, MANTISSA = 127, 23
BITS = LEVEL_BITS[GROUP]
ROOM = {4: 0x10101, 2: 0}[GROUP]
"""Three signed bytes end before 2^23 does: the largest significands have one bit less."""
LEAST = -149
"""The smallest number is 2^LEAST."""
COLUMNS = digit_columns(ISA.tier)
ZERO = np.uint8(128 if GROUP == 4 else 0)
"""A packed weight of 0."""
read_f32 = READ["f32"]


@helper
def bits_of_power(exponent):
    """Those of 2^exponent, of at least 2^LEAST."""
    if exponent <= -BIAS:
        return 1 << max(exponent - LEAST, 0)
    return (exponent + BIAS) << MANTISSA


@helper
def finish_level(level, words, exponent):
    """The fields of a level of the words up to `words`."""
    half = exponent >> 1
    i64(level)[0] = words
    i32(level)[2] = (BIAS - half) << MANTISSA
    i32(level)[3] = (BIAS + half - exponent) << MANTISSA


@helper
def prepare_row(row, target, depth, capacity):
    """The levels of a row of float32."""
    both = magnitudes(row, depth)
    most, least = both >> 32, (both & 0xFFFFFFFF) + 1
    levels = i64(target)
    levels[0] = -1 if most >= LARGE else 0
    if most == 0 or most >= LARGE:
        return
    numbers, level = target + HEAD_BYTES, target + 64
    digits = numbers + capacity * NUMBER_BYTES
    top = ((most + ROOM) >> MANTISSA) - BIAS + 1
    exponent = BITS - top
    words = fill_whole(row, depth, exponent, numbers, digits, level)
    finish_level(level, words, exponent)
    further = digits + words * (4 * GROUP - 4)
    # What is below 2^top has fewer bits in each level than the largest element has in the first.
    top -= BINADES
    while least < bits_of_power(top) and exponent < -LEAST:
        exponent += BINADES
        level += LEVEL_BYTES
        lists = numbers + words * NUMBER_BYTES, further + words * 4
        words += fill_digit(row, depth, bits_of_power(top), exponent, *lists, level)
        finish_level(level, words, exponent)
        top -= BINADES
    levels[0] = (level - target - 64) // LEVEL_BYTES + 1


@helper
def float_column(x, panel, width, column, depth):
    """The sum of a column in float32, for rows with large elements."""
    heads, weights = f32(panel), u8(panel + COLUMN_HEAD * width)
    total, scale = heads[column], heads[width + column]
    for k in range(depth):
        byte = weights[(k // GROUP * width + column) * GROUP + k % GROUP]
        weight = np.int32(np.int8(byte ^ ZERO))
        # As one fused multiply-add: a product alone may overflow where the sum does not.
        product = np.float64(read_f32(x, k)) * np.float64(np.float32(weight) * scale)
        total = np.float32(np.float64(total) + product)
    return total


@helper
def panel_bytes(depth):
    """Bytes of COLUMNS columns of packed weights."""
    return COLUMNS * (COLUMN_HEAD + (depth + GROUP - 1) // GROUP * GROUP)


@helper
def multiply_row(row, capacity, x, depth, panel, output, columns, low, high, deadline):
    """output: float32[columns], bounded sums of a prepared row, which is x: float32[depth], by the
    columns of a panel. Returns whether the deadline has passed.
    """
    if i64(row)[0] >= 0:
        multiply_digits(row, capacity, panel, output, columns, low, high)
        return False
    y, width = f32(output), (columns + LANES - 1) // LANES * LANES
    for n in range(columns):
        if late(deadline):
            return True
        total = float_column(x, panel, width, n, depth)
        total = low if total < low else total
        y[n] = high if total > high else total
    return False
