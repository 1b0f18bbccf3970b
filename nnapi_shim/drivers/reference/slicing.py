"""SLICE STRIDED_SLICE SPLIT."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.operations.declare import BoundOperation


def slice(op: BoundOperation) -> list[Array]:
    """input[begin : begin + size], per dimension; a size of -1 reaches to the end."""
    values = op.input.value
    for axis, (begin, size) in enumerate(zip(op.begin, op.size, strict=True)):
        end = values.shape[axis] if size == -1 else begin + size
        values = values.take(range(begin, end), axis)
    return [values]


def strided_slice(op: BoundOperation) -> list[Array]:
    """input[begin : end : strides], per dimension; bit i of a mask is for dimension i.

    A masked begin or end is the first or last that there is; an axis in shrink_axis_mask, of which
    one element is left, is dropped.
    """
    values, shrunk = op.input.value, []
    for axis, stride in enumerate(op.strides):
        bit, size = 1 << axis, values.shape[axis]
        start = _clamped(op.begin[axis], size, stride)
        end = _clamped(op.end[axis], size, stride)
        if op.begin_mask & bit:
            start = 0 if stride > 0 else size - 1
        if op.end_mask & bit:
            end = size if stride > 0 else -1
        length = max(0, int(np.ceil(np.float32(end - start) / np.float32(stride))))
        indices = start + stride * np.arange(length)
        values = values.take(indices[(indices >= 0) & (indices < size)], axis)
        if op.shrink_axis_mask & bit:
            shrunk.append(axis)
    result = values.squeeze(tuple(shrunk))
    return [result if result.ndim else result.reshape(1)]


def _clamped(index: int, size: int, stride: int) -> int:
    """An index that counts from the end where it is negative, as one of [0, size], or of
    [-1, size - 1] for a negative stride.
    """
    if stride > 0:
        clipped = max(-size, min(size, index))
    elif index < -size:
        return -1
    else:
        clipped = min(size - 1, index)
    return clipped + size if clipped < 0 else clipped


def split(op: BoundOperation) -> list[Array]:
    """num_splits equal parts along axis."""
    return np.split(op.input.value, op.num_splits, op.axis)
