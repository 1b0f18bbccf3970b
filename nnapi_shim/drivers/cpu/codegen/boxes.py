"""Boxes in kernels: their transformation, and their overlap.

Positions are computed in float64 and rounded once to float32, so comparisons of
them do not depend on how e^x is computed.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.exponential_f64 import exp
from nnapi_shim.drivers.cpu.codegen.numeric import clamp
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

ZERO = np.float32(0)


@helper
def centre_and_half(low, high, shift, log_scale):
    """New centre of an interval [low, high], and half of its new size, in float64.

    The centre moves by `shift` times the size, which is multiplied by e^log_scale.
    """
    low, high = np.float64(low), np.float64(high)
    size = high - low
    centre = (low + high) / 2.0 + np.float64(shift) * size
    return centre, exp(np.float64(log_scale)) * size / 2.0


@helper
def within(position, size):
    """A position, clamped to [0, size], in float32."""
    return np.float32(clamp(position, 0.0, np.float64(size)))


@helper
def is_box(x1, y1, x2, y2):
    """Whether no end is before its start; False for NaN."""
    return x1 <= x2 and y1 <= y2


@helper
def iou(left, top, right, bottom, area, x1, y1, x2, y2, other_area):
    """Shared area of two boxes over the area of both together, in float32; NaN for empty ones."""
    w = (right if right < x2 else x2) - (left if left > x1 else x1)
    h = (bottom if bottom < y2 else y2) - (top if top > y1 else y1)
    shared = (w if w > ZERO else ZERO) * (h if h > ZERO else ZERO)
    return shared / (area + other_area - shared)
