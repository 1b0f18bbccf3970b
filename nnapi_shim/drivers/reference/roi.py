"""ROI_ALIGN ROI_POOLING."""

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    centred,
    dtype_of,
    is_float,
    rounded,
    saturated,
    within_float32,
    without_nan,
)
from nnapi_shim.drivers.reference.boxes import check_corners, check_indexes, reals
from nnapi_shim.drivers.reference.deadline import look, watched
from nnapi_shim.drivers.reference.fixed_point import scaled
from nnapi_shim.drivers.reference.windows import from_nhwc, to_nhwc
from nnapi_shim.errors import op_failed
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.faults import roi_outside


def roi_align(op: BoundOperation) -> list[Array]:
    """Per roi and bin: the mean of bilinear samples, evenly spread over the bin.

    Quantized, it is computed with integers (semantics.md 12.8), see `_sum_of_samples`.
    """
    images = to_nhwc(centred(op.input), op.nchw)
    shape = (len(op.rois.value), op.out_height, op.out_width, images.shape[3])
    result = np.empty(shape, dtype_of(op.output.type))
    scales = _reciprocals(op)
    for roi, (image, corners) in enumerate(watched(_rois(op, images))):
        x1, y1, x2, y2 = corners * scales
        rows = _samples(y1, y2, op.out_height, op.height_sampling_ratio, images.shape[1])
        columns = _samples(x1, x2, op.out_width, op.width_sampling_ratio, images.shape[2])
        if is_float(op.output):
            result[roi] = _by_bins(_mean_of_samples, image, rows, columns)
            continue
        multiplier = _multiplier(op, rows.low.shape[1], columns.low.shape[1])
        total = _by_bins(_sum_of_samples, image.astype(np.int64), rows, columns)
        steps = scaled(total, multiplier)
        result[roi] = saturated(steps + op.output.zero_point, op.output.type)
    return [from_nhwc(result, op.nchw)]


class _Samples(NamedTuple):
    """Along one axis, [bin, sample]: the points on both sides, and the share of the higher one."""

    low: Array
    high: Array
    share: Array


def _mean_of_samples(image: Array, rows: _Samples, columns: _Samples) -> Array:
    """In float64; a sum that exceeds float32 is infinite."""
    share_y = rows.share.astype(np.float64)[..., None, None]
    share_x = columns.share.astype(np.float64)[..., None]
    means = (1 - share_y) * image[rows.low] + share_y * image[rows.high]
    samples = (1 - share_x) * means[:, :, columns.low] + share_x * means[:, :, columns.high]
    mean: Array = within_float32(samples.sum((1, 3))) / (samples.shape[1] * samples.shape[3])
    return mean


MANY_SAMPLES = 1 << 24
"""Numbers that are not all in memory at once."""


def _by_bins(
    function: Callable[[Array, _Samples, _Samples], Array],
    image: Array,
    rows: _Samples,
    columns: _Samples,
) -> Array:
    """function(image, rows, columns), a row of bins at a time where the samples are many."""
    if rows.low.size * columns.low.size * image.shape[2] <= MANY_SAMPLES:
        return function(image, rows, columns)
    parts = (_Samples(*(part[i : i + 1] for part in rows)) for i in range(len(rows.low)))
    return np.concatenate([function(image, part, columns) for part in watched(parts)])


WEIGHT_STEP = np.float32(1) / np.float32(255)


def _sum_of_samples(image: Array, rows: _Samples, columns: _Samples) -> Array:
    """The sum of q - zero_point times weights in steps of 1/255, of which 32 bits stay.

    A weight is the product of two shares over that step, in float32, rounded to nearest.
    """
    one = np.float32(1)
    total: Array = np.zeros((), np.int64)
    for row, share_y in ((rows.low, one - rows.share), (rows.high, rows.share)):
        for column, share_x in ((columns.low, one - columns.share), (columns.high, columns.share)):
            weights = rounded(share_y[:, :, None, None] * share_x / WEIGHT_STEP).astype(np.int64)
            total = total + weights[..., None] * image[row[:, :, None, None], column]
    return total.sum((1, 3)).astype(np.int32)


