"""The 16-bit activations at the known answers of semantics.md 15."""

import numpy as np
import pytest

from nnapi_shim.drivers.reference.fixed_16 import logistic_16, product_16, tanh_16


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (-32768, 11), (-8192, 3901), (-4096, 8815), (-1, 16383), (0, 16384), (1000, 18376),
        (4096, 23952), (8192, 28866), (20000, 32524), (32767, 32756),
    ],
)  # fmt: skip
def test_logistic(x, expected):
    assert logistic_16(np.array([x]), 3) == [expected]


@pytest.mark.parametrize(
    ("integer_bits", "x", "expected"),
    [
        (3, 1, 8), (3, 100, 792), (3, 1000, 7840), (3, 4096, 24964), (3, 8192, 31596),
        (3, 20000, 32767), (0, 100, 100), (0, 4096, 4076), (0, 16384, 15136), (0, 32767, 24964),
        (4, 100, 1596), (4, 4096, 31596),
    ],
)  # fmt: skip
def test_tanh(integer_bits, x, expected):
    assert tanh_16(np.array([x, -x]), integer_bits).tolist() == [expected, -expected]


def test_tanh_of_numbers_beyond_the_factors():
    # 6 integer bits: 2 * 32 and more is taken for infinity.
    assert tanh_16(np.array([-32768, 32767, 16385]), 6).tolist() == [-32767, 32767, 32767]


def test_product_saturates():
    assert product_16(np.array([-32768, -32768]), np.array([-32768, 32767])).tolist() == [
        32767,
        -32767,
    ]
