"""MEAN and the REDUCE operations by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import bool8, f16, f32, i32, qs8, qu8

INF, NAN = float("inf"), float("nan")
LARGEST = 3.4028234663852886e38
TABLE = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]


def test_axes_and_dimensions(compute):
    def reduce(axes, keep_dims):
        return compute(Op.REDUCE_SUM, [f32(TABLE), i32(axes), keep_dims], f32())

    assert reduce([0], False) == [[6, 8], [10, 12]]
    assert reduce([1], False) == [[4, 6], [12, 14]]
    assert reduce([-1], True) == [[[3], [7]], [[11], [15]]]
    assert reduce([0, 2, -3, 0], False) == [14, 22]
    assert reduce([2, 0], True) == [[[14], [22]]]
    assert reduce([0, 1, 2], False) == [36]
    assert reduce([0, 1, 2], True) == [[[36]]]


def test_mean(compute):
    assert compute(Op.MEAN, [f32([[1, 2], [3, 5]]), i32([1]), 0], f32()) == [1.5, 4]
    assert compute(Op.MEAN, [f16([[1, 2], [3, 5]]), i32([0]), 1], f16()) == [[2, 3.5]]
    # a negative number is no wish to keep them
    assert compute(Op.MEAN, [f32([[1, 2], [3, 5]]), i32([1]), -1], f32()) == [1.5, 4]


def test_quantized_means_are_rounded_toward_zero(compute):
    assert compute(Op.MEAN, [qu8([1, 2], 0.5, 7), i32([0]), 0], qu8(None, 0.5, 7)) == [1]
    assert compute(Op.MEAN, [qs8([-1, -2], 0.5, 7), i32([0]), 0], qs8(None, 0.5, 7)) == [-1]
    assert compute(Op.MEAN, [qs8([5, 6, 6]), i32([0]), 0], qs8()) == [5]


def test_product(compute):
    def product(*factors):
        return compute(Op.REDUCE_PROD, [f32(factors), i32([0]), False], f32())

    assert product(2, -3, 4) == [-24]
    assert product(0, INF, NAN, 2) == [0]
    assert str(product(-1, 0)) == "[0.0]"
    assert product(-2, INF) == [-INF]
    # beyond float32 on the way
    assert product(1e30, 1e30, 1e-30, 1e-30) == [pytest.approx(1, rel=1e-6)]


def test_extremes(compute):
    for make in (f32, f16, qu8, qs8):
        values, axes = make([[3, 1], [2, 9]]), i32([0])
        assert compute(Op.REDUCE_MAX, [values, axes, False], make()) == [3, 9]
        assert compute(Op.REDUCE_MIN, [values, axes, False], make()) == [2, 1]


def test_extremes_start_at_finite_numbers_and_pass_over_nan(compute):
    def both(make, *values):
        inputs = [make(values), i32([0]), False]
        return [compute(type, inputs, make())[0] for type in (Op.REDUCE_MAX, Op.REDUCE_MIN)]

    assert both(f32, -INF, -INF) == [-LARGEST, -INF]
    assert both(f32, INF, INF) == [INF, LARGEST]
    assert both(f16, -INF) == [-65504, -INF]
    assert both(f32, NAN, 3, NAN, 1) == [3, 1]
    assert both(f32, NAN) == [-LARGEST, LARGEST]


def test_truth(compute):
    values, axes = bool8([[0, 0], [0, 2], [255, 1]]), i32([1])
    assert compute(Op.REDUCE_ALL, [values, axes, False], bool8()) == [0, 0, 1]
    assert compute(Op.REDUCE_ANY, [values, axes, False], bool8()) == [0, 1, 1]


@pytest.mark.parametrize("axis", [3, -4])
@pytest.mark.parametrize("keep_dims", [0, 1])
def test_axes_out_of_range(compute, axis, keep_dims):
    for type, keep in ((Op.MEAN, keep_dims), (Op.REDUCE_SUM, bool(keep_dims))):
        with pytest.raises(NnapiError, match=f"axes .*has {axis}; allowed are -3 to 2") as error:
            compute(type, [f32(TABLE), i32([0, axis]), keep], f32())
        assert error.value.code is ResultCode.OP_FAILED
