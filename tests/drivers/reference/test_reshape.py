"""RESHAPE, SQUEEZE, EXPAND_DIMS, RANK and FILL by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Operand
from tests.single import Value, f32, i32, omitted, qs8

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


def test_squeeze(compute):
    values = f32([[[[1], [2]]]])  # [1, 1, 2, 1]
    assert compute(Op.SQUEEZE, [values, omitted(T.TENSOR_INT32)], f32()) == [1, 2]
    assert compute(Op.SQUEEZE, [values, i32([1])], f32()) == [[[1], [2]]]
    assert compute(Op.SQUEEZE, [values, i32([-1, 3, 0])], f32()) == [[1, 2]]


def test_something_is_left_of_a_squeezed_tensor(compute):
    assert compute(Op.SQUEEZE, [f32([[7]]), omitted(T.TENSOR_INT32)], f32()) == [7]


@pytest.mark.parametrize("axes", [[1], [2], [-3], [0, 1]])
def test_axes_that_cannot_be_squeezed(compute, axes):
    with pytest.raises(NnapiError, match="axes") as error:
        compute(Op.SQUEEZE, [f32([[1, 2]]), i32(axes)], f32())
    assert error.value.code is ResultCode.OP_FAILED


def test_expand_dims(compute):
    assert compute(Op.EXPAND_DIMS, [f32([1, 2]), 0], f32()) == [[1, 2]]
    assert compute(Op.EXPAND_DIMS, [f32([1, 2]), -1], f32()) == [[1], [2]]
    for axis in (-3, 2):
        with pytest.raises(NnapiError, match="axis") as error:
            compute(Op.EXPAND_DIMS, [f32([1, 2]), axis], f32())
        assert error.value.code is ResultCode.OP_FAILED


def test_rank_is_a_scalar(compute):
    output = Value(Operand(T.INT32))
    assert compute(Op.RANK, [SIX], output) == 2
    assert compute(Op.RANK, [f32([[[[[1]]]]])], output) == 5


def test_fill(compute):
    assert compute(Op.FILL, [i32([2, 1, 3]), 0.5], f32()) == [[[0.5] * 3]] * 2
    assert compute(Op.FILL, [i32([2]), -7], i32()) == [-7, -7]
    assert compute(Op.FILL, [i32([2, 0]), 1.0], f32()) == [[], []]


@pytest.mark.parametrize("dims", [[-1], [1 << 20, 1 << 20]])
def test_fill_dims_that_make_no_sense(compute, dims):
    with pytest.raises(NnapiError, match=r"dims|larger") as error:
        compute(Op.FILL, [i32(dims), 1.0], f32())
    assert error.value.code is ResultCode.OP_FAILED
