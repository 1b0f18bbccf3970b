"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: tables say where pixels come from; the layout of the
operands is in lowering/resize.py.
"""

import numpy as np

from nnapi_shim.drivers.cpu.kernels.blocks import copy_long
from nnapi_shim.drivers.cpu.kernels.elements import READ, READ_BACK, WRITE
from nnapi_shim.drivers.cpu.kernels.kernel import helper, kernel
from nnapi_shim.drivers.cpu.kernels.numeric import multiply_add, rounded
from nnapi_shim.drivers.cpu.lowering.resize import BILINEAR, NEAREST

ONE = np.float32(1)

index_of, read_share = READ["i32"], READ["f32"]
read_prepared, prepare = READ_BACK["f32"], WRITE["f32"]


def nearest(bits, read, write):
    """A pixel is one element of `bits` bits, or a number of them that are copied at once."""
    size = bits // 8

    def body(a, tile):
        column, count, pixel = a.column, a.count, a.pixel
        pixel_bytes, in_bytes = pixel * size, a.in_length * size
        out_bytes = count * pixel_bytes
        first = tile * a.tile_rows
        y, before = a.output + first * out_bytes, np.int64(0)
        for row in range(first, min(first + a.tile_rows, a.rows)):
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

    body.__name__ = f"resize_nearest_{bits}"
    return kernel(NEAREST)(body)


nearest(8, READ["u8"], WRITE["b8"])
nearest(16, READ["u16"], WRITE["b16"])
nearest(32, READ["i32"], WRITE["i32"])


@helper
def mean(x, y, share):
    """Of two numbers, with the share of the second one."""
    return multiply_add(y, share, x * (ONE - share))


def bilinear(variant, load, store, size):
    """input, output: float or byte, seen as [outer, height, width, inner].

    Two rows of the input, each with the means of its columns, are kept from row to row.
    """

    def body(a, tile):
        lower, upper, shares = a.lower_column, a.upper_column, a.column_share
        count, pixel, signed, offset = a.count, a.pixel, np.uint8(a.signed), a.offset
        length = count * pixel
        below = a.scratch + tile * 2 * length * 4
        above = below + length * 4
        row_below = row_above = np.int64(0)
        first = tile * a.tile_rows
        for row in range(first, min(first + a.tile_rows, a.rows)):
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
                        share = read_share(shares, c)
                        x_lower = load(x, index_of(lower, c), signed)
                        x_upper = load(x, index_of(upper, c), signed)
                        prepare(target, c, mean(x_lower, x_upper, share))
                else:
                    for c in range(count):
                        share = read_share(shares, c)
                        x_lower = x + index_of(lower, c) * pixel * size
                        x_upper = x + index_of(upper, c) * pixel * size
                        pixel_target = target + c * pixel * 4
                        for i in range(pixel):
                            value = mean(load(x_lower, i, signed), load(x_upper, i, signed), share)
                            prepare(pixel_target, i, value)
            row_below, row_above = x0, x1
            share = read_share(a.row_share, at)
            y = a.output + row * length * size
            for i in range(length):
                value = mean(read_prepared(below, i), read_prepared(above, i), share)
                store(y, i, value, offset)
        return 0

    body.__name__ = f"resize_bilinear_{variant}"
    return kernel(BILINEAR)(body)


def bilinear_floats(variant, size):
    """Computed in float32, rounded once."""
    read, write = READ[variant], WRITE[variant]

    @helper
    def load(x, i, signed):
        return read(x, i)

    @helper
    def store(y, i, value, offset):
        write(y, i, value)

    bilinear(variant, load, store, size)


def bilinear_bytes():
    """Signed bytes are flipped to be unsigned; results rounded, halves away from zero."""
    read, write = READ["u8"], WRITE["b8"]

    @helper
    def load(x, i, signed):
        return np.float32(read(x, i) ^ signed)

    @helper
    def store(y, i, value, offset):
        write(y, i, rounded(value - offset))

    bilinear("b8", load, store, 1)


bilinear_floats("f32", 4)
bilinear_floats("f16", 2)
bilinear_bytes()
