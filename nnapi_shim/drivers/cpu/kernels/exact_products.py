"""Exact products of a few float32 rows and 8-bit weights: see ../lowering/exact_products.py."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late
from nnapi_shim.drivers.cpu.codegen.elements import READ
from nnapi_shim.drivers.cpu.codegen.exact_microkernel import exact_row, fill_level
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.numeric import bits_of, f32, f64, i64, u8
from nnapi_shim.drivers.cpu.lowering.exact_products import (
    BINADES,
    COLUMN_HEAD,
    EXACT_PRODUCT,
    HEAD_BYTES,
    LARGE,
    LEVEL_BYTES,
    PACK_UNSIGNED,
    PREPARE_DIGITS,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

MAGNITUDE = NONE = np.int32(2**31 - 1)
BIAS, MANTISSA = 127, 23
COLUMNS, LANES = TILING.columns, TILING.lanes
PART = 64
"""Words of a panel's columns that are written at a time: they stay in the first-level cache."""
read_f32 = READ["f32"]


@helper
def exponent_of(bits):
    """The x of 2^x <= magnitude < 2^(x + 1), for its bits; subnormal numbers have the least x."""
    return max(bits >> MANTISSA, 1) - BIAS


@helper
def least_bits(exponent):
    """The bits of the smallest magnitude with an exponent; of subnormal numbers, 1."""
    return max((exponent + BIAS) << MANTISSA, 1) if exponent + BIAS > 1 else 1


def prepare_digits(a, tile):
    """The levels of a row."""
    row, target, depth = a.input + tile * a.row_bytes, a.output + tile * a.pitch, a.depth
    most, least = np.int32(0), NONE
    for k in range(depth):
        bits = bits_of(read_f32(row, k)) & MAGNITUDE
        most = bits if bits > most else most
        positive = bits if bits != 0 else NONE
        least = positive if positive < least else least
    levels = i64(target)
    if most >= LARGE:
        levels[0] = -1
        return 0
    levels[0] = 0
    if most == 0:
        return 0
    numbers = target + HEAD_BYTES
    digits = numbers + a.capacity * 8
    top, bottom = exponent_of(np.int64(most)) + 1, exponent_of(np.int64(least))
    words, count = 0, 0
    while top > bottom:
        level = target + 64 + count * LEVEL_BYTES
        words += fill_level(
            row,
            depth,
            least_bits(top - BINADES),
            least_bits(top) - 1,
            30 - top,
            numbers + words * 8,
            digits + words * 16,
            level,
        )
        i64(level)[0] = words
        f64(level)[1] = 2.0 ** (top - 30)
        count += 1
        top -= BINADES
    levels[0] = count
    return 0


def pack_unsigned(a, tile, deadline):
    """filter: bytes [columns, depth]; output: panels of words of four uint8 behind biases and
    scales.
    """
    filter, bias, scales = u8(a.filter), f32(a.bias), f32(a.scales)
    columns, depth, flip = a.columns, a.depth, np.uint8(a.flip)
    first, words = tile * a.width, (a.depth + 3) // 4
    width = min(a.width, (columns - first + a.lanes - 1) // a.lanes * a.lanes)
    head = a.output + first * (COLUMN_HEAD + 4 * words)
    numbers, panel = f32(head), u8(head + COLUMN_HEAD * width)
    for n in range(width):
        is_there = first + n < columns
        numbers[n] = bias[first + n] if is_there else 0.0
        numbers[width + n] = scales[first + n] if is_there else 0.0
    for part in range(0, words, PART):
        if late(deadline):
            return DEADLINE
        for n in range(width):
            row = (first + n) * depth
            for word in range(part, min(part + PART, words)):
                for byte in range(4):
                    k = 4 * word + byte
                    weight = np.uint8(128)
                    if first + n < columns and k < depth:
                        weight = np.uint8(filter[row + k] ^ flip)
                    panel[(word * width + n) * 4 + byte] = weight
    return 0


@helper
def float_column(x, panel, width, column, depth):
    """The sum of a column in float32, for rows with large elements."""
    heads, weights = f32(panel), u8(panel + COLUMN_HEAD * width)
    total, scale = heads[column], heads[width + column]
    for k in range(depth):
        weight = np.int32(weights[(k // 4 * width + column) * 4 + k % 4]) - 128
        # As one fused multiply-add: a product alone may overflow where the sum does not.
        product = np.float64(read_f32(x, k)) * np.float64(np.float32(weight) * scale)
        total = np.float32(np.float64(total) + product)
    return total


def exact_product(a, tile, deadline):
    """output: float32 rows."""
    width, lanes = COLUMNS, LANES
    for panel in range(tile * a.tile_panels, min((tile + 1) * a.tile_panels, a.panels)):
        columns = min(width, a.columns - panel * width)
        weights = a.filter + panel * a.panel_bytes
        for number in range(a.count):
            row = a.rows + number * a.pitch
            output = a.output + number * a.output_stride + panel * width * 4
            if i64(row)[0] >= 0:
                exact_row(row, a.capacity, weights, output, columns, a.low, a.high)
            else:
                x, y = a.input + number * a.row_bytes, f32(output)
                panel_width = (columns + lanes - 1) // lanes * lanes
                for n in range(columns):
                    if late(deadline):
                        return DEADLINE
                    total = float_column(x, weights, panel_width, n, a.depth)
                    total = a.low if total < a.low else total
                    y[n] = a.high if total > a.high else total
    return 0


kernel(PACK_UNSIGNED)(pack_unsigned)  # on all tiers: a file without kernels fails the build
if TILING.group == 4 and ISA.tier.byte_weights:
    kernel(PREPARE_DIGITS)(prepare_digits)
    kernel(EXACT_PRODUCT)(exact_product)
