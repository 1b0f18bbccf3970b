"""CONV_2D DEPTHWISE_CONV_2D."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, centred
from nnapi_shim.drivers.reference.linear import with_bias
from nnapi_shim.drivers.reference.windows import from_nhwc, to_nhwc, windows
from nnapi_shim.operations.declare import BoundOperation


def conv_2d(op: BoundOperation) -> list[Array]:
    """output[n,y,x,o] = act(bias[o] + sum over i,j,k of image[n,y',x',k] * filter[o,i,j,k]).

    y' = y * stride_height - pad_top + i * dilation_height, x' likewise; taps outside count as 0.
    """
    image = to_nhwc(centred(op.input), op.nchw)
    filter = centred(op.filter)
    depth_out, height, width, _ = filter.shape
    seen = windows(op, image, height, width)
    total = np.zeros((len(image), seen.vertical.output, seen.horizontal.output, depth_out))
    for i, j, outputs, inside in seen.taps():
        total[outputs] += image[inside] @ filter[:, i, j].T
    return [from_nhwc(with_bias(op, total, op.filter), op.nchw)]


def depthwise_conv_2d(op: BoundOperation) -> list[Array]:
    """output[n,y,x,o] = act(bias[o] + sum over i,j of image[n,y',x',o // m] * filter[0,i,j,o]).

    m is depth_multiplier, y' and x' as for CONV_2D.
    """
    image = to_nhwc(centred(op.input), op.nchw)
    filter = centred(op.filter)
    _, height, width, depth_out = filter.shape
    seen = windows(op, image, height, width)
    total = np.zeros((len(image), seen.vertical.output, seen.horizontal.output, depth_out))
    for i, j, outputs, inside in seen.taps():
        total[outputs] += np.repeat(image[inside], op.depth_multiplier, axis=3) * filter[0, i, j]
    return [from_nhwc(with_bias(op, total, op.filter), op.nchw)]
