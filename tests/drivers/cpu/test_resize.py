"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR on the CPU device against the reference device."""

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import VARIANTS, close, random_tensor, same, tensor

FLAGS = [(False, False), (True, False), (False, True)]

IMAGES = [
    # batch, height, width, depth; new height, new width
    ((1, 1, 1, 1), (3, 5)), ((2, 7, 5, 1), (1, 1)), ((1, 40, 50, 3), (80, 100)),
    ((2, 9, 11, 8), (23, 4)), ((1, 9, 11, 9), (23, 30)), ((1, 13, 7, 64), (26, 14)),
    ((1, 100, 90, 2), (30, 29)), ((3, 33, 31, 17), (16, 64)), ((1, 5, 5, 40), (5, 5)),
    ((1, 300, 2, 1), (700, 300)),
]  # fmt: skip


every_layout = pytest.mark.parametrize("nchw", [False, True], ids=["nhwc", "nchw"])
every_flag = pytest.mark.parametrize(
    "flags", FLAGS, ids=["plain", "align_corners", "half_pixel_centers"]
)
every_image = pytest.mark.parametrize(("image", "shape"), IMAGES)


def inputs_of(image, shape, flags, variant, nchw):
    """A random image, its new size and the flags."""
    batch, height, width, depth = image
    before = (batch, depth, height, width) if nchw else image
    values = random_tensor(variant, np.random.default_rng(shape), before)
    return [values, shape[1], shape[0], nchw, *flags]


@every_layout
@every_flag
@every_image
def test_nearest(image, shape, flags, nchw):
    for variant in VARIANTS:
        inputs = inputs_of(image, shape, flags, variant, nchw)
        same(Op.RESIZE_NEAREST_NEIGHBOR, inputs, tensor(variant))


@every_layout
@every_flag
@every_image
def test_bilinear(image, shape, flags, nchw):
    for variant in VARIANTS:
        precision = 2e-6 if variant == "f32" else 2**-10
        inputs = inputs_of(image, shape, flags, variant, nchw)
        close(Op.RESIZE_BILINEAR, inputs, tensor(variant), precision, precision)
