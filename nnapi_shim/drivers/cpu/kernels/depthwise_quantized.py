"""DEPTHWISE_CONV_2D of 8 bits: several outputs of a row at once, from interleaved rows."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late, late_after
from nnapi_shim.drivers.cpu.codegen.float_environment import float_environment, round_down
from nnapi_shim.drivers.cpu.codegen.floored import is_floored, write_table
from nnapi_shim.drivers.cpu.codegen.interleave import blocks, interleave_buffer, interleaver
from nnapi_shim.drivers.cpu.codegen.isa import TILING
from nnapi_shim.drivers.cpu.codegen.numeric import f64, i32, u8
from nnapi_shim.drivers.cpu.codegen.stack import array_on_stack
from nnapi_shim.drivers.cpu.codegen.stored_bytes import centered
from nnapi_shim.drivers.cpu.codegen.vector import DOUBLE
from nnapi_shim.drivers.cpu.kernels.depthwise import prefetch_rows
from nnapi_shim.drivers.cpu.lowering.depthwise_interleaved import (
    BLOCK_VECTORS,
    DEPTHWISE_INTERLEAVED,
    PACK_INTERLEAVED,
)
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, inlined, kernel

GROUP, LANES = TILING.group, TILING.lanes
WIDTH = BLOCK_VECTORS * TILING.lanes
HEAD_BYTES = QUANTIZED_HEAD_BYTES * WIDTH
"""In front of a panel's weights: biases, and the table."""
CACHED = 16 << 10
"""Bytes of an image that need no prefetch: the step before has just written them."""
SEGMENTS = 64
"""Number of segments, of some thousand words each, between two looks at the clock."""
multipliers_of_panel = array_on_stack(DOUBLE, WIDTH)
interleave, run_blocks = interleaver(TILING), blocks(TILING)


