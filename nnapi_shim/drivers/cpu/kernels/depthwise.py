"""DEPTHWISE_CONV_2D: loops over the pixels of output rows; packing and expansion of operands."""

from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late_after
from nnapi_shim.drivers.cpu.codegen.depthwise_arguments import Finish, Source, Target, Weights
from nnapi_shim.drivers.cpu.codegen.depthwise_microkernel import (
    AT_BORDER,
    FEW,
    FIXED,
    ONE,
    PIXELS,
    SOME,
    WIDE,
    pixels,
)
from nnapi_shim.drivers.cpu.codegen.depthwise_sliding import STRIP, TAPS, run_strip
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.numeric import i16, u8, u32
from nnapi_shim.drivers.cpu.codegen.stored_bytes import centered
from nnapi_shim.drivers.cpu.kernels.half_precision import share
from nnapi_shim.drivers.cpu.lowering.depthwise import (
    DEPTHWISE,
    EXPAND,
    PACK_DEPTHWISE,
    SLIDING,
    SLIDING_DEPTHWISE,
    has_sliding,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

CACHE_LINE = 64
FOUR_LINES = 4 * CACHE_LINE
MANY = TILING.lanes * TILING.channel_vectors
"""Channels that fill the vectors of a micro-kernel."""

FEWEST_ROWS = 3
"""Rows of a tile from which `sliding` is faster."""


prefetch_far = emits(types.void(types.int64))(lambda b, address: b.prefetch(address, locality=2))
"""Prefetch a cache line into the second-level cache; the address need not be valid."""


@helper
def inside(start, taps, dilation, size):
    """First and end of the taps whose element start + tap * dilation is in [0, size)."""
    if dilation == 1:
        first = max(0, -start)
        return first, max(first, min(taps, size - start))
    first = max(0, (dilation - 1 - start) // dilation)
    return first, max(first, min(taps, (size - start + dilation - 1) // dilation))


@helper
def prefetch_rows(address, rows, row_bytes, length):
    """Prefetch `length` bytes of several rows."""
    whole = length // FOUR_LINES * FOUR_LINES
    for _ in range(rows):
        for at in range(address, address + whole, FOUR_LINES):
            for line in range(0, FOUR_LINES, CACHE_LINE):
                prefetch_far(at + line)
        for at in range(address + whole, address + length, CACHE_LINE):
            prefetch_far(at)
        address += row_bytes


@helper
def place(a, tile):
    """(block of rows, first channel, channels) of a tile.

    The last slab may have fewer channels than a vector: the vector then begins in front of it, and
    stores values that another tile stores, too: the same ones.
    """
    block, first = tile // a.slabs, tile % a.slabs * a.slab
    return block, first, min(a.slab, a.channels - first)


@helper
def interior(a):
    """The pixels [first, end) of an output row that read no column outside of the image."""
    stride, span = a.stride_width, a.in_width + a.pad_left - (a.filter_width - 1) * a.dilation_width
    first = min(a.out_width, (a.pad_left + stride - 1) // stride)
    return first, max(first, min(a.out_width, (span + stride - 1) // stride if span > 0 else 0))


@helper
def fixed_variant(a):
    """(whether there is a variant of this filter width and stride, its number)."""
    stride, width = a.stride_width, a.filter_width
    is_fixed = stride == 1 or (stride == 2 and a.dilation_width == 1)
    number = WIDE + stride - 1
    if width == 5:
        number += 2
    elif width != 3:
        is_fixed = False
    return is_fixed, number


def depthwise(kind: str, element_bytes: int) -> Any:
    """The kernel of an element type; returns its body.

    Filter widths with variants of the micro-kernel compute FIXED pixels at once, also at borders.
    Otherwise they compute PIXELS pixels at once if all filter columns are within the image, and the
    rest one by one. The 8-bit kernels compute one by one; they only serve shapes that
    depthwise_quantized.py has no room for.
    """
    run = pixels(TILING, kind)
    has_variants = kind == "f32"

    @helper
    def choose(a, w, phases, is_fixed, fixed, inner, inner_end):
        """(variant, pixels, first_column, columns, w) for the pixels from w on."""
        variant, count, first_column, columns = ONE, 1, 0, 0
        if is_fixed:
            variant, count = fixed, min(FIXED, (a.out_width - w + phases - 1) // phases)
            seen = (count - 1) * a.stride_width + a.filter_width
            column = w * a.stride_width - a.pad_left
            first_column, columns = inside(column, seen, a.dilation_width, a.in_width)
            columns -= first_column
            if columns < (FIXED - 1) * a.stride_width + a.filter_width:
                variant += AT_BORDER
        elif has_variants and inner <= w < inner_end and inner_end - inner >= PIXELS:
            variant, count, w = SOME, PIXELS, min(w, inner_end - PIXELS)
        return variant, count, first_column, columns, w

    @helper
    def by_rows(a, tile, deadline):
        channels, stride = a.channels, a.stride_width
        pixel_bytes = channels * element_bytes
        row_bytes, tap_step = a.in_width * pixel_bytes, a.dilation_width * pixel_bytes
        row_step, pixel_step = a.dilation_height * row_bytes, stride * pixel_bytes
        filter_row = a.filter_width * channels * 4
        inner, inner_end = interior(a)
        few = FEW if has_variants and channels < MANY else 0
        # Pixels as far apart as the filter's columns read the same columns of the image.
        is_fixed, fixed = fixed_variant(a)
        is_fixed = has_variants and is_fixed
        phases = min(a.dilation_width, a.out_width) if is_fixed else 1
        rows_below = min(a.stride_height, a.filter_height) if stride <= a.filter_width else 0
        products = a.filter_height * a.filter_width * channels
        is_long, work = a.out_width * products >= 16 * LONG, 0
        stretch = max(4 * LONG // products, 1) if is_long else 1
        block, first_channel, slab = place(a, tile)
        offset, constants = first_channel * element_bytes, first_channel * 4
        for row in range(block * a.tile_rows, min((block + 1) * a.tile_rows, a.rows)):
            image, h = row // a.out_height, row % a.out_height
            start = h * a.stride_height - a.pad_top
            first, end = inside(start, a.filter_height, a.dilation_height, a.in_height)
            source = a.input + (image * a.in_height + start) * row_bytes + first * row_step
            target = a.output + row * a.out_width * pixel_bytes
            w = phase = 0
            while phase < phases:
                chosen = choose(a, w, phases, is_fixed, fixed, inner, inner_end)
                variant, count, first_column, columns, w = chosen
                column = w * stride - a.pad_left
                # The hardware prefetcher follows none of the several rows that are read at once:
                # prefetch the columns that the next row of pixels reads first.
                if phase == 0:
                    below = source + column * pixel_bytes + (end - first) * row_step + offset
                    if slab == channels:
                        prefetch_rows(below, rows_below, row_bytes, count * phases * pixel_step)
                    else:
                        for _ in range(rows_below):
                            seen = count * phases * stride
                            prefetch_rows(below, seen, pixel_bytes, slab * element_bytes)
                            below += row_bytes
                j, j_end = 0, a.filter_width
                if variant == ONE:
                    j, j_end = inside(column, a.filter_width, a.dilation_width, a.in_width)
                if is_long:
                    is_late, work = late_after(work + 1, deadline, stretch)
                    if is_late:
                        return DEADLINE
                x = source + column * pixel_bytes + j * tap_step + offset
                w_address = a.filter + first * filter_row + j * channels * 4 + constants
                singles = a.filter_height * filter_row
                y = target + w * pixel_bytes + offset
                run(
                    variant + few,
                    Source(x, row_step, tap_step, pixel_step, end - first, j_end - j),
                    Weights(
                        w_address,
                        filter_row,
                        singles,
                        a.bias + constants,
                        a.table + constants,
                        channels,
                        slab,
                    ),
                    Target(y, phases * pixel_bytes, count, first_column, columns),
                    Finish(a.input_zero, a.zero_point, a.output_flip, a.low, a.high),
                )
                w += count * phases
                if w >= a.out_width:
                    phase += 1
                    w = phase
        return 0

    @kernel(DEPTHWISE, f"depthwise_conv_2d_{kind}")
    def convolve(a, tile, deadline):
        return by_rows(a, tile, deadline)

    return by_rows


def sliding(by_rows: Any) -> None:
    """The kernel of float32, 3x3, stride 1: strips of pixels, from the top to the bottom."""

    @kernel(SLIDING_DEPTHWISE, SLIDING)
    def convolve(a, tile, deadline):
        if a.tile_rows < FEWEST_ROWS:
            return by_rows(a, tile, deadline)
        pixel_bytes = a.channels * 4
        row_step, output_row = a.in_width * pixel_bytes, a.out_width * pixel_bytes
        # A call of the micro-kernel is short next to the time between looks at the clock.
        block, first_channel, slab = place(a, tile)
        offset = 4 * first_channel
        most = max(1, LONG // (STRIP * TAPS * TAPS * slab))
        row, end = block * a.tile_rows, min((block + 1) * a.tile_rows, a.rows)
        work = 0
        while row < end:
            image, h = row // a.out_height, row % a.out_height
            rows = min(end - row, a.out_height - h, most)
            start = h - a.pad_top
            first_row, end_row = inside(start, rows + TAPS - 1, 1, a.in_height)
            source = a.input + (image * a.in_height + start) * row_step + offset
            target = a.output + row * output_row + offset
            for w in range(0, a.out_width, STRIP):
                count = min(STRIP, a.out_width - w)
                is_late, work = late_after(work + count * rows * TAPS * TAPS * slab, deadline)
                if is_late:
                    return DEADLINE
                column = w - a.pad_left
                first_column, end_column = inside(column, count + TAPS - 1, 1, a.in_width)
                columns = end_column - first_column
                run_strip(
                    columns < STRIP + TAPS - 1,
                    source + column * pixel_bytes,
                    row_step,
                    a.filter + offset,
                    a.bias + offset,
                    a.channels,
                    slab,
                    target + w * pixel_bytes,
                    output_row,
                    rows,
                    first_row,
                    end_row - first_row,
                    count,
                    first_column,
                    columns,
                    a.low,
                    a.high,
                )
            row += rows
        return 0


_by_rows = depthwise("f32", 4)
if has_sliding(ISA.tier):
    sliding(_by_rows)
depthwise("qu8", 1)
depthwise("qs8", 1)


@kernel(PACK_DEPTHWISE)
def pack_depthwise(a, tile, deadline):
    """filter: 8-bit [height, width, channels]; output: int16[2, height, width, padded, 2].

    First every weight with the one a filter row below it (0 in the last row), then every weight
    with 0: for pairs of rows, and for the last of an odd number of rows. Zero point subtracted.
    """
    channels, flip, zero, row = a.channels, a.flip, a.zero, a.filter_width * a.channels
    filter, pairs = u8(a.filter), i16(a.output)
    taps = a.filter_height * a.filter_width
    work = 0
    for tap in range(taps):
        is_late, work = late_after(work + a.padded, deadline)
        if is_late:
            return DEADLINE
        for c in range(a.padded):
            upper = lower = 0
            if c < channels:
                at = tap * channels + c
                upper = centered(filter[at], flip, zero)
                if tap + a.filter_width < taps:
                    lower = centered(filter[at + row], flip, zero)
            to = 2 * (tap * a.padded + c)
            pairs[to], pairs[to + 1] = upper, lower
            to += 2 * taps * a.padded
            pairs[to], pairs[to + 1] = upper, 0
    return 0


def expand(name: str, pointer: Any) -> None:
    """input: [pixels, channels]; output: [pixels, padded].

    Every channel `multiplier` times; the rest is 0. A smaller `padded` cuts channels off.
    """

    @kernel(EXPAND, name)
    def copy(a, tile):
        channels, multiplier, padded = a.channels, a.multiplier, a.padded
        size = min(channels, (padded + multiplier - 1) // multiplier)
        x, y = pointer(a.input), pointer(a.output)
        first, end = share(a.pixels, a.parts, tile)
        for pixel in range(first, end):
            source, target = pixel * channels, pixel * padded
            if multiplier == 1:
                for c in range(size):
                    y[target + c] = x[source + c]
            else:
                for c in range(size):
                    for m in range(multiplier):
                        y[target + c * multiplier + m] = x[source + c]
            for c in range(size * multiplier, padded):
                y[target + c] = 0
        return 0


expand("expand_8", u8)
expand("expand_32", u32)
