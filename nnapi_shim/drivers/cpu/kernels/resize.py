"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: tables have the source of each pixel;
lowering/resize.py describes the layout of the operands.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late, late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.numeric import multiply_add, truncated
from nnapi_shim.drivers.cpu.codegen.register_transpose import copy_long
from nnapi_shim.drivers.cpu.lowering.resize import BILINEAR, NEAREST, TILE_ROWS
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

HALF, ONE = np.float32(0.5), np.float32(1)

index_of, write_b8 = READ["i32"], WRITE["b8"]
read_f32, read_back, write_f32 = READ["f32"], READ_BACK["f32"], WRITE["f32"]


def nearest(bits, read, write):
    """A pixel is one element of `bits` bits, or a number of them that are copied at once."""
    size = bits // 8

    @kernel(NEAREST, f"resize_nearest_{bits}")
    def body(a, tile, deadline):
        column, count, pixel = a.column, a.count, a.pixel
        pixel_bytes, in_bytes = pixel * size, a.in_length * size
        out_bytes = count * pixel_bytes
        first = tile * a.tile_rows
        y, before = a.output + first * out_bytes, np.int64(0)
        is_long = count * pixel >= LONG // TILE_ROWS
        for row in range(first, min(first + a.tile_rows, a.rows)):
            if is_long and late(deadline):
                return DEADLINE
            image, at = row // a.out_height, row % a.out_height
            x = a.input + (image * a.in_height + index_of(a.row, at)) * in_bytes
            if x == before:
                copy_long(y, y - out_bytes, out_bytes)
            elif pixel == 1:
                for c in range(count):
                    write(y, c, read(x, index_of(column, c)))
            else:
                for c in range(count):
                    copy_long(
                        y + c * pixel_bytes, x + index_of(column, c) * pixel_bytes, pixel_bytes
                    )
            y, before = y + out_bytes, x
        return 0


nearest(8, READ["u8"], WRITE["b8"])
nearest(16, READ["u16"], WRITE["b16"])
nearest(32, READ["i32"], WRITE["i32"])


def bilinear(variant, size):
    """input, output: float, seen as [outer, height, width, inner].

    Two rows of the input, each with the means of its columns, are kept from row to row.
    """
    load, store = READ[variant], WRITE[variant]

    @kernel(BILINEAR, f"resize_bilinear_{variant}")
    def body(a, tile, deadline):
        lower, upper, shares = a.lower_column, a.upper_column, a.column_share
        count, pixel = a.count, a.pixel
        length = count * pixel
        below = a.scratch + tile * 2 * length * 4
        above = below + length * 4
        row_below = row_above = np.int64(0)
        is_long = length >= LONG // TILE_ROWS
        for row in range(*part(a.rows, a.tile_rows, tile)):
            if is_long and late(deadline):
                return DEADLINE
            image, at = row // a.out_height * a.in_height, row % a.out_height
            x0 = a.input + (image + index_of(a.lower_row, at)) * a.in_length * size
            x1 = a.input + (image + index_of(a.upper_row, at)) * a.in_length * size
            if x0 == row_above:
                below, above, row_below, row_above = above, below, row_above, row_below
            for side in range(2):
                x, target = (x0, below) if side == 0 else (x1, above)
                if x == (row_below if side == 0 else row_above):
                    continue
                if pixel == 1:
                    for c in range(count):
                        share = read_f32(shares, c)
                        x_lower = load(x, index_of(lower, c))
                        x_upper = load(x, index_of(upper, c))
                        write_f32(target, c, mean(x_lower, x_upper, share))
                else:
                    for c in range(count):
                        share = read_f32(shares, c)
                        x_lower = x + index_of(lower, c) * pixel * size
                        x_upper = x + index_of(upper, c) * pixel * size
                        pixel_target = target + c * pixel * 4
                        for i in range(pixel):
                            value = mean(load(x_lower, i), load(x_upper, i), share)
                            write_f32(pixel_target, i, value)
            row_below, row_above = x0, x1
            share = read_f32(a.row_share, at)
            y = a.output + row * length * size
            for i in range(length):
                value = mean(read_back(below, i), read_back(above, i), share)
                store(y, i, value)
        return 0


@helper
def mean(x, y, share):
    """Of two floats, with the share of the second one."""
    return multiply_add(y, share, x * (ONE - share))


bilinear("f32", 4)
bilinear("f16", 2)


def bilinear_stored(variant):
    """input, output: byte. Four products are added up in the order that nnapi-reference has: the
    share of the row comes first, so two rows of the input are multiplied with it before.
    """
    load = READ[variant]

    @kernel(BILINEAR, f"resize_bilinear_{variant}")
    def body(a, tile, deadline):
        lower, upper, shares = a.lower_column, a.upper_column, a.column_share
        count, pixel, in_length = a.count, a.pixel, a.in_length
        below = a.scratch + tile * 2 * in_length * 4
        above = below + in_length * 4
        first = tile * a.tile_rows
        y = a.output + first * count * pixel
        work, all_of_row = 0, count * pixel + in_length
        for row in range(first, min(first + a.tile_rows, a.rows)):
            is_late, work = late_after(work + all_of_row, deadline)
            if is_late:
                return DEADLINE
            image, at = row // a.out_height * a.in_height, row % a.out_height
            x0 = a.input + (image + index_of(a.lower_row, at)) * in_length
            x1 = a.input + (image + index_of(a.upper_row, at)) * in_length
            share = read_f32(a.row_share, at)
            rest = ONE - share
            for i in range(in_length):
                write_f32(below, i, load(x0, i) * rest)
                write_f32(above, i, load(x1, i) * share)
            if pixel == 1:
                for c in range(count):
                    left, right, share = index_of(lower, c), index_of(upper, c), read_f32(shares, c)
                    store_sum(y, c, below, above, left, right, share)
            else:
                for c in range(count):
                    left, right = index_of(lower, c) * pixel, index_of(upper, c) * pixel
                    share = read_f32(shares, c)
                    for i in range(pixel):
                        store_sum(y + c * pixel, i, below, above, left + i, right + i, share)
            y += count * pixel
        return 0


@helper
def store_sum(y, i, below, above, left, right, share):
    """The four products, in float32, and 1/2, truncated."""
    rest = ONE - share
    total = read_back(below, left) * rest + read_back(above, left) * rest
    total = total + read_back(below, right) * share
    total = total + read_back(above, right) * share
    write_b8(y, i, truncated(total + HALF))


bilinear_stored("qu8")
bilinear_stored("qs8")
