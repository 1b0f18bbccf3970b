"""PAD PAD_V2 MIRROR_PAD."""

from collections.abc import Sequence

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.operations.declare import BoundOperation


def pad(op: BoundOperation) -> list[Array]:
    """The input with paddings[i] elements before and after; they represent 0."""
    return [padded(op.input.value, op.paddings, op.output.zero_point)]


def pad_v2(op: BoundOperation) -> list[Array]:
    """The input with paddings[i] elements pad_value before and after; a quantized tensor gets the
    lowest 8 bits of pad_value.
    """
    value = np.array(op.pad_value).astype(op.input.value.dtype)
    return [padded(op.input.value, op.paddings, value)]


def mirror_pad(op: BoundOperation) -> list[Array]:
    """The input continued by its mirror image: with b = before, d = 1 (REFLECT) or 0 (SYMMETRIC),
    element p in front is input[b - 1 - p + d], element p behind input[size - 1 - d - p].
    """
    values, d = op.input.value, 1 - op.mode
    for axis, size in enumerate(op.input.dimensions):
        before, after = op.paddings[2 * axis : 2 * axis + 2]
        front = before - 1 - np.arange(before) + d
        back = size - 1 - d - np.arange(after)
        values = np.take(values, np.concatenate([front, np.arange(size), back]), axis)
    return [values]


def padded(values: Array, paddings: Sequence[int], value: object) -> Array:
    """Values with so many elements `value` (before, after) along each axis; negative: without."""
    pairs = list(zip(paddings[::2], paddings[1::2], strict=True))
    sizes = [before + n + after for n, (before, after) in zip(values.shape, pairs, strict=True)]
    result = np.full(sizes, value, values.dtype)
    indexes = [np.arange(n) + before for n, (before, _) in zip(values.shape, pairs, strict=True)]
    inside = [(index >= 0) & (index < n) for index, n in zip(indexes, sizes, strict=True)]
    kept = [index[mask] for index, mask in zip(indexes, inside, strict=True)]
    result[np.ix_(*kept)] = values[np.ix_(*inside)]
    return result
