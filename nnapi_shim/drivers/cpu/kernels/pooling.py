"""The pooling operations on NHWC images: one loop over the channels per three taps.

input: [images, in_height, in_width, depth], output: [rows, out_width, depth] with out_height rows
per image. A window is cut to the part that lies inside the image, row by row. A pass over the
channels takes in three taps of a row at once, which keeps the traffic of the running result low;
missing taps read a substitute that does not change the result.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE
from nnapi_shim.drivers.cpu.codegen.numeric import (
    SIGN,
    bits_of,
    clamp,
    float_of,
    square_root,
    truncated,
)
from nnapi_shim.drivers.cpu.codegen.pooling_microkernel import (
    AVERAGE_BYTE,
    AVERAGE_FLOAT,
    LARGEST_BYTE,
    LARGEST_FLOAT,
    TAPS,
    windows,
)
from nnapi_shim.drivers.cpu.lowering.pooling import AVERAGE_POOL, MAX_POOL, MAX_POOL_RAW
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

FEW_BYTES = 96
"""Taps up to which all are added up in registers."""
ONE, QUARTER = np.float32(1), np.float32(0.25)

PASSES = 32
"""Passes whose sum goes to the total: floats are added up in registers where there are no more."""

write_sum, read_sum = WRITE["f32"], READ_BACK["f32"]
write_whole, read_whole = WRITE["i32"], READ_BACK["i32"]


@helper
def inside(position, stride, pad, extent, size):
    """(first, end) of the window's part inside the image, along one axis."""
    start = position * stride - pad
    return max(start, 0), min(start + extent, size)