@helper
def columns_before(columns, stride, most):
    """How many of `most` columns, `stride` apart, lie before column `columns`."""
    return min(max((columns + stride - 1) // stride, 0), most)


@helper
def row_at(a, first_row, start, j):
    """(address, mask of offsets) of a filter row's input; a constant row outside of the image."""
    y = start + j * a.dilation_height
    if j < a.interleaved_height and 0 <= y < a.in_height:
        return first_row + j * a.dilation_height * a.in_width * a.channels, -1
    return a.outside, 0


@helper
def interleave_outside(a, count, offsets, target):
    """Interleave `count` elements that lie outside of the image."""
    if count > 0:
        outside = a.outside
        interleave(outside, outside, outside, outside, 0, 0, 0, 0,
              1, count, 0, offsets, 0, target, a.flip, a.input_zero, a.order)  # fmt: skip


@inlined
def interleave_group(a, rows, masks, column, target):
    """Interleave GROUP rows from a column on, for one slab; returns the end of the words.

    All columns are one run if the words are scattered (places), otherwise plane by plane.
    """
    channels, slab, stride, places = a.channels, a.slab, a.stride_width, a.places
    is_whole = slab == channels and stride == 1
    runs, spread, most = a.planes, stride, a.plane
    if places != 0:
        runs, spread, most = 1, 1, a.columns
    for p in range(runs):
        left = columns_before(-column - p, spread, most)
        right = max(left, columns_before(a.in_width - column - p, spread, most))
        skip, to = (column + p + left * spread) * channels, 4 * slab
        inside, length, lines, rest = right - left, slab, 0, 0
        if places != 0:
            inside, length, to = 1, (right - left) * slab, 0
            lines, rest = left * slab // LANES * 8, right * slab // LANES * 8
        elif is_whole:
            inside, length = 1, (right - left) * slab
        interleave_outside(a, left * slab, places, target)
        if left < right:
            interleave(rows[0] + (skip & masks[0]), rows[1] + (skip & masks[1]),
                  rows[2] + (skip & masks[2]), rows[3] + (skip & masks[3]),
                  masks[0], masks[1], masks[2], masks[3], inside, length, stride * channels,
                  places + lines, 4 * slab, target + left * to,
                  a.flip, a.input_zero, a.order)  # fmt: skip
        interleave_outside(a, (most - right) * slab, places + rest, target + right * to)
        if places == 0:
            target += 4 * a.plane * slab
    if places != 0:
        target += 4 * a.planes * a.plane * slab
    return target


@helper
def blocks_of(a):
    """Blocks, each of which has a panel, of a slab."""
    return (a.joined * a.slab + WIDTH - 1) // WIDTH


@helper
def panel_bytes(a):
    """Of a block of a slab."""
    return HEAD_BYTES + a.rows_together * a.taps * 4 * WIDTH


@inlined
def compute_slab(a, memory, panel, together, output, environment, is_down):
    """All blocks of a slab in `together` output rows; returns the address of the next panel, and
    whether the environment rounds down now. environment: that of the caller.
    """
    unit = a.joined * a.slab
    groups, has_rest = a.segment // a.joined, a.segment % a.joined != 0
    last_group = a.segment - a.joined
    for block in range(blocks_of(a)):
        at = min(block * WIDTH, unit - WIDTH)
        weights = panel + HEAD_BYTES
        is_down = round_down(environment, is_down, is_floored(panel, WIDTH))
        for r in range(together):
            to = output + r * a.out_width * a.channels + at
            if groups > 0:
                run_blocks(memory + 4 * at, a.offsets, a.taps, panel, weights,
                           groups, 4 * unit, to, a.joined * a.channels,
                           a.zero_point, a.output_flip, a.low, a.high)  # fmt: skip
            if has_rest:
                # The last outputs once more from the end.
                run_blocks(memory + 4 * (last_group * a.slab + at), a.offsets, a.taps,
                           panel, weights, 1, 0, to + last_group * a.channels, 0,
                           a.zero_point, a.output_flip, a.low, a.high)  # fmt: skip
            weights += a.taps * 4 * WIDTH
        panel += panel_bytes(a)
    return panel, is_down


@kernel(DEPTHWISE_INTERLEAVED)
def depthwise_interleaved(a, tile, deadline):
    """A tile is tile_slabs slabs of tile_rows rows of outputs. Up to `rows_together` of them are
    computed from the same interleaved rows, with filters that begin further down. A last slab that
    begins earlier stores values that another tile stores, too: the same ones.
    """
    channels, slab, height = a.channels, a.slab, a.interleaved_height
    row_bytes, out_row = a.in_width * channels, a.out_width * channels
    memory = interleave_buffer()
    block, part = tile // a.slab_tiles, tile % a.slab_tiles
    row, end, segments = block * a.tile_rows, min((block + 1) * a.tile_rows, a.rows), 0
    first_slab = part * a.tile_slabs
    first_channel = first_slab * slab
    end_channel = min(first_channel + a.tile_slabs * slab, channels)
    first_panel = a.panels + first_slab * blocks_of(a) * panel_bytes(a)
    environment, is_down = float_environment(), False
    while row < end:
        image, h = row // a.out_height, row % a.out_height
        together = min(a.rows_together, min(end - row, a.out_height - h))
        start = h * a.stride_height - a.pad_top
        first_row = a.input + (image * a.in_height + start) * row_bytes
        for segment in range(0, a.out_width, a.segment):
            segments += 1
            if segments % SEGMENTS == 0 and late(deadline):
                round_down(environment, is_down, False)
                return DEADLINE
            w = min(segment, a.out_width - a.segment)
            column = w * a.stride_width - a.pad_left
            if a.slab_tiles == 1 and a.in_height * row_bytes > CACHED:
                # The hardware prefetcher follows none of the several rows that are read in pieces:
                # prefetch the first elements of the next rows.
                below = first_row + height * a.dilation_height * row_bytes + column * channels
                prefetch_rows(below, a.stride_height * together, row_bytes, a.columns * channels)
            panel = first_panel
            for slab_start in range(first_channel, end_channel, slab):
                channel = min(slab_start, channels - slab)
                target = memory
                for i in range(0, height, GROUP):
                    row0, mask0 = row_at(a, first_row + channel, start, i)
                    row1, mask1 = row_at(a, first_row + channel, start, i + 1)
                    row2, mask2, row3, mask3 = a.outside, 0, a.outside, 0
                    if GROUP == 4:
                        row2, mask2 = row_at(a, first_row + channel, start, i + 2)
                        row3, mask3 = row_at(a, first_row + channel, start, i + 3)
                    rows, masks = (row0, row1, row2, row3), (mask0, mask1, mask2, mask3)
                    target = interleave_group(a, rows, masks, column, target)
                output = a.output + row * out_row + w * channels + channel
                panel, is_down = compute_slab(
                    a, memory, panel, together, output, environment, is_down
                )
        row += together
    round_down(environment, is_down, False)
    return 0


@inlined
def weight_of(a, filter, at, keep, least, most):
    """A weight minus its zero point, or an int8 part of it; 0 where `keep` is.

    at: of the first part. least, most: bounds of the sum of the parts before it.
    """
    weight = np.int32(centered(filter[at], a.flip, a.zero))
    if GROUP == 4:
        weight = np.int32(min(max(weight - min(max(weight, least), most), -128), 127))
    return weight & keep


@inlined
def row_of_filter(a, y, j):
    """(position of the weights of tap j in row y, -1); any position and 0 outside of the filter."""
    inside = 0 <= y < a.filter_height
    return ((y if inside else 0) * a.filter_width + j) * a.channels, np.int32(-1 if inside else 0)


@helper
def pack_filters(a, filter, words, sums, c, count, shift):
    """Pack the filters of `count` channels from c on, `shift` output rows down: from `words` on,
    which are WIDTH apart. Subtracts what the zero point of the input adds from the sums.
    """
    sum_zero = np.int32(a.sum_zero if shift == 0 else 0)  # each shift has all weights
    at = 0
    for part in range(a.parts):
        least, most = np.int32(-128 * part), np.int32(127 * part)
        for word in range(a.words):
            y = word * GROUP - shift * a.row_step
            for j in range(a.filter_width):
                at0, keep0 = row_of_filter(a, y, j)
                at1, keep1 = row_of_filter(a, y + 1, j)
                at2, keep2 = row_of_filter(a, y + 2, j)
                at3, keep3 = row_of_filter(a, y + 3, j)
                for n in range(count):
                    weight0 = weight_of(a, filter, at0 + c + n, keep0, least, most)
                    weight1 = weight_of(a, filter, at1 + c + n, keep1, least, most)
                    if GROUP == 2:
                        words[at + n] = (weight0 & 0xFFFF) | weight1 << 16
                        sums[n] -= sum_zero * (weight0 + weight1)
                        continue
                    weight2 = weight_of(a, filter, at2 + c + n, keep2, least, most)
                    weight3 = weight_of(a, filter, at3 + c + n, keep3, least, most)
                    low = (weight0 & 0xFF) | (weight1 & 0xFF) << 8
                    words[at + n] = low | (weight2 & 0xFF) << 16 | weight3 << 24
                    sums[n] -= sum_zero * (weight0 + weight1 + weight2 + weight3)
                at += WIDTH


@kernel(PACK_INTERLEAVED)
def pack_interleaved(a, tile, deadline):
    """filter: 8-bit [height, width, channels], bias: int32[channels]; output: panels.

    A panel: bias, table of requantization.py, words of weights [rows_together, parts, words,
    width]. A weight minus its zero point is a sum of `parts` int8.
    """
    channels, slab, unit = a.channels, a.slab, a.joined * a.slab
    filter, bias, multipliers = u8(a.filter), i32(a.bias), f64(a.multipliers)
    factors_address, taps = multipliers_of_panel(), a.filter_height * a.filter_width
    factors = f64(factors_address)
    words_of_row = a.parts * a.words * a.filter_width * WIDTH
    words = a.rows_together * words_of_row
    panel, work = a.output, 0
    for slab_start in range(0, channels, slab):
        channel = min(slab_start, channels - slab)
        for block in range(0, unit, WIDTH):
            first = min(block, unit - WIDTH)
            is_late, work = late_after(work + words * GROUP, deadline)
            if is_late:
                return DEADLINE
            n = 0
            while n < WIDTH:
                begin = (first + n) % slab
                count, c = min(WIDTH - n, slab - begin), channel + begin
                sums = i32(panel + 4 * n)
                for i in range(count):
                    sums[i] = bias[c + i]
                    factors[n + i] = multipliers[c + i]
                for shift in range(a.rows_together):
                    target = i32(panel + HEAD_BYTES + 4 * (shift * words_of_row + n))
                    pack_filters(a, filter, target, sums, c, count, shift)
                n += count
            write_table(panel, WIDTH, factors_address, WIDTH, a.zero_point, a.steps, taps * a.parts)
            panel += HEAD_BYTES + 4 * words
    return 0
