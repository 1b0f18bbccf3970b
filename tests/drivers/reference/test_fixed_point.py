"""The fixed-point primitives by hand."""

import numpy as np
import pytest

from nnapi_shim.drivers.reference.fixed_point import (
    decomposed,
    doubling_high_product,
    rounding_shift,
    scaled,
)


@pytest.mark.parametrize(
    ("multiplier", "mantissa", "exponent"),
    [
        (1.0, 2**30, 1),
        (0.5, 2**30, 0),
        (-0.5, -(2**30), 0),
        (0.75, 3 * 2**29, 0),
        (6.0, 3 * 2**29, 3),
        (1 - 2**-40, 2**30, 1),  # rounds up to 2^31
        (2.0**-32, 2**30, -31),
        (2.0**-33, 0, 0),
        (0.0, 0, 0),
    ],
)
def test_decomposed(multiplier, mantissa, exponent):
    assert decomposed(multiplier) == (mantissa, exponent)


@pytest.mark.parametrize(("a", "expected"), [(3, 2), (-3, -1), (1, 1), (-1, 0), (2, 1), (-5, -2)])
def test_doubling_high_product_by_a_half_rounds_halves_up(a, expected):
    assert doubling_high_product(np.int64(a), np.int64(2**30)) == expected


@pytest.mark.parametrize(
    ("x", "bits", "expected"), [(5, 1, 3), (-5, 1, -3), (5, 2, 1), (-6, 2, -2), (-7, 0, -7)]
)
def test_rounding_shift_rounds_halves_away_from_zero(x, bits, expected):
    assert rounding_shift(np.int64(x), np.int64(bits)) == expected


def test_scaled_rounds_twice_and_takes_one_multiplier_per_channel():
    assert scaled(np.array([9, 8, -9]), 0.25).tolist() == [3, 2, -2]
    assert scaled(np.array([[5, 5, 5]]), [0.5, 2.0, 1.0]).tolist() == [[3, 10, 5]]


def test_scaled_saturates_before_the_mantissa():
    assert scaled(np.array([2**30, -(2**30)]), 8.0).tolist() == [2**30, -(2**30)]
