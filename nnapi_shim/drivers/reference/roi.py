"""ROI_ALIGN ROI_POOLING."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    dtype_of,
    is_float,
    real,
    rounded,
    within_float32,
)
from nnapi_shim.drivers.reference.boxes import check_batch_index, check_corners, reals, stored
from nnapi_shim.errors import op_failed
from nnapi_shim.operations.declare import BoundOperation


def roi_align(op: BoundOperation) -> list[Array]:
    """Per roi and bin: the mean of bilinear samples, evenly spread over the bin."""
    images = _nhwc(real(op.input), op)
    result = np.empty((len(op.rois.value), op.out_height, op.out_width, images.shape[3]))
    for roi, (image, x1, y1, x2, y2) in enumerate(_rois(op, images)):
        low_y, high_y, share_y = _samples(
            y1, y2, op.out_height, op.height_sampling_ratio, images.shape[1]
        )
        low_x, high_x, share_x = _samples(
            x1, x2, op.out_width, op.width_sampling_ratio, images.shape[2]
        )
        ratio_y, ratio_x = low_y.shape[1], low_x.shape[1]
        # The integers of the reference hold weights in steps of 1/255, and fail from here on.
        if not is_float(op.output) and op.input.scale >= 255 * ratio_y * ratio_x * op.output.scale:
            raise op_failed(
                f"output has scale {op.output.scale:g}; it must be greater than that of the "
                f"input, {op.input.scale:g}, over 255 * {ratio_y} * {ratio_x} samples"
            )
        share_y, share_x = share_y[..., None, None], share_x[..., None]
        rows = (1 - share_y) * image[low_y] + share_y * image[high_y]
        samples = (1 - share_x) * rows[:, :, low_x] + share_x * rows[:, :, high_x]
        result[roi] = within_float32(samples.sum((1, 3))) / (ratio_y * ratio_x)
    return [_in_layout(stored(result, op.output), op)]


def _samples(
    start: Array, end: Array, bins: int, ratio: int, size: int
) -> tuple[Array, Array, Array]:
    """Along one axis, [bin, sample]: the points on both sides, and the share of the higher one.

    Positions are in float32. At and beyond the last point a sample is that point.
    """
    bin_size = np.maximum(end - start, np.float32(1)) / np.float32(bins)
    count = ratio or int(np.ceil(bin_size))
    step = bin_size / np.float32(count)
    inside = step * (np.arange(count, dtype=np.float32) + np.float32(0.5))
    positions = (start + bin_size * np.arange(bins, dtype=np.float32))[:, None] + inside
    low = np.minimum(np.floor(positions).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    return low, high, np.where(low < size - 1, positions.astype(np.float64) - low, 0)


def roi_pooling(op: BoundOperation) -> list[Array]:
    """Per roi, its corners rounded, and bin: the maximum, or real 0 if the bin is empty. NaN is
    passed over.

    Quantized numbers are compared as they are stored.
    """
    images = _nhwc(op.input.value, op)
    shape = (len(op.rois.value), op.out_height, op.out_width, images.shape[3])
    empty = 0 if is_float(op.input) else op.input.zero_point
    lowest = -np.inf if is_float(op.input) else None
    result = np.full(shape, empty, dtype_of(op.output.type))
    for roi, (image, *corners) in enumerate(_rois(op, images)):
        x1, y1, x2, y2 = rounded(np.array(corners))
        for i, (top, bottom) in enumerate(_bins(y1, y2, op.out_height, images.shape[1])):
            for j, (left, right) in enumerate(_bins(x1, x2, op.out_width, images.shape[2])):
                if top < bottom and left < right:
                    result[roi, i, j] = np.fmax.reduce(
                        image[top:bottom, left:right], (0, 1), initial=lowest
                    )
    return [_in_layout(result, op)]


def _bins(start: Array, end: Array, bins: int, size: int) -> list[tuple[int, int]]:
    """[floor(start + i * step), ceil(start + (i + 1) * step)), cut to the map; in float32."""
    step = np.maximum(end - start + np.float32(1), np.float32(1)) / np.float32(bins)
    edges = start + step * np.arange(bins + 1, dtype=np.float32)
    first = np.minimum(np.floor(edges[:-1]), size).astype(int)
    after = np.minimum(np.ceil(edges[1:]), size).astype(int)
    return list(zip(first.tolist(), after.tolist(), strict=True))


def _rois(op: BoundOperation, images: Array) -> list[tuple[Array, Array, Array, Array, Array]]:
    """The image of each roi, and its corners x1, y1, x2, y2 in points of it, in float32."""
    rois, index = reals(op.rois), op.batch_index.value
    check_batch_index(index, len(images))
    check_corners(rois, "rois")
    strides = np.array([op.width_stride, op.height_stride] * 2, np.float32)
    corners = rois / strides
    _, height, width, _ = images.shape
    inside = (rois >= 0) & (corners <= np.array([width, height] * 2, np.float32))
    if not inside.all():
        raise op_failed(
            f"rois has the box {rois[~inside.all(1)][0].tolist()}; it must lie in the feature map "
            f"of {height} x {width} with strides {op.height_stride:g} and {op.width_stride:g}"
        )
    return [(images[image], *corner) for image, corner in zip(index, corners, strict=True)]


def _nhwc(images: Array, op: BoundOperation) -> Array:
    return images.transpose(0, 2, 3, 1) if op.nchw else images


def _in_layout(images: Array, op: BoundOperation) -> Array:
    return images.transpose(0, 3, 1, 2) if op.nchw else images
