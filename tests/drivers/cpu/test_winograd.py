"""CONV_2D of 3x3 by Winograd on the CPU device: what its sums of several inputs must not change."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.hal.enums import OperationType
from tests import single
from tests.drivers.cpu.single import Single

SAME = 1
LARGEST = np.finfo(np.float32).max


def convolved(image, filter, bias):
    """The operation on the device."""
    shape = (*image.shape[:3], filter.shape[0])
    operands = [single.f32(image), single.f32(filter), single.f32(bias), SAME, 1, 1, 0]
    run = Single(CpuDevice(), OperationType.CONV_2D, operands, single.f32(), shape)
    return run.checked()


def expected(image, filter, bias):
    """The formula in float64, within the largest numbers of float32."""
    _, height, width, _ = image.shape
    padded = np.pad(image.astype(float), ((0, 0), (1, 1), (1, 1), (0, 0)))
    total = np.zeros((*image.shape[:3], filter.shape[0])) + bias
    with np.errstate(invalid="ignore"):
        for i in range(3):
            for j in range(3):
                total += padded[:, i : i + height, j : j + width] @ filter[:, i, j].T.astype(float)
    return np.clip(total, -LARGEST, LARGEST)


@pytest.fixture
def operands():
    """Of a convolution with several panels."""
    random = np.random.default_rng(4)
    shapes = (2, 12, 13, 32), (96, 3, 3, 32), (96,)
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def assert_close(result, wanted):
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [(0, 0, 0, 0), (0, 5, 6, 31), (1, 11, 12, 3)])
def test_what_is_not_finite_reaches_those_that_see_it_alone(operands, special, place):
    image, filter, bias = operands
    image[place] = special
    wanted = expected(image, filter, bias)
    assert 0 < np.isnan(wanted).sum() + (np.abs(wanted) == LARGEST).sum() <= 9 * 96
    assert_close(convolved(image, filter, bias), wanted)


def test_sums_of_inputs_that_overflow_do_not_matter(operands):
    image, filter, bias = operands
    image[0, 3:7, 4:9, 2] = np.float32(3e38) * np.sign(image[0, 3:7, 4:9, 2])
    filter[:, :, :, 2] *= np.float32(1e-3)
    wanted = expected(image, filter, bias)
    assert np.isfinite(wanted).all()
    np.testing.assert_allclose(convolved(image, filter, bias), wanted, rtol=1e-4, atol=1e-5)


def test_a_weight_that_is_not_finite_reaches_its_column_alone(operands):
    image, filter, bias = operands
    filter[70, 1, 2, 5] = np.inf
    assert_close(convolved(image, filter, bias), expected(image, filter, bias))


def test_errors_are_not_above_those_of_sums_of_all_products():
    random = np.random.default_rng(5)
    image = random.standard_normal((1, 14, 14, 256)).astype(np.float32)
    filter = random.standard_normal((64, 3, 3, 256)).astype(np.float32)
    bias = np.zeros(64, np.float32)
    wanted = expected(image, filter, bias)
    error = np.abs(convolved(image, filter, bias) - wanted).max()
    assert error <= 2e-6 * np.abs(wanted).max()
