"""Digit products of a few float32 rows and 8-bit weights: see ../lowering/digit_products.py."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late
from nnapi_shim.drivers.cpu.codegen.digit_rows import COLUMNS, ZERO, multiply_row, prepare_row
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.numeric import f32, u8
from nnapi_shim.drivers.cpu.lowering.digit_products import (
    COLUMN_HEAD,
    DIGIT_PRODUCT,
    PACK_FOR_DIGITS,
    PREPARE_DIGITS,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import kernel

GROUP = TILING.group
PART = 64
"""Words of a panel's columns that are written at a time: they stay in the first-level cache."""


def prepare_digits(a, tile):
    """The levels of a row."""
    prepare_row(a.input + tile * a.row_bytes, a.output + tile * a.pitch, a.depth, a.capacity)
    return 0


def pack_for_digits(a, tile, deadline):
    """filter: bytes [columns, depth]; output: panels of words of GROUP bytes behind biases and
    scales.
    """
    filter, bias, scales = u8(a.filter), f32(a.bias), f32(a.scales)
    columns, depth, flip = a.columns, a.depth, np.uint8(a.flip)
    first, words = tile * a.width, (a.depth + GROUP - 1) // GROUP
    width = min(a.width, (columns - first + a.lanes - 1) // a.lanes * a.lanes)
    head = a.output + first * (COLUMN_HEAD + GROUP * words)
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
                for byte in range(GROUP):
                    k = GROUP * word + byte
                    weight = ZERO
                    if first + n < columns and k < depth:
                        weight = np.uint8(filter[row + k] ^ flip)
                    panel[(word * width + n) * GROUP + byte] = weight
    return 0


def digit_product(a, tile, deadline):
    """output: float32 rows."""
    for panel in range(tile * a.tile_panels, min((tile + 1) * a.tile_panels, a.panels)):
        columns = min(COLUMNS, a.columns - panel * COLUMNS)
        weights = a.filter + panel * a.panel_bytes
        for number in range(a.count):
            row, x = a.rows + number * a.pitch, a.input + number * a.row_bytes
            y = a.output + number * a.output_stride + panel * COLUMNS * 4
            if multiply_row(
                row, a.capacity, x, a.depth, weights, y, columns, a.low, a.high, deadline
            ):
                return DEADLINE
    return 0


kernel(PACK_FOR_DIGITS)(pack_for_digits)  # on all tiers: a file without kernels fails the build
if ISA.tier.byte_weights:
    kernel(PREPARE_DIGITS)(prepare_digits)
    kernel(DIGIT_PRODUCT)(digit_product)