def _multiplier(op: BoundOperation, *samples: int) -> np.float32:
    """Scale of the sum of so many samples, over that of the output; in float32, from the left."""
    scale = np.float32(op.input.scale) * WEIGHT_STEP / np.float32(op.output.scale)
    multiplier = scale / np.float32(prod(samples))
    if not multiplier < 1:
        raise op_failed(
            f"output has scale {op.output.scale:g}; it must be greater than that of the input, "
            f"{op.input.scale:g}, over 255 * {samples[0]} * {samples[1]} samples",
            "roi-align.output-scale",
        )
    return multiplier


def _samples(start: Array, end: Array, bins: int, ratio: int, size: int) -> _Samples:
    """Positions are in float32, in the order of semantics.md 12.8. At and beyond the last point a
    sample is that point.
    """
    bin_size = np.maximum(end - start, np.float32(1)) / np.float32(bins)
    count = ratio or int(np.ceil(bin_size))
    step = bin_size / np.float32(count)
    first = bin_size * np.arange(bins, dtype=np.float32) + start + step / np.float32(2)
    positions = first[:, None] + step * np.arange(count, dtype=np.float32)
    low = np.minimum(np.floor(positions).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = np.where(low < size - 1, positions - low.astype(np.float32), np.float32(0))
    return _Samples(low, high, share)


def roi_pooling(op: BoundOperation) -> list[Array]:
    """Per roi, its corners rounded, and bin: the maximum, or real 0 if the bin is empty. NaN is
    passed over.

    Quantized numbers are compared as they are stored.
    """
    images = without_nan(to_nhwc(op.input.value, op.nchw), -np.inf)
    shape = (len(op.rois.value), op.out_height, op.out_width, images.shape[3])
    empty = 0 if is_float(op.input) else op.input.zero_point
    result = np.full(shape, empty, dtype_of(op.output.type))
    strides = _strides(op)
    for roi, (image, corners) in enumerate(_rois(op, images)):
        x1, y1, x2, y2 = rounded(corners / strides)
        for i, (top, bottom) in enumerate(_bins(y1, y2, op.out_height, images.shape[1])):
            look()
            for j, (left, right) in enumerate(_bins(x1, x2, op.out_width, images.shape[2])):
                if top < bottom and left < right:
                    result[roi, i, j] = image[top:bottom, left:right].max((0, 1))
    return [from_nhwc(result, op.nchw)]


def _bins(start: Array, end: Array, bins: int, size: int) -> list[tuple[int, int]]:
    """[floor(start + i * step), ceil(start + (i + 1) * step)), cut to the map; in float32."""
    step = np.maximum(end - start + np.float32(1), np.float32(1)) / np.float32(bins)
    edges = start + step * np.arange(bins + 1, dtype=np.float32)
    first = np.minimum(np.floor(edges[:-1]), size).astype(int)
    after = np.minimum(np.ceil(edges[1:]), size).astype(int)
    return list(zip(first.tolist(), after.tolist(), strict=True))


def _rois(op: BoundOperation, images: Array) -> list[tuple[Array, Array]]:
    """The image of each roi, and its corners x1, y1, x2, y2, in float32."""
    rois, index = reals(op.rois), op.batch_index.value
    check_indexes(index, "batch_index", len(images))
    check_corners(rois, "rois")
    _, height, width, _ = images.shape
    sizes = np.array([width, height] * 2, np.float32)
    inside = (rois >= 0) & (rois / _strides(op) <= sizes)
    if not inside.all():
        at = int(np.argmin(inside.all(1)))
        strides_given = op.height_stride, op.width_stride
        raise roi_outside(at, rois[at].tolist(), (height, width), strides_given)
    return [(images[image], corners) for image, corners in zip(index, rois, strict=True)]


def _strides(op: BoundOperation) -> Array:
    """What x1, y1, x2, y2 are divided by."""
    return np.array([op.width_stride, op.height_stride] * 2, np.float32)


def _reciprocals(op: BoundOperation) -> Array:
    """What ROI_ALIGN multiplies by instead; finite, so that 0 stays 0."""
    return np.minimum(np.float32(1) / _strides(op), np.finfo(np.float32).max)
