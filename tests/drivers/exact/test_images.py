"""RESIZE_BILINEAR and ROI_ALIGN of quantized images, bit for bit: both devices, on every tier that
this processor has, against tests.drivers.exact.images.
"""

import random

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.exact import images
from tests.drivers.exact.comparison import tier, tiers
from tests.drivers.exact.integers import RANGE, single
from tests.single import execute, i32, qs8, qu8, tensor

TENSORS = {"qu8": qu8, "qs8": qs8}
FLAGS = {"plain": (False, False), "align_corners": (True, False), "half_pixels": (False, True)}


def results(type, inputs, output):
    """(name, output) of each device, nnapi-cpu on every tier."""
    yield "nnapi-reference", execute(ReferenceDevice(), type, inputs, [output])[0]
    for name in tiers():
        with tier(name):
            yield name, execute(CpuDevice(), type, inputs, [output])[0]


def picture(rng, variant, height, width, depth):
    """Random bytes, or the ends of the type alone, where weights that are off show most."""
    low, high = RANGE[variant]
    choice = rng.choice([range(low, high + 1), (low, high), range(low, 0) or range(high)])
    return np.reshape(rng.choices(choice, k=height * width * depth), (height, width, depth))


SIZES = [(rows, columns) for rows in (1, 2, 3, 7, 11) for columns in (1, 2, 5, 11)]
"""Of images before."""


@pytest.mark.parametrize("variant", TENSORS)
@pytest.mark.parametrize("nchw", [False, True], ids=["nhwc", "nchw"])
@pytest.mark.parametrize("flags", FLAGS)
def test_resize_bilinear(flags, nchw, variant):
    rng = random.Random(f"{flags} {nchw} {variant}")
    of = (0.5, rng.randint(*RANGE[variant]))
    for height, width in SIZES:
        new_height, new_width = rng.randint(1, 24), rng.choice([1, 3, 16, rng.randint(4, 60)])
        depth = rng.choice([1, 2, 3, 9, 17])
        image = picture(rng, variant, height, width, depth)
        expected = np.array(
            images.resize_bilinear(image.tolist(), new_height, new_width, variant, *FLAGS[flags])
        )
        if nchw:
            image, expected = (x.transpose(2, 0, 1) for x in (image, expected))
        inputs = [TENSORS[variant]([image], *of), new_width, new_height, nchw, *FLAGS[flags]]
        for name, result in results(Op.RESIZE_BILINEAR, inputs, TENSORS[variant](None, *of)):
            shown = f"{name}: {height} x {width} to {new_height} x {new_width}, depth {depth}"
            assert result[0].tolist() == expected.tolist(), shown


@pytest.mark.parametrize("variant", TENSORS)
@pytest.mark.parametrize("size", [(11, 640), (640, 11), (3, 1000), (53, 257)])
def test_errors_do_not_grow_along_a_row(size, variant):
    before, after = size
    rng = random.Random(repr(size))
    row = picture(rng, variant, 1, before, 1)
    expected = images.resize_bilinear(row.tolist(), 1, after, variant)
    column = row.reshape(before, 1, 1)
    for name, result in results(
        Op.RESIZE_BILINEAR, [TENSORS[variant]([row]), after, 1, False], TENSORS[variant]()
    ):
        assert result[0].tolist() == expected, name
    for name, result in results(
        Op.RESIZE_BILINEAR, [TENSORS[variant]([column]), 1, after, False], TENSORS[variant]()
    ):
        assert result[0].reshape(np.shape(expected)).tolist() == expected, name


@pytest.mark.parametrize("variant", TENSORS)
def test_resize_bilinear_by_scales(variant):
    rng = random.Random(variant)
    for _ in range(20):
        height, width = rng.randint(1, 12), rng.randint(1, 12)
        scales = [single(rng.uniform(1 / size, 4)) for size in (height, width)]
        scales = [max(s, single(1.001 / n)) for s, n in zip(scales, (height, width), strict=True)]
        sizes = [int(single(n * s)) for n, s in zip((height, width), scales, strict=True)]
        image = picture(rng, variant, height, width, 3)
        expected = images.resize_bilinear(image.tolist(), *sizes, variant)
        inputs = [TENSORS[variant]([image]), scales[1], scales[0], False]
        for name, result in results(Op.RESIZE_BILINEAR, inputs, TENSORS[variant]()):
            assert result[0].tolist() == expected, (name, height, width, scales)


STRIDES = [(1.0, 2.0), (3.0, 3.0), (7.0, 5.0), (single(0.3), single(1.7)), (16.0, 11.0)]


@pytest.mark.parametrize("nchw", [False, True], ids=["nhwc", "nchw"])
@pytest.mark.parametrize("variant", TENSORS)
@pytest.mark.parametrize("strides", STRIDES)
def test_roi_align(strides, variant, nchw):
    rng = random.Random(f"{strides} {variant} {nchw}")
    for ratios in ((0, 0), (1, 3), (2, 0), (4, 5)):
        height, width, depth = rng.randint(2, 20), rng.randint(2, 20), rng.choice([1, 3, 17])
        image = picture(rng, variant, height, width, depth)
        of_x, of_z = (
            (single(rng.uniform(low, 2 * low)), rng.randint(*RANGE[variant]))
            for low in (0.01, 0.02)
        )
        rois = []
        for _ in range(8):
            across, down = (
                sorted(rng.randint(0, int(8 * size * stride)) for _ in range(2))
                for size, stride in ((width, strides[1]), (height, strides[0]))
            )
            rois.append([across[0], down[0], across[1], down[1]])
        size = rng.randint(1, 6), rng.randint(1, 6)
        expected = np.array(
            [
                images.roi_align(image.tolist(), roi, size, strides, ratios, of_x, of_z, variant)
                for roi in rois
            ]
        )
        if nchw:
            image, expected = image.transpose(2, 0, 1), expected.transpose(0, 3, 1, 2)
        inputs = [
            TENSORS[variant]([image], *of_x), tensor(T.TENSOR_QUANT16_ASYMM, rois, 0.125),
            i32([0] * len(rois)), *size, *strides, *ratios, nchw,
        ]  # fmt: skip
        for name, result in results(Op.ROI_ALIGN, inputs, TENSORS[variant](None, *of_z)):
            assert result.tolist() == expected.tolist(), (name, strides, ratios, size)


@pytest.mark.parametrize("variant", TENSORS)
def test_strides_whose_reciprocal_no_float32_holds(variant):
    """A corner at 0 stays there."""
    image = picture(random.Random(1), variant, 3, 3, 1)
    rois = tensor(T.TENSOR_QUANT16_ASYMM, [[0, 0, 0, 0]], 0.125)
    inputs = [TENSORS[variant]([image], 1.0), rois, i32([0]), 1, 1, 1e-40, 1e-40, 1, 1, False]
    strides = (single(1e-38), single(1e-38))
    parameters = (1.0, 0), (2.0, 0), variant
    expected = images.roi_align(image.tolist(), [0] * 4, (1, 1), strides, (1, 1), *parameters)
    for name, result in results(Op.ROI_ALIGN, inputs, TENSORS[variant](None, 2.0)):
        assert result[0].tolist() == expected, name
