"""ROI_ALIGN and ROI_POOLING on the CPU device."""

import re

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.elements import refused, same_outputs
from tests.single import execute, f16, f32, i32, qs8, qu8, tensor

TYPES = {"f32": f32, "f16": f16, "qu8": qu8, "qs8": qs8}


def regions(variant, count, depth, nchw, ratios):
    """Inputs with rois anywhere in three feature maps of 11 x 13, some on their borders."""
    rng = np.random.default_rng(depth)
    shape = (3, depth, 11, 13) if nchw else (3, 11, 13, depth)
    maps = rng.integers(-100, 100, shape) / (1 if variant.startswith("q") else 8)
    if variant == "qu8":
        maps += 128
    x, y = np.sort(rng.integers(0, 14, (2, count, 2)))
    rois = 2.0 * np.stack([x[:, 0], y[:, 0].clip(0, 11), x[:, 1], y[:, 1].clip(0, 11)], -1)
    rois += rng.integers(0, 2, (count, 1)) * np.where(rois[:, 2:3] < 26, 0.125, 0) * [0, 0, 1, 0]
    if variant.startswith("q"):
        boxes = tensor(T.TENSOR_QUANT16_ASYMM, rois * 8, 0.125)
    else:
        boxes = TYPES[variant](rois)
    images = np.arange(count) * 3 // count
    stride = tensor(T.FLOAT16 if variant == "f16" else T.FLOAT32, np.float32(2))
    return [TYPES[variant](maps), boxes, i32(images), 3, 2, stride, stride, *ratios, nchw]


@pytest.mark.parametrize("nchw", [False, True])
@pytest.mark.parametrize("depth", [1, 3, 17, 65])
@pytest.mark.parametrize("variant", TYPES)
def test_pooling(variant, depth, nchw):
    inputs = regions(variant, 20, depth, nchw, [])
    same_outputs(Op.ROI_POOLING, inputs, [TYPES[variant]()])


@pytest.mark.parametrize("ratios", [(0, 0), (1, 3), (2, 0)])
@pytest.mark.parametrize("nchw", [False, True])
@pytest.mark.parametrize("depth", [1, 17, 65])
@pytest.mark.parametrize("variant", TYPES)
def test_align(variant, depth, nchw, ratios):
    inputs = regions(variant, 20, depth, nchw, ratios)
    output = TYPES[variant](None, 0.75, 3) if variant.startswith("q") else TYPES[variant]()
    (result,) = execute(CpuDevice(), Op.ROI_ALIGN, inputs, [output])
    (expected,) = execute(ReferenceDevice(), Op.ROI_ALIGN, inputs, [output])
    tolerance = {"f32": 2e-5, "f16": 0.008}.get(variant, 0)
    np.testing.assert_allclose(result.astype(float), expected.astype(float), rtol=0, atol=tolerance)


@pytest.mark.parametrize("variant", ["qu8", "qs8"])
@pytest.mark.parametrize("ratios", [(16, 16), (257, 1), (300, 300)])
def test_many_samples_at_the_ends_of_the_type(variant, ratios):
    low, high = {"qu8": (0, 255), "qs8": (-128, 127)}[variant]
    inputs = regions(variant, 2, 3, False, ratios)
    for value, zero_point in ((low, high), (high, low)):
        maps = np.full(inputs[0].array.shape, value)
        maps[..., 1] = np.random.default_rng(1).choice((low, high), maps.shape[:-1])
        inputs[0] = TYPES[variant](maps, 1.0, zero_point)
        output = TYPES[variant](None, 2.5, zero_point)
        same_outputs(Op.ROI_ALIGN, inputs, [output])


both = pytest.mark.parametrize("type", [Op.ROI_ALIGN, Op.ROI_POOLING], ids=lambda type: type.name)


@both
def test_more_rois_than_tiles(type):
    inputs = regions("f32", 150, 4, False, [2, 2] if type is Op.ROI_ALIGN else [])
    (result,) = execute(CpuDevice(), type, inputs, [f32()])
    (expected,) = execute(ReferenceDevice(), type, inputs, [f32()])
    np.testing.assert_allclose(result, expected, atol=2e-5)


BAD = {
    "of no image": ([0, 0, 1, 1], 3),
    "of an image before the first": ([0, 0, 1, 1], -1),
    "of an image far away": ([0, 0, 1, 1], -(2**31)),
    "x1 > x2": ([2, 0, 1, 1], 0),
    "y1 > y2": ([0, 2, 1, 1], 0),
    "not a number": ([0, 0, 1, np.nan], 0),
    "negative": ([-1, 0, 1, 1], 0),
    "too wide": ([0, 0, 26.5, 1], 0),
    "too high": ([0, 0, 1, 22.5], 0),
    "infinite": ([0, 0, np.inf, 1], 0),
    "beyond float32": ([0, 0, 3e38, 3e38], 0),
}


@both
@pytest.mark.parametrize("case", BAD)
def test_bad_rois(type, case):
    """The message names the one that is bad, and why."""
    inputs = regions("f32", 9, 4, False, [2, 2] if type is Op.ROI_ALIGN else [])
    box, image = inputs[1].array[8], inputs[2].array[8] = BAD[case]
    shown = re.escape("[" + ", ".join(f"{x:g}" for x in np.float32(box)) + "]")
    message = f"box 8 of rois is {shown}; it must lie in the feature map of "
    if image:
        message = f"number 8 of batch_index is {image}; allowed are 0 to 2"
    elif not (box[0] <= box[2] and box[1] <= box[3]):
        message = f"box 8 of rois is {shown}; x1 <= x2 and y1 <= y2 must hold"
    refused(message, type, inputs, [f32()])


def test_an_output_scale_that_is_too_small():
    inputs = regions("qu8", 9, 4, False, [1, 1])
    refused("output scale is too small", Op.ROI_ALIGN, inputs, [qu8(None, 0.0039)])
    same_outputs(Op.ROI_ALIGN, inputs, [qu8(None, 0.004)])


def test_no_rois():
    maps = f32(np.zeros((1, 4, 4, 2)))
    inputs = [maps, f32(np.zeros((0, 4))), i32(np.zeros(0)), 3, 3, 1.0, 1.0, 0, 0, False]
    (result,) = same_outputs(Op.ROI_ALIGN, inputs, [f32()])
    assert result.shape == (0, 3, 3, 2)
