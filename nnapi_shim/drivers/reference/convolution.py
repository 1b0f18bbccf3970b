"""CONV_2D DEPTHWISE_CONV_2D GROUPED_CONV_2D TRANSPOSE_CONV_2D."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, centred
from nnapi_shim.drivers.reference.deadline import product, watched
from nnapi_shim.drivers.reference.half import sums
from nnapi_shim.drivers.reference.linear import with_bias
from nnapi_shim.drivers.reference.windows import from_nhwc, to_nhwc, windows
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import PaddingCode
from nnapi_shim.operations.declare import BoundOperation


def conv_2d(op: BoundOperation) -> list[Array]:
    """output[n,y,x,o] = act(bias[o] + sum over i,j,k of image[n,y',x',k] * filter[o,i,j,k]).

    y' = y * stride_height - pad_top + i * dilation_height, x' likewise; taps outside count as 0.
    """
    image = to_nhwc(centred(op.input), op.nchw)
    total = _convolved(op, image, centred(op.filter))
    return [from_nhwc(with_bias(op, total, op.filter), op.nchw)]


def grouped_conv_2d(op: BoundOperation) -> list[Array]:
    """CONV_2D of the channels of every group with the filters of that group."""
    image = to_nhwc(centred(op.input), op.nchw)
    groups = zip(
        np.split(image, op.num_groups, axis=3),
        np.split(centred(op.filter), op.num_groups),
        strict=True,
    )
    total = np.concatenate([_convolved(op, *group) for group in groups], axis=3)
    return [from_nhwc(with_bias(op, total, op.filter), op.nchw)]


def _convolved(op: BoundOperation, image: Array, filter: Array) -> Array:
    """Sums of products, [batch, out_height, out_width, depth_out]."""
    depth_out, height, width, _ = filter.shape
    window = windows(op, image, height, width)
    total = sums((len(image), window.vertical.output, window.horizontal.output, depth_out))
    for i, j, outputs, inside in window.taps():
        total[outputs] += product(image[inside], filter[:, i, j].T)
    return total


def depthwise_conv_2d(op: BoundOperation) -> list[Array]:
    """output[n,y,x,o] = act(bias[o] + sum over i,j of image[n,y',x',o // m] * filter[0,i,j,o]).

    m is depth_multiplier, y' and x' as for CONV_2D.
    """
    image = to_nhwc(centred(op.input), op.nchw)
    filter = centred(op.filter)
    _, height, width, depth_out = filter.shape
    window = windows(op, image, height, width)
    total = sums((len(image), window.vertical.output, window.horizontal.output, depth_out))
    for i, j, outputs, inside in window.taps():
        total[outputs] += np.repeat(image[inside], op.depth_multiplier, axis=3) * filter[0, i, j]
    return [from_nhwc(with_bias(op, total, op.filter), op.nchw)]


def transpose_conv_2d(op: BoundOperation) -> list[Array]:
    """output[n,y,x,o] = act(bias[o] + sum of image[n,h,w,k] * filter[o,i,j,k]).

    The sum is over all h, i, w, j, k with y = h * stride_height - pad_top + i and
    x = w * stride_width - pad_left + j.
    """
    image = to_nhwc(centred(op.input), op.nchw)
    filter = centred(op.filter)
    batch, in_height, in_width, _ = image.shape
    depth_out, height, width, _ = filter.shape
    asked = (None, None)
    if op.output_shape is not None:
        first = 2 if op.nchw else 1
        asked = op.output_shape[first : first + 2]
    top, bottom = _padding(op, asked[0], height, op.stride_height, op.pad_top, op.pad_bottom)
    left, right = _padding(op, asked[1], width, op.stride_width, op.pad_left, op.pad_right)
    out_height = in_height * op.stride_height + height - op.stride_height - top - bottom
    out_width = in_width * op.stride_width + width - op.stride_width - left - right
    if min(out_height, out_width) < 1 or min(top, left) < 0:
        raise op_failed(
            f"the output would be {out_height} x {out_width}, paddings {top}, {left}",
            "transpose-conv-2d.output-size",
        )
    total = sums((batch, out_height, out_width, depth_out))
    for i in range(height):
        for j in watched(range(width)):
            products = product(image, filter[:, i, j].T)
            y = np.arange(in_height) * op.stride_height - top + i
            x = np.arange(in_width) * op.stride_width - left + j
            rows, columns = (y >= 0) & (y < out_height), (x >= 0) & (x < out_width)
            total[:, y[rows][:, None], x[columns]] += products[:, rows][:, :, columns]
    return [from_nhwc(with_bias(op, total, op.filter), op.nchw)]


def _padding(
    op: BoundOperation, asked: int | None, taps: int, stride: int, head: int, tail: int
) -> tuple[int, int]:
    """Padding before and after along one axis; `asked`: the size of output_shape.

    SAME: as for a convolution from that size; the tail may become negative. Otherwise none.
    """
    if asked is None:
        return head, tail
    if op.padding != PaddingCode.SAME:
        return 0, 0
    excess = ((asked + stride - 1) // stride - 1) * stride + taps - asked
    head = max(0, excess) // 2
    return head, excess - head
