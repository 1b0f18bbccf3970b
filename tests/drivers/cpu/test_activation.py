"""The activations on the CPU device against the reference device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import (
    AWKWARD_SIZES,
    VARIANTS,
    Quantized,
    close,
    random_tensor,
    same,
    tensor,
)
from tests.drivers.cpu.single import Single

every_size = pytest.mark.parametrize("size", [*AWKWARD_SIZES, 70001])
CURVES = {Op.TANH: Quantized(1 / 128, 128), Op.LOGISTIC: Quantized(1 / 256, 0)}
every_curve = pytest.mark.parametrize("type", CURVES, ids=lambda type: type.name)


@every_size
@pytest.mark.parametrize("type", [Op.RELU, Op.RELU1, Op.RELU6], ids=lambda type: type.name)
def test_clamps(type, size):
    random, kind = np.random.default_rng(size), Quantized(0.03, 70)
    for variant in VARIANTS:
        values = random_tensor(variant, random, (size,), kind)
        same(type, [values], tensor(variant, quantized=kind))


def test_clamps_at_the_ends():
    x = [np.nan, np.inf, -np.inf, -0.0, 1e-42]
    result = Single(CpuDevice(), Op.RELU, [tensor("f32", x)], tensor("f32"), (5,)).checked()
    np.testing.assert_array_equal(result, np.array([0, 3.4028235e38, 0, 0, 1e-42], np.float32))


@every_size
@every_curve
def test_curves(type, size):
    random = np.random.default_rng(size)
    for variant in VARIANTS:
        output = tensor(variant, quantized=CURVES[type])
        close(type, [random_tensor(variant, random, (size,))], output, absolute=1e-7)


@every_size
@pytest.mark.parametrize("alpha", [1.0, 0.0, -0.5])
def test_elu(size, alpha):
    random = np.random.default_rng(size)
    for variant, kind in (("f32", OperandType.FLOAT32), ("f16", OperandType.FLOAT16)):
        inputs = [random_tensor(variant, random, (size,)), single.scalar(kind, alpha)]
        close(Op.ELU, inputs, tensor(variant), absolute=1e-7 if alpha < 0 else 1e-30)


def test_elu_at_the_ends():
    x = [np.nan, np.inf, -np.inf, 200, -200, -1e-30, 3e38]
    result = Single(CpuDevice(), Op.ELU, [tensor("f32", x), 2.0], tensor("f32"), (7,)).checked()
    expected = np.array([np.nan, np.inf, -2, 200, -2, -2e-30, 3e38], np.float32)
    np.testing.assert_allclose(result, expected, rtol=1e-7)
    result = Single(CpuDevice(), Op.ELU, [tensor("f32", x), 0.0], tensor("f32"), (7,)).checked()
    np.testing.assert_array_equal(
        result, np.array([np.nan, np.inf, 0, 200, 0, 0, 3e38], np.float32)
    )


@every_size
def test_hard_swish(size):
    random = np.random.default_rng(size)
    for variant in VARIANTS:
        output = tensor(variant, quantized=Quantized(0.06, 40))
        close(Op.HARD_SWISH, [random_tensor(variant, random, (size,))], output, absolute=1e-6)


def test_hard_swish_at_the_ends():
    x = tensor("f32", [np.nan, np.inf, 3e38, -3e38, -3])
    result = Single(CpuDevice(), Op.HARD_SWISH, [x], tensor("f32"), (5,)).checked()
    np.testing.assert_array_equal(result, np.array([np.nan, np.inf, 3e38, 0, 0], np.float32))


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 0.02, 1, 1e10])
@every_curve
def test_every_quantized_number(type, scale):
    for variant in ("qu8", "qs8"):
        values = tensor(variant, np.arange(256), Quantized(scale, 100))
        same(type, [values], tensor(variant, quantized=CURVES[type]))
