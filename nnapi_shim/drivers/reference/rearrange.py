"""TRANSPOSE REVERSE CHANNEL_SHUFFLE DEPTH_TO_SPACE SPACE_TO_DEPTH and those of batches.

The last four split axes of an image in two and put the halves elsewhere. Images are looked at in
NHWC order, whatever their layout is.
"""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.padding import padded
from nnapi_shim.drivers.reference.windows import from_nhwc, to_nhwc
from nnapi_shim.operations.declare import BoundOperation


def transpose(op: BoundOperation) -> list[Array]:
    """Dimension i of the output is dimension perm[i] of the input; swapped if perm is omitted."""
    return [op.input.value.transpose(op.perm)]


def reverse(op: BoundOperation) -> list[Array]:
    """The input backwards along one axis."""
    return [np.flip(op.input.value, op.axis[0])]


def channel_shuffle(op: BoundOperation) -> list[Array]:
    """output[k * groups + g] = input[g * (size / groups) + k], along axis."""
    values = np.moveaxis(op.input.value, op.axis, 0)
    groups = values.reshape(op.num_groups, -1, *values.shape[1:])
    return [np.moveaxis(groups.swapaxes(0, 1).reshape(values.shape), 0, op.axis)]


def depth_to_space(op: BoundOperation) -> list[Array]:
    """output[n, h * b + i, w * b + j, c] = input[n, h, w, (i * b + j) * C' + c], C' = C / b^2."""
    values, b = to_nhwc(op.input.value, op.nchw), op.block_size
    n, h, w, depth = values.shape
    blocks = values.reshape(n, h, w, b, b, depth // b**2).transpose(0, 1, 3, 2, 4, 5)
    return [from_nhwc(blocks.reshape(n, h * b, w * b, depth // b**2), op.nchw)]


def space_to_depth(op: BoundOperation) -> list[Array]:
    """output[n, h, w, (i * b + j) * C + c] = input[n, h * b + i, w * b + j, c]."""
    values, b = to_nhwc(op.input.value, op.nchw), op.block_size
    n, height, width, c = values.shape
    blocks = values.reshape(n, height // b, b, width // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    return [from_nhwc(blocks.reshape(n, height // b, width // b, c * b**2), op.nchw)]


def batch_to_space_nd(op: BoundOperation) -> list[Array]:
    """output[n, h * bh + i, w * bw + j, c] = input[(i * bw + j) * N' + n, h, w, c], N' = N / bh /
    bw.
    """
    values, (bh, bw) = to_nhwc(op.input.value, op.nchw), op.block_shape
    batch, h, w, c = values.shape
    n = batch // (bh * bw)
    blocks = values.reshape(bh, bw, n, h, w, c).transpose(2, 3, 0, 4, 1, 5)
    return [from_nhwc(blocks.reshape(n, h * bh, w * bw, c), op.nchw)]


def space_to_batch_nd(op: BoundOperation) -> list[Array]:
    """output[(i * bw + j) * N + n, h, w, c] = padded[n, h * bh + i, w * bw + j, c]; the padding
    stands for 0, a negative one cuts off.
    """
    values, (bh, bw) = to_nhwc(op.input.value, op.nchw), op.block_shape
    values = padded(values, (0, 0, *op.paddings, 0, 0), op.output.zero_point)
    n, height, width, c = values.shape
    blocks = values.reshape(n, height // bh, bh, width // bw, bw, c).transpose(2, 4, 0, 1, 3, 5)
    return [from_nhwc(blocks.reshape(n * bh * bw, height // bh, width // bw, c), op.nchw)]
