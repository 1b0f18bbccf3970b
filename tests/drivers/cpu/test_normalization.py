"""The normalizations on the CPU device against formulas in float64."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import Quantized, expect_of_reference, random_tensor, tensor
from tests.drivers.cpu.single import Single

RELATIVE = {"f32": 2e-6, "f16": 2e-3}
CASES = [
    ((1,), 0), ((3, 1023), -1), ((2, 1023), 0), ((5, 4, 3), 1), ((1, 70001), 1), ((70001, 1), 0),
    ((2, 3, 4, 5), 0), ((2, 7, 33, 17), 1), ((300, 300), 0), ((2, 5, 1025), 1), ((9000, 9), 1),
]  # fmt: skip


def compute(type, inputs, output, shape):
    return Single(CpuDevice(), type, inputs, output, shape, misaligned=2).checked()


def scalars(variant, *values):
    """Of the type that goes with a tensor."""
    half = OperandType.FLOAT16
    return [single.scalar(half, v) for v in values] if variant == "f16" else list(values)


@pytest.mark.parametrize(("shape", "axis"), CASES, ids=str)
def test_l2(shape, axis):
    random = np.random.default_rng(len(str(shape)))
    for variant in ("f32", "f16", "qu8", "qs8"):
        given, x = random_tensor(variant, random, shape, Quantized(0.043, 100))
        wanted = x / np.maximum(np.sqrt((x**2).sum(axis, keepdims=True)), 1e-6)
        fixed = Quantized(1 / 128, 128)
        output = tensor(variant, None, fixed)
        found = compute(Op.L2_NORMALIZATION, [given, axis], output, shape)
        if variant in RELATIVE:
            np.testing.assert_allclose(found, wanted, rtol=RELATIVE[variant], atol=1e-6)
        else:
            expect_of_reference(Op.L2_NORMALIZATION, [given, axis], output, found)


@pytest.mark.parametrize("radius", [0, 1, 5, 16, 17, 40, 2**31 - 1])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((1,), 0), ((3, 1023), -1), ((100, 1030), 0), ((2, 60, 3), 1), ((2, 60, 33, 17), 1)],
    ids=str,
)
def test_local_response(shape, axis, radius):
    random = np.random.default_rng(len(str(shape)))
    for variant in ("f32", "f16"):
        given, x = random_tensor(variant, random, shape)
        sums = np.zeros(shape)
        turned, squares = np.moveaxis(sums, axis, 0), np.moveaxis(x**2, axis, 0)
        total = np.concatenate([np.zeros((1, *squares.shape[1:])), np.cumsum(squares, 0)])
        at, length = np.arange(len(squares)), len(squares)
        turned += total[np.minimum(at + radius + 1, length)] - total[np.maximum(at - radius, 0)]
        tail = scalars(variant, 1.0, 0.125, 0.75)
        wanted = x * (1 + 0.125 * sums) ** -0.75
        inputs = [given, radius, *tail, axis]
        found = compute(Op.LOCAL_RESPONSE_NORMALIZATION, inputs, tensor(variant), shape)
        np.testing.assert_allclose(found, wanted, rtol=RELATIVE[variant], atol=1e-6)


def test_what_leaves_a_large_window_is_forgotten():
    x = np.zeros(200, np.float32)
    x[3], x[100:] = 1e4, 1e-3
    inputs = [tensor("f32", x), 20, 1e-6, 1.0, 0.5]
    found = compute(Op.LOCAL_RESPONSE_NORMALIZATION, inputs, tensor("f32"), (200,))
    np.testing.assert_allclose(found[150:170], 1e-3 / np.sqrt(1e-6 + 41e-6), rtol=1e-5)


@pytest.mark.parametrize("mean", [0, 1000])
@pytest.mark.parametrize(
    ("batch", "height", "width", "depth"),
    [(1, 1, 1, 1), (2, 3, 5, 7), (1, 17, 31, 3), (2, 9, 9, 64), (1, 3, 2, 1025), (1, 100, 90, 1)],
    ids=str,
)
def test_instance(batch, height, width, depth, mean):
    random = np.random.default_rng(height)
    for variant in ("f32", "f16"):
        for nchw in (False, True):
            shape = (batch, depth, height, width) if nchw else (batch, height, width, depth)
            given = tensor(variant, random.normal(mean, 2, shape))
            x = given.array.astype(np.float64)
            image = (2, 3) if nchw else (1, 2)
            centred = x - x.mean(image, keepdims=True)
            variance = (centred**2).mean(image, keepdims=True)
            wanted = centred * 1.5 / np.sqrt(variance + 0.125) + 0.25
            inputs = [given, *scalars(variant, 1.5, 0.25, 0.125), nchw]
            found = compute(Op.INSTANCE_NORMALIZATION, inputs, tensor(variant), shape)
            np.testing.assert_allclose(found, wanted, rtol=RELATIVE[variant], atol=1e-6)
