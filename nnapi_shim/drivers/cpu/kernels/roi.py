"""ROI_ALIGN and ROI_POOLING on NHWC images: a loop over the channels per sample, or per three taps.

Positions are float32. Result code 5 is OP_FAILED.
"""

import numpy as np

from nnapi_shim.drivers.cpu.kernels.boxes import is_box
from nnapi_shim.drivers.cpu.kernels.elements import READ, READ_BACK, WRITE
from nnapi_shim.drivers.cpu.kernels.kernel import helper, kernel
from nnapi_shim.drivers.cpu.kernels.numeric import bounded, f32, i32, rounded
from nnapi_shim.drivers.cpu.kernels.pooling import bounds, largest, signed_bounds, unsigned_bounds
from nnapi_shim.drivers.cpu.lowering.roi import ROI_ALIGN, ROI_POOL, ROI_POOL_RAW

OP_FAILED = 5
ZERO, HALF, ONE = (np.float32(value) for value in (0, 0.5, 1))
LARGEST_WEIGHT = np.float32(255)
"""The integers of the reference hold weights in steps of 1/255, and fail for larger scales."""

read_sum, write_sum = READ_BACK["f32"], WRITE["f32"]


@helper
def corners(a, roi):
    """(whether the roi is legal, x1, y1, x2, y2 in points of the feature map)."""
    rois, image = f32(a.rois), np.int64(i32(a.batch_index)[roi])
    x1, y1, x2, y2 = rois[4 * roi], rois[4 * roi + 1], rois[4 * roi + 2], rois[4 * roi + 3]
    legal = 0 <= image < a.batches and is_box(x1, y1, x2, y2) and x1 >= ZERO and y1 >= ZERO
    x1, y1, x2, y2 = (
        x1 / a.width_stride,
        y1 / a.height_stride,
        x2 / a.width_stride,
        y2 / a.height_stride,
    )
    legal = legal and x2 <= np.float32(a.width) and y2 <= np.float32(a.height)
    return legal and x1 <= np.float32(a.width) and y1 <= np.float32(a.height), x1, y1, x2, y2


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


def roi_align(variant, size, stored, finish):
    """output[roi, i, j, c] = finish(sum of the samples, their number, constants)."""
    read, write = READ[variant], WRITE[stored]

    def body(a, tile):
        height, width, depth, out_width = a.height, a.width, a.depth, a.out_width
        constants = a.scale, a.zero_in, a.zero_out, a.low, a.high
        pixel = depth * size
        sums = a.sums + tile * depth * 4
        first = tile * a.tile_rois
        target = a.output + first * a.out_height * out_width * pixel
        for roi in range(first, min(first + a.tile_rois, a.count)):
            legal, x1, y1, x2, y2 = corners(a, roi)
            if not legal:
                return OP_FAILED
            bin_height, rows, step_y = bins(y1, y2, a.out_height, a.ratio_height)
            bin_width, columns, step_x = bins(x1, x2, out_width, a.ratio_width)
            count = np.float32(rows * columns)
            if a.scale >= LARGEST_WEIGHT * count:
                return OP_FAILED
            image = a.input + np.int64(i32(a.batch_index)[roi]) * height * width * pixel
            for i in range(a.out_height):
                top = y1 + bin_height * np.float32(i)
                for j in range(out_width):
                    left = x1 + bin_width * np.float32(j)
                    for c in range(depth):
                        write_sum(sums, c, ZERO)
                    for row in range(rows):
                        at = top + step_y * (np.float32(row) + HALF)
                        low, high, down = neighbours(at, height)
                        above, below = image + low * width * pixel, image + high * width * pixel
                        for column in range(columns):
                            at = left + step_x * (np.float32(column) + HALF)
                            low, high, right = neighbours(at, width)
                            w0, w1 = (ONE - down) * (ONE - right), (ONE - down) * right
                            w2, w3 = down * (ONE - right), down * right
                            p0, p1 = above + low * pixel, above + high * pixel
                            p2, p3 = below + low * pixel, below + high * pixel
                            for c in range(depth):
                                upper = w0 * read(p0, c) + w1 * read(p1, c)
                                lower = w2 * read(p2, c) + w3 * read(p3, c)
                                write_sum(sums, c, read_sum(sums, c) + (upper + lower))
                    for c in range(depth):
                        write(target, c, finish(read_sum(sums, c), count, constants))
                    target += pixel
        return 0

    body.__name__ = f"roi_align_{variant}"
    return kernel(ROI_ALIGN)(body)


@helper
def mean(total, count, constants):
    """The quotient total / count."""
    return total / count


@helper
def requantized_mean(total, count, constants):
    """The mean of stored numbers in the parameters of the output."""
    scale, zero_in, zero_out, low, high = constants
    return rounded(bounded((total / count - zero_in) * scale + zero_out, low, high))


roi_align("f32", 4, "f32", mean)
roi_align("f16", 2, "f16", mean)
roi_align("qu8", 1, "b8", requantized_mean)
roi_align("qs8", 1, "b8", requantized_mean)


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

    def body(a, tile):
        height, width, depth, out_width = a.height, a.width, a.depth, a.out_width
        limits = bounds_of(a, tile)
        pixel = depth * size
        first = tile * a.tile_rois
        target = a.output + first * a.out_height * out_width * pixel
        for roi in range(first, min(first + a.tile_rois, a.count)):
            legal, x1, y1, x2, y2 = corners(a, roi)
            if not legal:
                return OP_FAILED
            y1, step_y = pool_bins(y1, y2, a.out_height)
            x1, step_x = pool_bins(x1, x2, out_width)
            image = a.input + np.int64(i32(a.batch_index)[roi]) * height * width * pixel
            for i in range(a.out_height):
                top, bottom = covered(y1, step_y, i, height)
                for j in range(out_width):
                    left, right = covered(x1, step_x, j, width)
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

    body.__name__ = f"roi_pool_{variant}"
    return kernel(layout)(body)


roi_pool("f32", ROI_POOL, "f32", 4, "f32", bounds)
roi_pool("f16", ROI_POOL, "f16", 2, "f16", bounds)
roi_pool("qu8", ROI_POOL_RAW, "u8", 1, "b8", unsigned_bounds)
roi_pool("qs8", ROI_POOL_RAW, "s8", 1, "b8", signed_bounds)
