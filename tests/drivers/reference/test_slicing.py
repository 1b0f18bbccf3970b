"""SLICE, STRIDED_SLICE and SPLIT by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import execute, f32, i32

TWELVE = f32([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]])
FIVE = f32([0, 1, 2, 3, 4])


def test_slice(compute):
    assert compute(Op.SLICE, [TWELVE, i32([1, 2]), i32([2, 1])], f32()) == [[7], [11]]
    assert compute(Op.SLICE, [TWELVE, i32([1, 2]), i32([1, -1])], f32()) == [[7, 8]]


def test_slices_may_be_empty(compute):
    assert compute(Op.SLICE, [TWELVE, i32([3, 0]), i32([0, 4])], f32()) == []
    assert compute(Op.SLICE, [TWELVE, i32([3, 0]), i32([-1, 4])], f32()) == []
    assert compute(Op.SLICE, [TWELVE, i32([0, 1]), i32([3, 0])], f32()) == [[], [], []]


@pytest.mark.parametrize(
    ("begin", "size"),
    [([4, 0], [0, 1]), ([-1, 0], [1, 1]), ([1, 1], [3, 1]), ([0, 0], [1, -2]), ([0], [1])],
)
def test_slices_outside(compute, begin, size):
    with pytest.raises(NnapiError, match="begin") as error:
        compute(Op.SLICE, [TWELVE, i32(begin), i32(size)], f32())
    assert error.value.code is ResultCode.OP_FAILED


def strided(compute, tensor, begin, end, strides, begin_mask=0, end_mask=0, shrink=0):
    inputs = [tensor, i32(begin), i32(end), i32(strides), begin_mask, end_mask, shrink]
    return compute(Op.STRIDED_SLICE, inputs, f32())


def test_strides_of_both_signs(compute):
    assert strided(compute, FIVE, [0], [5], [2]) == [0, 2, 4]
    assert strided(compute, FIVE, [1], [4], [2]) == [1, 3]
    assert strided(compute, FIVE, [4], [0], [-3]) == [4, 1]
    assert strided(compute, FIVE, [3], [0], [-1]) == [3, 2, 1]


def test_bounds_count_from_the_end_and_are_clamped(compute):
    assert strided(compute, FIVE, [-2], [-1], [1]) == [3]
    assert strided(compute, FIVE, [-9], [9], [1]) == [0, 1, 2, 3, 4]
    assert strided(compute, FIVE, [9], [-9], [-2]) == [4, 2, 0]
    # -1 is the last element, not what lies in front of the first.
    assert strided(compute, FIVE, [2], [-1], [-1]) == []


def test_masked_bounds_are_the_first_and_last(compute):
    assert strided(compute, FIVE, [3], [2], [1], begin_mask=1) == [0, 1]
    assert strided(compute, FIVE, [2], [1], [-1], end_mask=1) == [2, 1, 0]
    assert strided(compute, FIVE, [2], [1], [-2], begin_mask=1, end_mask=1) == [4, 2, 0]
    assert strided(compute, TWELVE, [1, 1], [2, 2], [1, 1], begin_mask=2) == [[5, 6]]


def test_dropped_axes(compute):
    assert strided(compute, TWELVE, [1, 1], [2, 3], [1, 1], shrink=1) == [6, 7]
    assert strided(compute, TWELVE, [1, -1], [3, 4], [1, 1], shrink=2) == [8, 12]
    assert strided(compute, TWELVE, [2, 0], [3, 1], [1, 1], shrink=3) == [9]


@pytest.mark.parametrize(
    ("begin", "end", "strides", "shrink"),
    [
        ([0, 0], [3, 4], [1, 0], 0),
        ([0, 0], [2, 4], [1, 1], 1),  # two elements
        ([3, 0], [4, 4], [1, 1], 1),  # none
        ([1, 0], [0, 4], [-1, 1], 1),
        ([0], [3, 4], [1, 1], 0),
        ([0, 0], [3, 4, 5], [1, 1], 0),
        ([0, 0], [3, 4], [1], 0),
    ],
)
def test_strided_slices_that_make_no_sense(compute, begin, end, strides, shrink):
    with pytest.raises(NnapiError, match=r"strid|begin|end") as error:
        strided(compute, TWELVE, begin, end, strides, shrink=shrink)
    assert error.value.code is ResultCode.OP_FAILED


def test_split(device):
    parts = execute(device, Op.SPLIT, [TWELVE, -1, 2], [f32(), f32()])
    assert [part.tolist() for part in parts] == [
        [[1, 2], [5, 6], [9, 10]],
        [[3, 4], [7, 8], [11, 12]],
    ]


@pytest.mark.parametrize(
    ("axis", "count", "outputs", "code"),
    [
        (1, 2, 3, ResultCode.BAD_DATA),
        (1, 0, 1, ResultCode.BAD_DATA),
        (0, 2, 2, ResultCode.OP_FAILED),
        (2, 1, 1, ResultCode.OP_FAILED),
    ],
)
def test_splits_that_do_not_fit(device, axis, count, outputs, code):
    with pytest.raises(NnapiError, match=r"num_splits|axis") as error:
        execute(device, Op.SPLIT, [TWELVE, axis, count], [f32()] * outputs)
    assert error.value.code is code
