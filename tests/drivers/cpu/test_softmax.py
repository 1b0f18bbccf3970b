"""SOFTMAX and LOG_SOFTMAX on the CPU device against the reference device."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.enums import OperationType as Op
from tests import single
from tests.drivers.cpu.elements import VARIANTS, Quantized, close, random_tensor, same, tensor
from tests.drivers.cpu.single import Single

SHARES = Quantized(1 / 256, 0)

CASES = [
    ((1,), 0), ((3,), -1), ((17, 3), 1), ((3, 1023), -1), ((2, 1023), 0), ((5, 4, 3), 1),
    ((1, 70001), 1), ((70001, 1), 0), ((2, 3, 4, 5), 0), ((2, 3, 4, 5), 1), ((2, 3, 4, 5), 2),
    ((2, 3, 4, 5), -1), ((2, 7, 33, 17), 1), ((300, 300), 0), ((9000, 9), 1),
]  # fmt: skip
every_case = pytest.mark.parametrize(("shape", "axis"), CASES, ids=str)


def operands(variant, values, beta, axis):
    """Inputs and output."""
    value = single.scalar(OperandType.FLOAT16, beta) if variant == "f16" else beta
    return [values, value, axis], tensor(variant, quantized=SHARES)


def compute(type, x, axis):
    """Of float32, with beta = 1."""
    inputs, output = operands("f32", tensor("f32", x), 1.0, axis)
    return Single(CpuDevice(), type, inputs, output, x.shape).checked()


@every_case
@pytest.mark.parametrize("beta", [1.0, 0.25, 10.0])
def test_softmax(shape, axis, beta):
    random = np.random.default_rng(len(str(shape)))
    for variant in VARIANTS:
        values = random_tensor(variant, random, shape, Quantized(0.043, 100))
        relative = {"f32": 3e-6, "f16": 2e-3}.get(variant)
        close(Op.SOFTMAX, *operands(variant, values, beta, axis), relative, 1e-7)


@pytest.mark.parametrize("axis", [0, 1])
def test_values_that_are_not_finite(axis):
    inf, nan = np.inf, np.nan
    x = np.array([[0, -inf, 0], [-inf, -inf, -inf], [1, nan, 2], [inf, 1, 2], [3e38, -3e38, 0]])
    expected = np.array([[0.5, 0, 0.5], [nan] * 3, [nan] * 3, [nan] * 3, [1, 0, 0]])
    if axis == 0:
        x, expected = x.T.copy(), expected.T
    result = compute(Op.SOFTMAX, x, axis)
    expected[np.isnan(expected)] = result[
        np.isnan(expected)
    ]  # 0 for a finite number beside infinity
    np.testing.assert_allclose(result, expected)
    rows = result if axis == 1 else result.T
    assert np.isnan(rows[1]).all()
    assert np.isnan(rows[2]).all()
    assert np.isnan(rows[3, 0])


@pytest.mark.parametrize("scale", [1e-6, 0.001, 1, 1e6])
def test_extreme_scales(scale):
    raw = np.array([[0, 1, 2, 255], [7, 7, 7, 7], [255, 255, 0, 0]])
    for variant in ("qu8", "qs8"):
        values = tensor(variant, raw, Quantized(scale, 3))
        same(Op.SOFTMAX, *operands(variant, values, 1.0, 1))


@every_case
@pytest.mark.parametrize("beta", [1.0, 0.25, 10.0, -1.0, 0.0])
def test_log_softmax(shape, axis, beta):
    random = np.random.default_rng(len(str(shape)))
    for variant in ("f32", "f16"):
        values = random_tensor(variant, random, shape)
        relative = {"f32": 6e-7, "f16": 2e-3}[variant]
        close(Op.LOG_SOFTMAX, *operands(variant, values, beta, axis), relative, 5e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_log_softmax_of_large_differences(axis):
    x = np.float32([[3e38, -3e38, 0], [0, -1e4, 1e4], [-np.inf, 0, 0]])
    expected = np.array([[0, -np.inf, -3e38], [-1e4, -2e4, 0], [-np.inf, -np.log(2), -np.log(2)]])
    if axis == 0:
        x, expected = x.T.copy(), expected.T
    result = compute(Op.LOG_SOFTMAX, x, axis)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
