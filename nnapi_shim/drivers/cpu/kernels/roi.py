"""ROI_ALIGN and ROI_POOLING on NHWC images: a loop over the channels per sample, or per three taps.

Positions are float32; ROI_ALIGN multiplies by the reciprocal of the stride (semantics.md 12.8).
Result code 5 is OP_FAILED.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.boxes import is_box
from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late, late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.fixed_point import scaled
from nnapi_shim.drivers.cpu.codegen.numeric import bits_of, rounded
from nnapi_shim.drivers.cpu.codegen.single_fetch import fetch_box, fetch_i32
from nnapi_shim.drivers.cpu.kernels.pooling import bounds, largest, signed_bounds, unsigned_bounds
from nnapi_shim.drivers.cpu.lowering.roi import ROI_ALIGN, ROI_POOL, ROI_POOL_RAW, WEIGHT_STEP
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

OP_FAILED = 5
ZERO, HALF, ONE, STEP = (np.float32(value) for value in (0, 0.5, 1, WEIGHT_STEP))
MANY = 64
"""Samples side by side after which the clock is looked at, if there are many more."""
ALMOST_HALF = np.nextafter(HALF, ZERO)
LARGEST = np.finfo(np.float32).max
"""Of the reciprocals of strides, so that 0 stays 0."""


@helper
def corners(a, roi):
    """(whether the roi is legal, its image, x1, y1, x2, y2)."""
    image = np.int64(fetch_i32(a.batch_index, roi))
    x1, y1, x2, y2 = fetch_box(a.rois, roi)
    width, height = np.float32(a.width), np.float32(a.height)
    legal = 0 <= image < a.batches and is_box(x1, y1, x2, y2) and x1 >= ZERO and y1 >= ZERO
    legal = legal and x2 / a.width_stride <= width and y2 / a.height_stride <= height
    legal = legal and x1 / a.width_stride <= width and y1 / a.height_stride <= height
    return legal, image, x1, y1, x2, y2


# ROI_ALIGN


@helper
def bins(start, end, count, ratio):
    """(size of a bin, number of samples in it, their distance) along one axis."""
    size = max(end - start, ONE) / np.float32(count)
    samples = ratio if ratio > 0 else np.int64(np.ceil(size))
    return size, samples, size / np.float32(samples)


@helper
def neighbours(position, size):
    """(points on both sides, share of the higher one); the last point from there on."""
    low = np.int64(np.floor(position))
    if low >= size - 1:
        return size - 1, size - 1, ZERO
    return low, low + 1, position - np.float32(low)


def roi_align(variant, size, types, scaling_of, weights_of, add, finish):
    """output[roi, i, j, c] = finish(sum of the samples, sum of their weights, scaling).

    types: element types of input, output and sums, which have 4 bytes.
    scaling_of(record, number of samples) -> (whether that is legal, scaling);
    weights_of(down, right) -> weights of four points; add(sum, points, weights) -> sum.
    """
    source, stored, summed = types
    read, write = READ[source], WRITE[stored]
    read_sum, write_sum = READ_BACK[summed], WRITE[summed]

    @helper
    def add_samples(a, image, rows, columns, sums, deadline):
        """Add up the samples of a bin: (whether the deadline has passed, sum of their weights).

        rows, columns: (position of the first sample, step, number of samples) along each axis.
        """
        (top, step_y, row_count), (left, step_x, column_count) = rows, columns
        depth, pixel = a.depth, a.depth * size
        row_products = column_count * depth
        is_long, is_wide = (row_count + 1) * row_products >= LONG, row_products >= LONG
        for c in range(depth):
            write_sum(sums, c, 0)
        weight = np.int64(0)
        for row in range(row_count):
            low, high, down = neighbours(top + step_y * np.float32(row), a.height)
            above, below = image + low * a.width * pixel, image + high * a.width * pixel
            if is_long and late(deadline):
                return True, weight
            for column in range(column_count):
                if is_wide and column % MANY == 0 and late(deadline):
                    return True, weight
                low, high, right = neighbours(left + step_x * np.float32(column), a.width)
                weights = weights_of(down, right)
                weight += np.int64(sum_of(weights))
                p0, p1 = above + low * pixel, above + high * pixel
                p2, p3 = below + low * pixel, below + high * pixel
                for c in range(depth):
                    points = read(p0, c), read(p1, c), read(p2, c), read(p3, c)
                    write_sum(sums, c, add(read_sum(sums, c), points, weights))
        return False, weight

    @kernel(ROI_ALIGN, f"roi_align_{variant}")
    def body(a, tile, deadline):
        depth, out_width, pixel = a.depth, a.out_width, a.depth * size
        sums = a.sums + tile * depth * 4
        first, end = part(a.count, a.tile_rois, tile)
        target = a.output + first * a.out_height * out_width * pixel
        scale_x, scale_y = min(ONE / a.width_stride, LARGEST), min(ONE / a.height_stride, LARGEST)
        work = 0
        for roi in range(first, end):
            legal, number, x1, y1, x2, y2 = corners(a, roi)
            if not legal:
                return OP_FAILED
            x1, y1, x2, y2 = x1 * scale_x, y1 * scale_y, x2 * scale_x, y2 * scale_y
            bin_height, rows, step_y = bins(y1, y2, a.out_height, a.ratio_height)
            bin_width, columns, step_x = bins(x1, x2, out_width, a.ratio_width)
            legal, scaling = scaling_of(a, np.float32(rows * columns))
            if not legal:
                return OP_FAILED
            image = a.input + number * a.height * a.width * pixel
            for i in range(a.out_height):
                top = (bin_height * np.float32(i) + y1) + step_y * HALF
                for j in range(out_width):
                    is_late, work = late_after(work + (rows + 1) * columns * depth, deadline)
                    if is_late:
                        return DEADLINE
                    left = (bin_width * np.float32(j) + x1) + step_x * HALF
                    is_late, weight = add_samples(
                        a, image, (top, step_y, rows), (left, step_x, columns), sums, deadline
                    )
                    if is_late:
                        return DEADLINE
                    for c in range(depth):
                        write(target, c, finish(read_sum(sums, c), weight, scaling))
                    target += pixel
        return 0


@helper
def sum_of(weights):
    """Of four points."""
    return (weights[0] + weights[1]) + (weights[2] + weights[3])


@helper
def shares(down, right):
    """The weights of the points above, left and right, and below."""
    return (ONE - down) * (ONE - right), (ONE - down) * right, down * (ONE - right), down * right


@helper
def add_floats(total, p, w):
    """One more sample."""
    return total + ((w[0] * p[0] + w[1] * p[1]) + (w[2] * p[2] + w[3] * p[3]))


@helper
def mean(total, weight, count):
    """The quotient total / count."""
    return total / count


number_of_samples = helper(lambda a, count: (True, count))

for _type, _size in (("f32", 4), ("f16", 2)):
    _types = _type, _type, "f32"
    roi_align(_type, _size, _types, number_of_samples, shares, add_floats, mean)


# Quantized: weights in steps of 1/255, sums of integers (semantics.md 12.8)


@helper
def steps_of(share):
    """To the nearest, halves up."""
    return np.floor(share / STEP + ALMOST_HALF)


@helper
def whole_shares(down, right):
    """The weights in such steps, as float32."""
    w0, w1, w2, w3 = shares(down, right)
    return steps_of(w0), steps_of(w1), steps_of(w2), steps_of(w3)


@helper
def multiplier(a, count):
    """(whether scale / count is below 1, itself as (float32, exponent)); 0 below 2^-32."""
    factor = a.scale / count
    exponent = (np.int64(bits_of(factor)) >> 23) - 126
    if exponent < -31:
        return True, ZERO, np.int64(0)
    return factor < ONE, factor, exponent


@helper
def scaling_of_few(a, count):
    """The parameters of `requantized`: zero points, bounds, the factor and its roundings."""
    legal, factor, exponent = multiplier(a, count)
    step = 1.0 / np.float64(1 << -min(exponent, 0))
    half, down = (0.5, 0.0) if exponent >= 0 else (0.5 + step / 2.0, step)
    return legal, (
        a.zero_in,
        a.zero_out,
        a.low,
        a.high,
        np.float64(factor),
        half,
        down,
        -step / 2.0,
    )


@helper
def requantized(total, weight, scaling):
    """The sum less that of as many zero points, in steps of the output.

    MBQM (5.3) in float64, in which products of 24 bits each are exact. Of its two roundings the
    first is to multiples of 2^e, halves up, the second to integers, halves away from 0: both are
    one rounding down, of a number that is raised by half of either, a negative one by 2^e less.
    """
    zero_in, zero_out, low, high, factor, half, down, negative = scaling
    product = (np.float64(total) - np.float64(zero_in * weight)) * factor
    raised = product + half - (down if product < negative else 0.0)
    steps = np.int32(np.floor(raised)) + np.int32(zero_out)
    return np.int32(min(max(steps, low), high))


@helper
def scaling_of_many(a, count):
    """The parameters of `requantized_many`."""
    legal, factor, exponent = multiplier(a, count)
    mantissa = (np.int64(bits_of(factor)) & 0x7FFFFF | 0x800000) << 7
    mantissa = np.int64(0) if factor == ZERO else mantissa
    return legal, (a.zero_in, a.zero_out, a.low, a.high, mantissa, exponent)


@helper
def requantized_many(total, weight, scaling):
    """The same for any number of samples, whose sum wraps."""
    zero_in, zero_out, low, high, mantissa, exponent = scaling
    centred = np.int64(np.int32(total - zero_in * weight))
    return np.int32(min(max(scaled(centred, mantissa, exponent) + zero_out, low), high))


@helper
def add_bytes(total, p, w):
    """One more sample."""
    upper = np.int64(p[0]) * np.int64(w[0]) + np.int64(p[1]) * np.int64(w[1])
    lower = np.int64(p[2]) * np.int64(w[2]) + np.int64(p[3]) * np.int64(w[3])
    return total + (upper + lower)


for _type, _stored in (("qu8", "u8"), ("qs8", "s8")):
    _types = _type, "b8", "f32"
    roi_align(_type, 1, _types, scaling_of_few, whole_shares, add_floats, requantized)
    _types = _stored, "b8", "i32"
    _functions = scaling_of_many, whole_shares, add_bytes, requantized_many
    roi_align(f"many_{_type}", 1, _types, *_functions)


# ROI_POOLING


@helper
def pool_bins(start, end, count):
    """(rounded start, size of a bin) along one axis."""
    start, end = np.float32(rounded(start)), np.float32(rounded(end))
    return start, max(end - start + ONE, ONE) / np.float32(count)


@helper
def covered(start, step, i, size):
    """(first, end) of the points that bin i covers."""
    first = np.floor(start + step * np.float32(i))
    end = np.ceil(start + step * np.float32(i + 1))
    return min(np.int64(first), size), min(np.int64(end), size)


def roi_pool(variant, layout, stored, size, target_type, bounds_of):
    """output[roi, i, j, c] = maximum over the bin, or zero if that is empty."""
    write = WRITE[target_type]
    pixel_maximum = largest(READ[stored], READ_BACK[stored], write)

    @kernel(layout, f"roi_pool_{variant}")
    def body(a, tile, deadline):
        height, width, depth, out_width = a.height, a.width, a.depth, a.out_width
        limits = bounds_of(a, tile)
        pixel = depth * size
        first = tile * a.tile_rois
        target = a.output + first * a.out_height * out_width * pixel
        work = 0
        for roi in range(first, min(first + a.tile_rois, a.count)):
            legal, number, x1, y1, x2, y2 = corners(a, roi)
            if not legal:
                return OP_FAILED
            y1, step_y = pool_bins(y1 / a.height_stride, y2 / a.height_stride, a.out_height)
            x1, step_x = pool_bins(x1 / a.width_stride, x2 / a.width_stride, out_width)
            image = a.input + number * height * width * pixel
            for i in range(a.out_height):
                top, bottom = covered(y1, step_y, i, height)
                for j in range(out_width):
                    left, right = covered(x1, step_x, j, width)
                    is_late, work = late_after(
                        work + (max(bottom - top, 0) * max(right - left, 0) + 1) * depth, deadline
                    )
                    if is_late:
                        return DEADLINE
                    if top < bottom and left < right:
                        corner = image + (top * width + left) * pixel
                        pixel_maximum(
                            corner, pixel, width * pixel, bottom - top, right - left, depth,
                            target, limits,
                        )  # fmt: skip
                    else:
                        zero = a.zero
                        for c in range(depth):
                            write(target, c, zero)
                    target += pixel
        return 0


roi_pool("f32", ROI_POOL, "f32", 4, "f32", bounds)
roi_pool("f16", ROI_POOL, "f16", 2, "f16", bounds)
roi_pool("qu8", ROI_POOL_RAW, "u8", 1, "b8", unsigned_bounds)
roi_pool("qs8", ROI_POOL_RAW, "s8", 1, "b8", signed_bounds)
