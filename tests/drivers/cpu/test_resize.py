"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR on the CPU device against the reference device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import random_tensor, tensor
from tests.drivers.cpu.single import Single

FLAGS = [(False, False), (True, False), (False, True)]

IMAGES = [
    # batch, height, width, depth; new height, new width
    ((1, 1, 1, 1), (3, 5)), ((2, 7, 5, 1), (1, 1)), ((1, 40, 50, 3), (80, 100)),
    ((2, 9, 11, 8), (23, 4)), ((1, 9, 11, 9), (23, 30)), ((1, 13, 7, 64), (26, 14)),
    ((1, 100, 90, 2), (30, 29)), ((3, 33, 31, 17), (16, 64)), ((1, 5, 5, 40), (5, 5)),
    ((1, 300, 2, 1), (700, 300)),
]  # fmt: skip


def outcomes(type, image, shape, flags, variant, nchw):
    """What both devices make of a random image."""
    random = np.random.default_rng(shape)
    (batch, height, width, depth), (new_height, new_width) = image, shape
    before, after = (batch, height, width, depth), (batch, new_height, new_width, depth)
    if nchw:
        before, after = (batch, depth, height, width), (batch, depth, new_height, new_width)
    given, _ = random_tensor(variant, random, before)
    inputs = [given, new_width, new_height, nchw, *flags]
    return (
        Single(device, type, inputs, tensor(variant), after, misaligned=1).checked()
        for device in (CpuDevice(), ReferenceDevice())
    )


@pytest.mark.parametrize("nchw", [False, True], ids=["nhwc", "nchw"])
@pytest.mark.parametrize("flags", FLAGS, ids=["plain", "align_corners", "half_pixel_centers"])
@pytest.mark.parametrize(("image", "shape"), IMAGES)
def test_nearest(image, shape, flags, nchw):
    for variant in ("f32", "f16", "qu8", "qs8"):
        found, wanted = outcomes(Op.RESIZE_NEAREST_NEIGHBOR, image, shape, flags, variant, nchw)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("nchw", [False, True], ids=["nhwc", "nchw"])
@pytest.mark.parametrize("flags", FLAGS, ids=["plain", "align_corners", "half_pixel_centers"])
@pytest.mark.parametrize(("image", "shape"), IMAGES)
def test_bilinear(image, shape, flags, nchw):
    for variant in ("f32", "f16", "qu8", "qs8"):
        found, wanted = outcomes(Op.RESIZE_BILINEAR, image, shape, flags, variant, nchw)
        if variant in ("f32", "f16"):
            precision = 2e-6 if variant == "f32" else 2**-10
            np.testing.assert_allclose(found, wanted, rtol=precision, atol=precision)
        else:
            np.testing.assert_array_equal(found, wanted)
