"""What happens to filters before the matrix product: see ../lowering/packing.py.

A panel holds `width` columns (the last one as many whole vectors as it needs): the bias of each
column, in quantized panels the table of requantization.py, in front of int8 weights of float32
products the scale of each column, then per word of the depth one word per
column. Columns that do not exist are 0.
"""

from typing import Any

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late
from nnapi_shim.drivers.cpu.codegen.floored import write_table
from nnapi_shim.drivers.cpu.codegen.isa import BYTE_TILING
from nnapi_shim.drivers.cpu.codegen.numeric import (
    f32,
    f64,
    float_to_half,
    half_to_float,
    i8,
    i16,
    i32,
    u8,
    u16,
    u32,
)
from nnapi_shim.drivers.cpu.codegen.register_transpose import lines_of, transposed
from nnapi_shim.drivers.cpu.codegen.requantization import write_column
from nnapi_shim.drivers.cpu.codegen.stored_bytes import centered
from nnapi_shim.drivers.cpu.codegen.vector import WORD
from nnapi_shim.drivers.cpu.lowering.packing import (
    FLOAT_HEAD_BYTES,
    PACK_FLOAT,
    PACK_MATRIX,
    PACK_QUANTIZED,
    PACK_WIDENED,
    QUANTIZED_HEAD_BYTES,
)
from nnapi_shim.drivers.cpu.lowering.requantization import REQUANTIZATION_TABLE
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel


@helper
def part_of(weight, part):
    """Part `part` of a number as a sum of int8: each takes as much of the rest as fits."""
    for _ in range(part):
        weight -= min(max(weight, -128), 127)
    return min(max(weight, -128), 127)