def pool(name, layout, size, constants, pixel):
    """The walk over all windows; `pixel` computes the channels of one.

    pixel(corner, pixel_step, row_step, height, width, depth, target, constants): the window's first
    tap, its steps in bytes, how many taps it has, where the results go. size: bytes of an element.
    """

    @kernel(layout, name)
    def body(a, tile, deadline):
        values = constants(a, tile)
        depth, in_height, in_width, out_width = a.depth, a.in_height, a.in_width, a.out_width
        stride_width, pad_width, filter_width = a.stride_width, a.pad_width, a.filter_width
        pixel_step = depth * size
        row_step = in_width * pixel_step
        first = tile * a.tile_rows
        target = a.output + first * out_width * pixel_step
        stretch, taps = out_width, min(a.filter_height, in_height) * filter_width * depth
        if out_width * taps >= LONG:
            stretch = max(LONG // taps, 1)
        for row in range(first, min(first + a.tile_rows, a.rows)):
            image, y = row // a.out_height, row % a.out_height
            top, bottom = inside(y, a.stride_height, a.pad_height, a.filter_height, in_height)
            line = a.input + (image * in_height + top) * row_step
            height = bottom - top
            for start in range(0, out_width, stretch):
                if start > 0 and late(deadline):
                    return DEADLINE
                for x in range(start, min(start + stretch, out_width)):
                    left, right = inside(x, stride_width, pad_width, filter_width, in_width)
                    corner = line + left * pixel_step
                    pixel(corner, pixel_step, row_step, height, right - left, depth, target, values)
                    target += pixel_step
        return 0


# Maximum


def largest(read, read_back, write):
    """The maximum, starting from `low` and clamped to `high` in every pass, which preserves the
    order. NaN is ignored. The last tap replaces a missing one.
    """

    @helper
    def pixel(corner, pixel_step, row_step, height, width, depth, target, bounds):
        low, high = bounds
        for row in range(height):
            for tap in range(0, width, TAPS):
                x0 = corner + row * row_step + tap * pixel_step
                x1 = x0 + min(1, width - 1 - tap) * pixel_step
                x2 = x0 + min(2, width - 1 - tap) * pixel_step
                if row + tap == 0:
                    for c in range(depth):
                        most = largest_of(read(x0, c), read(x1, c), read(x2, c), low)
                        write(target, c, min(most, high))
                else:
                    for c in range(depth):
                        most = read_back(target, c)
                        most = largest_of(read(x0, c), read(x1, c), read(x2, c), most)
                        write(target, c, min(most, high))

    return pixel


@helper
def largest_of(x0, x1, x2, most):
    """The largest of four numbers, of which the last is not NaN; NaN counts as smaller."""
    most = x0 if x0 > most else most
    most = x1 if x1 > most else most
    return x2 if x2 > most else most


bounds = helper(lambda a, tile: (a.low, a.high))
unsigned_bounds = helper(lambda a, tile: (np.uint8(a.low), np.uint8(a.high)))
signed_bounds = helper(lambda a, tile: (np.int8(a.low), np.int8(a.high)))

_pixel = largest(READ["f16"], READ_BACK["f16"], WRITE["f16"])
pool("max_pool_f16", MAX_POOL, 2, bounds, _pixel)


def in_registers(run):
    """The pixel that `windows` (pooling_microkernel.py) computes, all of its taps at once."""

    @helper
    def pixel(corner, pixel_step, row_step, height, width, depth, target, values):
        low, high, count = values[0], values[1], height * width
        run(
            corner, (pixel_step, row_step), (height, width, depth), target, low, high,
            ONE / np.float32(count), np.float32(count // 2) + QUARTER,
        )  # fmt: skip

    return pixel


pool("max_pool_f32", MAX_POOL, 4, bounds, in_registers(windows(LARGEST_FLOAT)))
for _type, _pool in LARGEST_BYTE.items():
    pool(f"max_pool_{_type}", MAX_POOL_RAW, 1, bounds, in_registers(windows(_pool)))


# Average, of numbers or of their squares


@helper
def keep(totals, count):
    """float32 totals need no conversion."""


@helper
def add_floats(y, x, count):
    """y: float32[count] += x."""
    for c in range(count):
        write_sum(y, c, read_sum(y, c) + read_sum(x, c))


@helper
def whole(y, count):
    """Turn float32[count] into int32[count]."""
    for c in range(count):
        write_whole(y, c, np.int64(truncated(read_sum(y, c))))


@helper
def add_whole(y, x, count):
    """y: int32[count] += x: float32[count]."""
    for c in range(count):
        write_whole(y, c, read_whole(y, c) + np.int64(truncated(read_sum(x, c))))


FLOATS = keep, add_floats, read_sum
INTEGERS = whole, add_whole, read_whole


def average(read, write, finish, sums_of_many, finish_many):
    """finish(sum, number of taps), clamped. Sums are float32, from the first tap to the last, three
    at a time. The sums of PASSES passes are separate partial sums, so the error grows with the root
    of the number of taps. A row of zeros replaces a missing tap.

    sums_of_many, finish_many: the accumulator of more passes, FLOATS or, for quantized numbers,
    the exact INTEGERS, and its finish.
    """
    turn, add_up, read_total = sums_of_many

    @helper
    def pixel(corner, pixel_step, row_step, height, width, depth, target, values):
        low, high, zeros, totals = values
        sums, passes = totals, 0
        for row in range(height):
            for tap in range(0, width, TAPS):
                x0 = corner + row * row_step + tap * pixel_step
                x1 = x0 + pixel_step if tap + 1 < width else zeros
                x2 = x0 + 2 * pixel_step if tap + 2 < width else zeros
                if passes % PASSES == 0:
                    if passes == PASSES:
                        turn(totals, depth)
                    if passes > PASSES:
                        add_up(totals, sums, depth)
                    sums = totals if passes == 0 else totals + 4 * depth
                    for c in range(depth):
                        write_sum(sums, c, read(x0, c) + read(x1, c) + read(x2, c))
                else:
                    for c in range(depth):
                        total = read_sum(sums, c) + (read(x0, c) + read(x1, c) + read(x2, c))
                        write_sum(sums, c, total)
                passes += 1
        count = height * width
        if passes > PASSES:
            add_up(totals, sums, depth)
            for c in range(depth):
                write(target, c, finish_many(read_total(totals, c), count, low, high))
        else:
            for c in range(depth):
                write(target, c, finish(read_sum(totals, c), count, low, high))

    return pixel


@helper
def mean(total, count, low, high):
    """The quotient total / count."""
    return clamp(total / np.float32(count), low, high)


@helper
def root_mean(total, count, low, high):
    """The square root of the quotient."""
    return clamp(square_root(total / np.float32(count)), low, high)


def squared(read):
    """Reads the square of an element."""

    @helper
    def square(x, i):
        value = read(x, i)
        return value * value

    return square


@helper
def rounded_mean(total, count, low, high):
    """(total + count // 2) / count toward zero, with - instead of + for a negative total."""
    half = float_of(bits_of(np.float32(count // 2)) | (bits_of(total) & SIGN))
    return truncated(clamp((total + half) / np.float32(count), low, high))


@helper
def rounded_mean_of_many(total, count, low, high):
    """The same of an int32, in float64."""
    half = np.float64(count // 2)
    quotient = (np.float64(total) + (half if total > 0 else -half)) / np.float64(count)
    return np.int32(clamp(quotient, np.float64(low), np.float64(high)))


average_constants = helper(lambda a, tile: (a.low, a.high, a.zeros, a.sums + tile * a.depth * 8))


@helper
def are_few_floats(height, width):
    """Whether a window has at most PASSES sums of three taps, and single taps that are left."""
    return height * (width // TAPS + width % TAPS) <= PASSES


@helper
def are_few_bytes(height, width):
    """Whether the sum fits 16 bits."""
    return height * width <= FEW_BYTES


def by_size(are_few, few, many):
    """Choose between the pixel functions for few and for many taps."""
    few = in_registers(few)

    @helper
    def pixel(corner, pixel_step, row_step, height, width, depth, target, values):
        if are_few(height, width):
            few(corner, pixel_step, row_step, height, width, depth, target, values)
        else:
            many(corner, pixel_step, row_step, height, width, depth, target, values)

    return pixel


_pixel = average(READ["f16"], WRITE["f16"], mean, FLOATS, mean)
pool("average_pool_f16", AVERAGE_POOL, 2, average_constants, _pixel)
_pixel = by_size(
    are_few_floats, windows(AVERAGE_FLOAT), average(READ["f32"], WRITE["f32"], mean, FLOATS, mean)
)
pool("average_pool_f32", AVERAGE_POOL, 4, average_constants, _pixel)

_pixel = average(squared(READ["f32"]), WRITE["f32"], root_mean, FLOATS, root_mean)
pool("l2_pool_f32", AVERAGE_POOL, 4, average_constants, _pixel)

for _type, _pool in AVERAGE_BYTE.items():
    _pixel = average(READ[_type], WRITE["b8"], rounded_mean, INTEGERS, rounded_mean_of_many)
    _pixel = by_size(are_few_bytes, windows(_pool), _pixel)
    pool(f"average_pool_{_type}", AVERAGE_POOL, 1, average_constants, _pixel)
