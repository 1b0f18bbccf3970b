"""What CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED must give: plain formulas in float64."""

from math import frexp
from typing import Any

import numpy as np

from nnapi_shim.hal.enums import PaddingCode


def windows(image: Any, size: Any, stride: Any, dilation: Any, pads: Any) -> Any:
    """[batch, out_height, out_width, filter_height, filter_width, depth]; 0 outside the image.

    size, stride, dilation: (vertical, horizontal); pads: (top, bottom, left, right).
    """
    top, bottom, left, right = pads
    padded = np.pad(image, ((0, 0), (top, bottom), (left, right), (0, 0)))
    extent = [(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)]
    outputs = [(n - e) // s + 1 for n, e, s in zip(padded.shape[1:3], extent, stride, strict=True)]
    h, w = (
        np.arange(o)[:, None] * s + np.arange(n)[None] * d
        for o, s, n, d in zip(outputs, stride, size, dilation, strict=True)
    )
    return padded[:, h[:, None, :, None], w[None, :, None, :]]


def same_pads(shape: Any, size: Any, stride: Any, dilation: Any, padding: int) -> Any:
    """(top, bottom, left, right) of a padding scheme."""
    pads = []
    for n, f, s, d in zip(shape[1:3], size, stride, dilation, strict=True):
        total = max(0, (-(-n // s) - 1) * s + (f - 1) * d + 1 - n)
        pads += [total // 2, total - total // 2] if padding == PaddingCode.SAME else [0, 0]
    return tuple(pads)


def conv_2d(patches: Any, filter: Any, bias: Any) -> Any:
    """filter: [out, height, width, in]."""
    return np.einsum("bhwijk,oijk->bhwo", patches, filter, optimize=True) + bias


def depthwise_conv_2d(patches: Any, filter: Any, bias: Any) -> Any:
    """filter: [1, height, width, in * multiplier]."""
    multiplier = filter.shape[3] // patches.shape[5]
    spread = np.repeat(patches, multiplier, axis=5)
    return np.einsum("bhwijk,ijk->bhwk", spread, filter[0], optimize=True) + bias


def activated(values: Any, activation: int) -> Any:
    """NONE, RELU, RELU1, RELU6 on real values."""
    low, high = [(-np.inf, np.inf), (0, np.inf), (-1, 1), (0, 6)][activation]
    return np.clip(values, low, high)


def requantized(
    sums: Any, in_scale: float, filter_scales: Any, output: Any, activation: int
) -> Any:
    """int32 sums -> stored values, by the fixed-point rule of semantics.md 5.3 and 5.4.

    filter_scales: one, or one per output channel. output: (scale, zero point, lowest, highest).
    """
    scale, zero_point, lowest, highest = output
    scale = float(np.float32(scale))
    multiplier, exponent = fixed_point(in_scale, filter_scales, scale)
    product = (sums.astype(np.int64) << np.maximum(exponent, 0)) * multiplier
    nudge = np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    doubled = np.trunc((product + nudge) / 2.0**31).astype(np.int64)
    shift = np.maximum(-exponent, 0)
    mask = (np.int64(1) << shift) - 1
    threshold = (mask >> 1) + (doubled < 0)
    rounded = (doubled >> shift) + ((doubled & mask) > threshold)
    low, high = lowest, highest
    real = [(None, None), (0, None), (-1, 1), (0, 6)][activation]
    if real[0] is not None:
        low = max(low, zero_point + int(np.floor(np.float32(real[0]) / np.float32(scale) + 0.5)))
    if real[1] is not None:
        high = min(high, zero_point + int(np.floor(np.float32(real[1]) / np.float32(scale) + 0.5)))
    return np.clip(rounded + zero_point, low, high)


def fixed_point(in_scale: float, filter_scales: Any, out_scale: float) -> Any:
    """(multiplier, exponent) per channel, semantics.md 5.2."""
    pairs = []
    for scale in np.atleast_1d(filter_scales):
        product = float(np.float32(np.float32(in_scale) * np.float32(scale)))
        fraction, exponent = frexp(product / out_scale)
        multiplier = round(fraction * 2**31)
        if multiplier == 2**31:
            multiplier, exponent = 2**30, exponent + 1
        pairs.append((multiplier, exponent))
    return np.array(pairs).T
