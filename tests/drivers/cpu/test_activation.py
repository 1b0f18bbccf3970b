"""The activations on the CPU device against formulas in float64."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import (
    AWKWARD_SIZES,
    Quantized,
    expect,
    expect_of_reference,
    random_tensor,
    tensor,
)
from tests.drivers.cpu.single import Single

CLAMPS = {Op.RELU: (0, 3.4028235e38), Op.RELU1: (-1, 1), Op.RELU6: (0, 6)}


@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
@pytest.mark.parametrize("type", CLAMPS, ids=lambda type: type.name)
def test_clamps(type, size):
    random = np.random.default_rng(size)
    for variant in ("f32", "f16", "qu8", "qs8"):
        kind = Quantized(0.03, 70)
        given, x = random_tensor(variant, random, (size,), kind)
        low, high = CLAMPS[type]
        output = tensor(variant, quantized=kind)
        found = Single(CpuDevice(), type, [given], output, (size,), misaligned=2).checked()
        expect(variant, found, np.clip(x, low, high), kind)


def test_clamps_at_the_ends():
    x = [np.nan, np.inf, -np.inf, -0.0, 1e-42]
    found = Single(CpuDevice(), Op.RELU, [tensor("f32", x)], tensor("f32"), (5,)).checked()
    np.testing.assert_array_equal(found, np.array([0, 3.4028235e38, 0, 0, 1e-42], np.float32))


def logistic(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))


CURVES = {
    Op.TANH: (np.tanh, Quantized(1 / 128, 128)),
    Op.LOGISTIC: (logistic, Quantized(1 / 256, 0)),
}


@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
@pytest.mark.parametrize("type", CURVES, ids=lambda type: type.name)
def test_curves(type, size):
    random = np.random.default_rng(size)
    function, kind = CURVES[type]
    for variant in ("f32", "f16", "qu8", "qs8"):
        given, x = random_tensor(variant, random, (size,))
        output = tensor(variant, quantized=kind)
        found = Single(CpuDevice(), type, [given], output, (size,), misaligned=2).checked()
        if variant.startswith("q"):
            expect_of_reference(type, [given], output, found)
        else:
            expect(variant, found, function(x), absolute=1e-7)


@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
@pytest.mark.parametrize("alpha", [1.0, 0.0, -0.5])
def test_elu(size, alpha):
    random = np.random.default_rng(size)
    for variant, kind in (("f32", OperandType.FLOAT32), ("f16", OperandType.FLOAT16)):
        given, x = random_tensor(variant, random, (size,))
        inputs = [given, single.scalar(kind, alpha)]
        found = Single(
            CpuDevice(), Op.ELU, inputs, tensor(variant), (size,), misaligned=2
        ).checked()
        wanted = np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x))
        expect(variant, found, wanted, absolute=1e-7 if alpha < 0 else 1e-30)


def test_elu_at_the_ends():
    x = [np.nan, np.inf, -np.inf, 200, -200, -1e-30, 3e38]
    found = Single(CpuDevice(), Op.ELU, [tensor("f32", x), 2.0], tensor("f32"), (7,)).checked()
    wanted = np.array([np.nan, np.inf, -2, 200, -2, -2e-30, 3e38], np.float32)
    np.testing.assert_allclose(found, wanted, rtol=1e-7)
    found = Single(CpuDevice(), Op.ELU, [tensor("f32", x), 0.0], tensor("f32"), (7,)).checked()
    np.testing.assert_array_equal(found, np.array([np.nan, np.inf, 0, 200, 0, 0, 3e38], np.float32))


def hard_swish(x):
    return x * np.clip(x + 3, 0, 6) / 6


@pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
def test_hard_swish(size):
    random, kind = np.random.default_rng(size), Quantized(0.06, 40)
    for variant in ("f32", "f16", "qu8", "qs8"):
        given, x = random_tensor(variant, random, (size,))
        output = tensor(variant, quantized=kind)
        found = Single(CpuDevice(), Op.HARD_SWISH, [given], output, (size,), misaligned=2).checked()
        if variant.startswith("q"):
            expect_of_reference(Op.HARD_SWISH, [given], output, found)
        else:
            expect(variant, found, hard_swish(x), absolute=1e-6)


def test_hard_swish_at_the_ends():
    x = tensor("f32", [np.nan, np.inf, 3e38, -3e38, -3])
    found = Single(CpuDevice(), Op.HARD_SWISH, [x], tensor("f32"), (5,)).checked()
    np.testing.assert_array_equal(found, np.array([np.nan, np.inf, 3e38, 0, 0], np.float32))


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 0.02, 1, 1e10])
@pytest.mark.parametrize("type", CURVES, ids=lambda type: type.name)
def test_every_quantized_number(type, scale):
    _, kind = CURVES[type]
    raw = np.arange(256)
    for variant in ("qu8", "qs8"):
        given = tensor(variant, raw, Quantized(scale, 100))
        output = tensor(variant, quantized=kind)
        found = Single(CpuDevice(), type, [given], output, (256,)).checked()
        expect_of_reference(type, [given], output, found)
