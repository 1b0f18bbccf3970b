"""CONV_2D of 3x3 by Winograd on the CPU device: what its sums of several inputs must not change."""

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperationType
from tests import single
from tests.drivers.cpu.elements import results

SAME = 1
LARGEST = np.finfo(np.float32).max


def convolved(image, filter, bias):
    """The outputs of nnapi-cpu and of nnapi-reference."""
    operands = [single.f32(image), single.f32(filter), single.f32(bias), SAME, 1, 1, 0]
    return results(OperationType.CONV_2D, operands, single.f32(), misaligned=0)


@pytest.fixture
def operands():
    """Of a convolution with several panels."""
    random = np.random.default_rng(4)
    shapes = (2, 12, 13, 32), (96, 3, 3, 32), (96,)
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def assert_close(result, expected):
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("location", [(0, 0, 0, 0), (0, 5, 6, 31), (1, 11, 12, 3)])
def test_what_is_not_finite_reaches_those_that_see_it_alone(operands, special, location):
    image, filter, bias = operands
    image[location] = special
    actual, expected = convolved(image, filter, bias)
    assert 0 < np.isnan(expected).sum() + (np.abs(expected) == LARGEST).sum() <= 9 * 96
    assert_close(actual, expected)


def test_sums_of_inputs_that_overflow_do_not_matter(operands):
    image, filter, bias = operands
    image[0, 3:7, 4:9, 2] = np.float32(3e38) * np.sign(image[0, 3:7, 4:9, 2])
    filter[:, :, :, 2] *= np.float32(1e-3)
    actual, expected = convolved(image, filter, bias)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_a_weight_that_is_not_finite_reaches_its_column_alone(operands):
    image, filter, bias = operands
    filter[70, 1, 2, 5] = np.inf
    actual, expected = convolved(image, filter, bias)
    # nnapi-cpu multiplies it by the 0 outside of the image, nnapi-reference does not.
    expected[:, :, -1, 70] = np.nan
    assert_close(actual, expected)


def test_errors_are_not_above_those_of_sums_of_all_products():
    random = np.random.default_rng(5)
    image = random.standard_normal((1, 14, 14, 256)).astype(np.float32)
    filter = random.standard_normal((64, 3, 3, 256)).astype(np.float32)
    bias = np.zeros(64, np.float32)
    actual, expected = convolved(image, filter, bias)
    error = np.abs(actual - expected).max()
    assert error <= 2e-6 * np.abs(expected).max()
