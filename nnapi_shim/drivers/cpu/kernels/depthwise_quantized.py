"""DEPTHWISE_CONV_2D of 8 bits: several outputs of a row at once, from interleaved rows."""

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late
from nnapi_shim.drivers.cpu.codegen.interleave import blocks, interleave_buffer, interleaver
from nnapi_shim.drivers.cpu.codegen.isa import TILING
from nnapi_shim.drivers.cpu.codegen.numeric import f64, i8, i16, i32, u8
from nnapi_shim.drivers.cpu.codegen.requantization import write_column
from nnapi_shim.drivers.cpu.kernels.depthwise import CACHE_LINE, prefetch
from nnapi_shim.drivers.cpu.kernels.packing import centered, part_of
from nnapi_shim.drivers.cpu.lowering.depthwise_interleaved import (
    BLOCK_VECTORS,
    DEPTHWISE_INTERLEAVED,
    PACK_INTERLEAVED,
)
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

GROUP, LANES = TILING.group, TILING.lanes
WIDTH = BLOCK_VECTORS * TILING.lanes
HEAD_BYTES = QUANTIZED_HEAD_BYTES * WIDTH
"""In front of a panel's weights: biases, and the table."""
SEGMENTS = 64
"""After how many segments the clock is looked at: each is some thousand words."""
interleave, run_blocks = interleaver(TILING), blocks(TILING)
weights_of = i8 if GROUP == 4 else i16