@helper
def _panel_width(first, columns, width, lanes):
    return min(width, (columns - first + lanes - 1) // lanes * lanes)


SIDE = min(BYTE_TILING.lanes, 8)
"""Columns and words of a square that is transposed in registers."""
_transpose_words = lines_of((SIDE, transposed(WORD, SIDE)))

PART = 64
"""Words of a panel's columns that are written at a time: they stay in the first-level cache."""


@helper
def _same(value):
    return value


@helper
def _halved(value):
    """float16 of a number that is no larger than those; none but 0 becomes 0."""
    half = float_to_half(value)
    return half | np.uint16((value != 0) & (half & 0x7FFF == 0))


def pack_float(
    name: str, pointer: Any, read: Any, stored: Any = f32, kept: Any = _same, size: int = 4
) -> None:
    """filter: [columns, depth], bias: [columns]; output: panels, a tile each."""

    @kernel(PACK_FLOAT, name)
    def pack(a, tile, deadline):
        filter, bias, columns, depth = pointer(a.filter), pointer(a.bias), a.columns, a.depth
        first = tile * a.width
        width = _panel_width(first, columns, a.width, a.lanes)
        head = a.output + first * (4 + depth * size)
        sums, panel = f32(head), stored(head + 4 * width)
        for n in range(width):
            sums[n] = read(bias[first + n]) if first + n < columns else 0.0
        for part in range(0, depth, PART):
            if late(deadline):
                return DEADLINE
            end = min(part + PART, depth)
            for n in range(width):
                row = (first + n) * depth
                if first + n < columns:
                    for k in range(part, end):
                        panel[k * width + n] = kept(read(filter[row + k]))
                else:
                    for k in range(part, end):
                        panel[k * width + n] = 0
        return 0


pack_float("pack_f32", f32, _same)
pack_float("pack_f16", u16, half_to_float)
pack_float("pack_half_f32", f32, _same, u16, _halved, 2)


@kernel(PACK_WIDENED)
def pack_widened(a, tile, deadline):
    """filter: bytes [columns, depth], bias, scales: [columns]; output: panels, a tile each, of
    float32 scale * weight behind biases.
    """
    filter, bias, scales = u8(a.filter), f32(a.bias), f32(a.scales)
    columns, depth, flip = a.columns, a.depth, np.uint8(a.flip)
    first = tile * a.width
    width = _panel_width(first, columns, a.width, a.lanes)
    head = a.output + first * (FLOAT_HEAD_BYTES + depth * 4)
    sums, panel = f32(head), f32(head + FLOAT_HEAD_BYTES * width)
    for n in range(width):
        sums[n] = bias[first + n] if first + n < columns else 0.0
    for part in range(0, depth, PART):
        if late(deadline):
            return DEADLINE
        end = min(part + PART, depth)
        for n in range(width):
            row = (first + n) * depth
            if first + n < columns:
                scale = scales[first + n]
                for k in range(part, end):
                    weight = np.int8(filter[row + k] ^ flip)
                    panel[k * width + n] = np.float32(weight) * scale
            else:
                for k in range(part, end):
                    panel[k * width + n] = 0
    return 0


@kernel(PACK_MATRIX)
def pack_matrix_f32(a, tile):
    """filter: [matrices, depth, columns]; output: panels without a bias."""
    columns, depth = a.columns, a.depth
    matrix, first = tile // a.panels, tile % a.panels * a.width
    width = _panel_width(first, columns, a.width, a.lanes)
    wanted = min(width, columns - first)
    all_columns = (columns + a.lanes - 1) // a.lanes * a.lanes
    filter = f32(a.filter + (matrix * depth * columns + first) * 4)
    panel = f32(a.output + (matrix * all_columns + first) * (depth + 1) * 4)
    for n in range(width):
        panel[n] = 0.0
    for k in range(depth):
        row, at = k * columns, (k + 1) * width
        for n in range(wanted):
            panel[at + n] = filter[row + n]
        for n in range(wanted, width):
            panel[at + n] = 0.0
    return 0


@helper
def u32_of_bytes(byte):
    """The byte, four times."""
    return np.uint32(byte * 0x01010101)


@helper
def pack_words(a, filter, head, first, width, deadline):
    """Pack weights that fill whole words and keep their zero point, and sum up each column; False
    after the deadline. As many words of each column at a time as stay in the first-level cache.
    """
    row_bytes, words = a.taps * a.depth, a.taps * a.depth // 4
    address, columns = head + QUANTIZED_HEAD_BYTES * width, min(width, a.columns - first)
    sums, panel, flips = i32(head), u32(address), u32_of_bytes(a.flip)
    for part in range(0, words, PART):
        if late(deadline):
            return False
        count = min(PART, words - part)
        in_squares = columns // SIDE * SIDE if count >= SIDE else 0
        source, target = filter + first * row_bytes + 4 * part, address + 4 * part * width
        _transpose_words(
            source, target, in_squares // SIDE, SIDE * row_bytes, 4 * SIDE,
            count, 4, 4 * width, row_bytes, 4 * width,
        )  # fmt: skip
        block, bytes_of_row = u32(target), u8(source)
        for n in range(in_squares, columns):
            row = u32(source + n * row_bytes)
            for k in range(count):
                block[k * width + n] = row[k]
        for n in range(columns, width):
            for k in range(count):
                block[k * width + n] = 0
        for n in range(columns):
            total = 0
            for k in range(n * row_bytes, n * row_bytes + 4 * count):
                total += centered(bytes_of_row[k], a.flip, 0)
            sums[n] += total
    if flips:
        for k in range(words):
            for n in range(columns):
                panel[k * width + n] ^= flips
    return True


def pack_quantized(name: str, pointer: Any, size: int, subtracts: bool) -> None:
    """filter: 8-bit [matrices, columns, taps, depth], bias: int32[columns].

    Weights are made int8 by `flip`, then integers of `size` bytes. What the zero point of the input
    adds to every sum is taken off the bias; the filter's own is subtracted or left in.
    """

    @helper
    def pack_elements(a, filter, head, first, width, deadline):
        """As pack_words, element by element."""
        taps, depth, group, flip = a.taps, a.depth, a.group, a.flip
        subtracted = a.filter_zero if subtracts else 0
        is_long = taps * ((depth + group - 1) // group) >= 64
        sums, panel = i32(head), pointer(head + QUANTIZED_HEAD_BYTES * width)
        for n in range(width):
            column = first + n
            exists = column < a.columns
            row = u8(filter + column * taps * depth)
            total = 0
            at = n * group
            if is_long and late(deadline):
                return False
            for tap in range(taps):
                for k in range(0, depth, group):
                    for j in range(group):
                        weight = 0
                        if exists and k + j < depth:
                            weight = centered(row[tap * depth + k + j], flip, subtracted)
                        total += weight
                        panel[at + j] = weight
                    at += width * group
            sums[n] = total
        return True

    @kernel(PACK_QUANTIZED, name)
    def pack(a, tile, deadline):
        columns, taps, depth, group = a.columns, a.taps, a.depth, a.group
        bias = i32(a.bias)
        words = taps * ((depth + group - 1) // group)
        matrix, first = tile // a.panels, tile % a.panels * a.width
        filter = a.filter + matrix * columns * taps * depth
        constant = 0 if subtracts else taps * depth * a.input_zero * a.filter_zero
        width = _panel_width(first, columns, a.width, a.lanes)
        head = a.output + matrix * a.matrix_bytes
        head += first * (QUANTIZED_HEAD_BYTES + words * group * size)
        sums = i32(head)
        for n in range(width):
            sums[n] = 0
        if not subtracts and group == 4 and depth % group == 0:
            is_done = pack_words(a, filter, head, first, width, deadline)
        else:
            is_done = pack_elements(a, filter, head, first, width, deadline)
        if not is_done:
            return DEADLINE
        for n in range(width):
            exists = first + n < columns
            sums[n] = bias[first + n] - a.input_zero * sums[n] + constant if exists else 0
        write_table(
            head,
            width,
            a.multipliers + 8 * first,
            columns - first,
            a.zero_point,
            a.steps,
            taps * depth,
        )
        return 0


pack_quantized("pack_s16", i16, 2, subtracts=True)
pack_quantized("pack_s8", i8, 1, subtracts=False)


@kernel(REQUANTIZATION_TABLE)
def requantization_table(a, tile):
    """multipliers: float64[width]; output: a table of requantization.py."""
    multipliers, table, width, zero_point = f64(a.multipliers), a.output, a.width, a.zero_point
    for column in range(width):
        write_column(table, width, column, multipliers[column], zero_point)
    return 0
