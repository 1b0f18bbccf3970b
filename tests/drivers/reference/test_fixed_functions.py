"""Functions of fixed-point numbers at the known answers of semantics.md 15."""

import numpy as np
import pytest

from nnapi_shim.drivers.reference.fixed_functions import exponential, logistic, tanh


@pytest.mark.parametrize(
    ("function", "integer_bits", "x", "expected"),
    [
        (logistic, 4, 2**27, 1569936226),
        (logistic, 4, -(2**27), 577547421),
        (logistic, 4, 2**28, 1891497262),
        (logistic, 4, 0, 2**30),
        (tanh, 4, 2**26, 992388804),
        (tanh, 4, -(2**26), -992388804),
        (tanh, 4, 2**27, 1635510876),
        (tanh, 4, 0, 0),
        (exponential, 5, -(2**26), 790015308),
        (exponential, 5, -(2**25), 1302515042),
        (exponential, 5, -1, 2147483124),
        (exponential, 5, 0, 2**31 - 1),
    ],
)
def test_32_bits(function, integer_bits, x, expected):
    assert function(np.array([x]), integer_bits, 32) == [expected]
