"""RESHAPE by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import f32, i32, qs8

SIX = f32([[1, 2, 3], [4, 5, 6]])


def test_row_major(compute):
    assert compute(Op.RESHAPE, [SIX, i32([3, 2])], f32()) == [[1, 2], [3, 4], [5, 6]]
    assert compute(Op.RESHAPE, [SIX, i32([1, 1, 1, 1, 6])], f32()) == [[[[[1, 2, 3, 4, 5, 6]]]]]


def test_minus_one_is_what_is_left_over(compute):
    assert compute(Op.RESHAPE, [SIX, i32([-1])], f32()) == [1, 2, 3, 4, 5, 6]
    assert compute(Op.RESHAPE, [SIX, i32([3, -1])], f32()) == [[1, 2], [3, 4], [5, 6]]


def test_parameters_are_those_of_the_input(compute):
    assert compute(Op.RESHAPE, [qs8([1, -2], 0.5, 3), i32([2, 1])], qs8(None, 0.5, 3)) == [
        [1],
        [-2],
    ]
    with pytest.raises(NnapiError, match="declares scale") as error:
        compute(Op.RESHAPE, [qs8([1, -2], 0.5, 3), i32([2, 1])], qs8(None, 0.25, 3))
    assert error.value.code is ResultCode.OP_FAILED


@pytest.mark.parametrize("shape", [[4], [-1, -1], [-1, 4], [-1, 0], [-2, -3], [0]])
def test_shapes_that_do_not_fit(compute, shape):
    with pytest.raises(NnapiError, match="shape") as error:
        compute(Op.RESHAPE, [SIX, i32(shape)], f32())
    assert error.value.code is ResultCode.OP_FAILED
