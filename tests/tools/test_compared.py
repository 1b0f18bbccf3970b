"""How far two arrays are apart."""

import math

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.tools.array_difference import Tolerance, difference

F32 = T.TENSOR_FLOAT32


def floats(*values):
    return np.array(values, np.float32)


def test_floats() -> None:
    a, b = floats(1, 2, 4.5), floats(1, 2, 4)
    result = difference(a, b, F32, 0.0, Tolerance())
    assert (result.elements, result.differing, result.at) == (3, 1, (2,))
    assert (result.largest, result.relative) == (0.5, 0.125)
    assert (result.a, result.b) == (4.5, 4.0)
    assert result.steps is None
    assert result.is_beyond


@pytest.mark.parametrize(
    ("a", "b", "ulps"),
    [
        (1.0, np.nextafter(np.float32(1), np.float32(2)), 1),
        (0.0, -0.0, 0),
        (1e-45, -1e-45, 2),
        (-1.0, np.nextafter(np.float32(-1), np.float32(-2)), 1),
    ],
)
def test_units_in_the_last_place(a, b, ulps) -> None:
    result = difference(floats(a), floats(b), F32, 0.0, Tolerance())
    assert result.ulps == ulps
    assert not result.is_beyond


def test_what_is_not_a_number() -> None:
    nan, inf = math.nan, math.inf
    assert not difference(floats(nan, inf), floats(nan, inf), F32, 0.0, Tolerance()).is_beyond
    for a, b in ((nan, 1.0), (1.0, nan), (inf, -inf), (inf, 1.0)):
        result = difference(floats(a), floats(b), F32, 0.0, Tolerance())
        assert result.is_beyond
        assert result.largest == inf


def test_steps() -> None:
    a, b = np.array([3, 200], np.uint8), np.array([5, 199], np.uint8)
    result = difference(a, b, T.TENSOR_QUANT8_ASYMM, 0.5, Tolerance(steps=2))
    assert (result.steps, result.largest, result.ulps) == (2, 1.0, None)
    assert not result.is_beyond
    assert difference(a, b, T.TENSOR_QUANT8_ASYMM, 0.5, Tolerance(steps=1)).is_beyond


def test_whole_numbers_and_truth() -> None:
    big = np.array([2**31 - 1], np.int32)
    assert difference(big, -big, T.TENSOR_INT32, 0.0, Tolerance()).is_beyond
    yes = np.array([True])
    assert difference(yes, ~yes, T.TENSOR_BOOL8, 0.0, Tolerance()).is_beyond
    assert not difference(yes, yes, T.TENSOR_BOOL8, 0.0, Tolerance()).is_beyond


def test_dimensions_and_nothing() -> None:
    result = difference(floats(1), floats(1, 2), F32, 0.0, Tolerance())
    assert result.is_beyond
    assert result.problem == "dimensions [1] and [2]"
    empty = difference(floats(), floats(), F32, 0.0, Tolerance())
    assert (empty.elements, empty.is_beyond, empty.ulps) == (0, False, 0)