@helper
def _columns_before(columns, stride, most):
    """How many of `most` columns, `stride` apart, lie before column `columns`."""
    return min(max((columns + stride - 1) // stride, 0), most)


@helper
def _interleave_outside(outside, count, places, target, flip, zero, order):
    """Interleave `count` elements that lie outside of the image."""
    if count > 0:
        interleave(outside, outside, outside, outside, 0, 0, 0, 0,
              1, count, 0, places, 0, target, flip, zero, order)  # fmt: skip


@kernel(DEPTHWISE_INTERLEAVED)
def depthwise_interleaved(a, tile, deadline):
    """A tile is tile_rows rows of outputs; `rows_together` of them are computed from the same
    interleaved rows, by filters that begin further down each.
    """
    channels, slab, stride, plane, places = a.channels, a.slab, a.stride_width, a.plane, a.places
    flip, zero, outside, height = a.flip, a.input_zero, a.outside, a.interleaved_height
    order, row_bytes, out_row = a.order, a.in_width * channels, a.out_width * channels
    row_step = a.dilation_height * row_bytes
    unit = a.joined * slab
    count = (unit + WIDTH - 1) // WIDTH
    whole_groups, has_rest = a.segment // a.joined, a.segment % a.joined != 0
    last_group = a.segment - a.joined
    weight_bytes = a.taps * 4 * WIDTH
    panel_bytes = HEAD_BYTES + a.rows_together * weight_bytes
    memory = interleave_buffer()
    is_whole = slab == channels and stride == 1
    row, end, looked = tile * a.tile_rows, min((tile + 1) * a.tile_rows, a.rows), 0
    while row < end:
        image, h = row // a.out_height, row % a.out_height
        together = min(a.rows_together, min(end - row, a.out_height - h))
        start = h * a.stride_height - a.pad_top
        first_row = a.input + (image * a.in_height + start) * row_bytes
        for segment in range(0, a.out_width, a.segment):
            looked += 1
            if looked % SEGMENTS == 0 and late(deadline):
                return DEADLINE
            w = min(segment, a.out_width - a.segment)
            column = w * stride - a.pad_left
            # What the rows below read first, into the second-level cache: several rows are read at
            # once, a piece of each, and the processor's own prefetching follows none of them.
            below = first_row + height * row_step + column * channels
            for _ in range(a.stride_height * together):
                for at in range(below, below + a.columns * channels, CACHE_LINE):
                    prefetch(at)
                below += row_bytes
            panel = a.panels
            for slab_start in range(0, channels, slab):
                channel = min(slab_start, channels - slab)
                target = memory
                for i in range(0, height, GROUP):
                    row0, step0 = outside, 0
                    row1, step1 = outside, 0
                    row2, step2 = outside, 0
                    row3, step3 = outside, 0
                    for j in range(i, min(i + GROUP, height)):
                        y = start + j * a.dilation_height
                        at, step = outside, 0
                        if 0 <= y < a.in_height:
                            at, step = first_row + j * row_step + channel, -1
                        if j == i:
                            row0, step0 = at, step
                        elif j == i + 1:
                            row1, step1 = at, step
                        elif j == i + 2:
                            row2, step2 = at, step
                        else:
                            row3, step3 = at, step
                    # All columns in one run, or plane by plane.
                    runs, spread, most = a.planes, stride, plane
                    if places != 0:
                        runs, spread, most = 1, 1, a.columns
                    for p in range(runs):
                        left = _columns_before(-column - p, spread, most)
                        right = max(left, _columns_before(a.in_width - column - p, spread, most))
                        skip, to = (column + p + left * spread) * channels, 4 * slab
                        inside, length, lines, rest = right - left, slab, 0, 0
                        if places != 0:
                            inside, length, to = 1, (right - left) * slab, 0
                            lines, rest = left * slab // LANES * 8, right * slab // LANES * 8
                        elif is_whole:
                            inside, length = 1, (right - left) * slab
                        _interleave_outside(outside, left * slab, places, target, flip, zero, order)
                        if left < right:
                            interleave(row0 + (skip & step0), row1 + (skip & step1),
                                  row2 + (skip & step2), row3 + (skip & step3),
                                  step0, step1, step2, step3, inside, length, stride * channels,
                                  places + lines, 4 * slab, target + left * to,
                                  flip, zero, order)  # fmt: skip
                        _interleave_outside(outside, (most - right) * slab, places + rest,
                                 target + right * to, flip, zero, order)  # fmt: skip
                        if places == 0:
                            target += 4 * plane * slab
                    if places != 0:
                        target += 4 * a.planes * plane * slab
                output = a.output + row * out_row + w * channels + channel
                for block in range(count):
                    at = min(block * WIDTH, unit - WIDTH)
                    weights = panel + HEAD_BYTES
                    for r in range(together):
                        to = output + r * out_row + at
                        if whole_groups > 0:
                            run_blocks(memory + 4 * at, a.offsets, a.taps, panel, weights,
                                       whole_groups, 4 * unit, to, a.joined * channels,
                                       a.zero_point, a.output_flip, a.low, a.high)  # fmt: skip
                        if has_rest:
                            # The last outputs once more from the end.
                            run_blocks(memory + 4 * (last_group * slab + at), a.offsets, a.taps,
                                       panel, weights, 1, 0, to + last_group * channels, 0,
                                       a.zero_point, a.output_flip, a.low, a.high)  # fmt: skip
                        weights += weight_bytes
                    panel += panel_bytes
        row += together
    return 0


@kernel(PACK_INTERLEAVED)
def pack_interleaved(a, tile, deadline):
    """filter: 8-bit [height, width, channels], bias: int32[channels]; output: panels.

    A panel: bias, table of requantization.py, words of weights [rows_together, parts, words,
    width]. What is no int8 of a weight less its zero point is in further parts.
    """
    channels, slab, flip, zero, width = a.channels, a.slab, a.flip, a.zero, a.filter_width
    filter, bias, multipliers = u8(a.filter), i32(a.bias), f64(a.multipliers)
    unit, words = a.joined * slab, a.words
    panel, work = a.output, 0
    for slab_start in range(0, channels, slab):
        channel = min(slab_start, channels - slab)
        for block in range(0, unit, WIDTH):
            first = min(block, unit - WIDTH)
            sums, packed = i32(panel), weights_of(panel + HEAD_BYTES)
            work += a.rows_together * a.parts * words * width * GROUP * WIDTH
            if work >= LONG:
                work = 0
                if late(deadline):
                    return DEADLINE
            for n in range(WIDTH):
                c = channel + (first + n) % slab
                at = n * GROUP
                for shift in range(a.rows_together):
                    total = 0
                    for part in range(a.parts):
                        for word in range(words):
                            for j in range(width):
                                for i in range(GROUP):
                                    weight, y = 0, word * GROUP + i - shift * a.row_step
                                    if 0 <= y < a.filter_height:
                                        index = (y * width + j) * channels + c
                                        weight = int(centered(filter[index], flip, zero))
                                        if GROUP == 4:
                                            weight = part_of(weight, part)
                                    total += weight
                                    packed[at + i] = weight
                                at += WIDTH * GROUP
                    sums[n] = bias[c] - a.sum_zero * total
                write_column(panel + 4 * WIDTH, WIDTH, n, multipliers[c], a.zero_point)
            panel += HEAD_BYTES + a.rows_together * a.parts * words * width * 4 * WIDTH
    return 0
