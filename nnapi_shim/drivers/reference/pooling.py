"""AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    activated,
    activated_raw,
    is_float,
    within_float32,
)
from nnapi_shim.drivers.reference.windows import from_nhwc, to_nhwc, windows
from nnapi_shim.operations.declare import BoundOperation


def average_pool_2d(op: BoundOperation) -> list[Array]:
    """The average, sum / count, over the part of each window inside the image; a sum that exceeds
    float32 is infinite.

    Quantized: of raw values, (sum +- count // 2) / count towards zero, + where sum is positive.
    """
    total, count = _sums(op, op.input.value.astype(np.float64))
    if is_float(op.input):
        return _stored(op, within_float32(total) / count)
    return _stored(op, np.trunc((total + np.copysign(count // 2, total)) / count))


def l2_pool_2d(op: BoundOperation) -> list[Array]:
    """sqrt(sum of squares / count) over the part of each window inside the image; squares vanish in
    float32, and a sum that exceeds it is infinite.
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = np.square(op.input.value.astype(np.float32)).astype(np.float64)
    total, count = _sums(op, squares)
    return _stored(op, np.sqrt(within_float32(total) / count))


def max_pool_2d(op: BoundOperation) -> list[Array]:
    """The largest value in the part of each window inside the image; NaN is passed over."""
    image = to_nhwc(op.input.value.astype(np.float64), op.nchw)
    window = windows(op, image, op.filter_height, op.filter_width)
    shape = (len(image), window.vertical.output, window.horizontal.output, image.shape[3])
    largest = np.full(shape, -np.inf)
    for _, _, outputs, inside in window.taps():
        largest[outputs] = np.fmax(largest[outputs], image[inside])
    return _stored(op, largest)


def _sums(op: BoundOperation, values: Array) -> tuple[Array, Array]:
    """What each window sees of an image in the operation's layout: the sum, and how many."""
    image = to_nhwc(values, op.nchw)
    window = windows(op, image, op.filter_height, op.filter_width)
    shape = (len(image), window.vertical.output, window.horizontal.output, image.shape[3])
    total, count = np.zeros(shape), np.zeros(shape)
    for _, _, outputs, inside in window.taps():
        total[outputs] += image[inside]
        count[outputs] += 1
    return total, count


def _stored(op: BoundOperation, nhwc: Array) -> list[Array]:
    """After the activation and in the layout of the operation, with the input's parameters."""
    values, source = from_nhwc(nhwc, op.nchw), op.input
    if is_float(source):
        return [activated(values, op.activation, source.type)]
    return [activated_raw(values, op.activation, source.type, source.scale, source.zero_point)]
