"""TRANSPOSE and its like by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import f32, i32, omitted, qu8

SIX = f32([[1, 2, 3], [4, 5, 6]])
EIGHT = [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]
"""A batch of 1, 2 x 2 pixels, 2 channels."""


def fails(compute, type, inputs, words, output=None):
    with pytest.raises(NnapiError, match=words) as error:
        compute(type, inputs, output or f32())
    assert error.value.code is ResultCode.OP_FAILED


def test_output_axis_i_is_input_axis_perm_i(compute):
    assert compute(Op.TRANSPOSE, [SIX, i32([1, 0])], f32()) == [[1, 4], [2, 5], [3, 6]]
    cube = f32([[[1, 2, 3]], [[4, 5, 6]]])  # [2, 1, 3] -> [3, 2, 1]
    assert compute(Op.TRANSPOSE, [cube, i32([2, 0, 1])], f32()) == [
        [[1], [4]],
        [[2], [5]],
        [[3], [6]],
    ]


def test_perm_may_be_omitted_for_rank_2_alone(compute):
    none = omitted(T.TENSOR_INT32)
    assert compute(Op.TRANSPOSE, [SIX, none], f32()) == [[1, 4], [2, 5], [3, 6]]
    fails(compute, Op.TRANSPOSE, [f32([[[1]]]), none], "perm .*is omitted")


@pytest.mark.parametrize("perm", [[0], [0, 1, 2], [0, 2], [-1, 0], [1, 1]])
def test_bad_permutations(compute, perm):
    fails(compute, Op.TRANSPOSE, [SIX, i32(perm)], "perm")


def test_reverse(compute):
    assert compute(Op.REVERSE, [SIX, i32([0])], f32()) == [[4, 5, 6], [1, 2, 3]]
    assert compute(Op.REVERSE, [SIX, i32([1])], f32()) == [[3, 2, 1], [6, 5, 4]]
    for axis in ([-1], [2], [0, 1]):
        fails(compute, Op.REVERSE, [SIX, i32(axis)], "axis")


def test_channels_of_groups_alternate(compute):
    # groups 1 2 3 and 4 5 6
    assert compute(Op.CHANNEL_SHUFFLE, [f32([1, 2, 3, 4, 5, 6]), 2, 0], f32()) == [1, 4, 2, 5, 3, 6]
    columns = f32([[1, 2], [3, 4], [5, 6], [7, 8]])
    assert compute(Op.CHANNEL_SHUFFLE, [columns, 2, -2], f32()) == [[1, 2], [5, 6], [3, 4], [7, 8]]
    for groups, axis, words in ((4, 1, "num_groups"), (0, 1, "num_groups"), (1, 2, "axis")):
        fails(compute, Op.CHANNEL_SHUFFLE, [SIX, groups, axis], words)


def test_depth_to_space_takes_rows_of_a_block_first(compute):
    pixel = f32([[[[1, 2, 3, 4, 5, 6, 7, 8]]]])  # 4 pixels of 2 channels
    assert compute(Op.DEPTH_TO_SPACE, [pixel, 2], f32()) == EIGHT
    planes = f32([[[[1]], [[2]], [[3]], [[4]]]])
    assert compute(Op.DEPTH_TO_SPACE, [planes, 2, True], f32()) == [[[[1, 2], [3, 4]]]]
    for block in (0, -1, 3):
        fails(compute, Op.DEPTH_TO_SPACE, [pixel, block], "block_size")


def test_space_to_depth_is_the_inverse(compute):
    assert compute(Op.SPACE_TO_DEPTH, [f32(EIGHT), 2], f32()) == [[[[1, 2, 3, 4, 5, 6, 7, 8]]]]
    plane = f32([[[[1, 2], [3, 4]]]])
    assert compute(Op.SPACE_TO_DEPTH, [plane, 2, True], f32()) == [[[[1]], [[2]], [[3]], [[4]]]]
    fails(compute, Op.SPACE_TO_DEPTH, [f32(EIGHT), 3], "block_size")


def test_batch_to_space_spreads_the_batch_over_blocks(compute):
    four = f32([[[[1]]], [[[2]]], [[[3]]], [[[4]]]])
    assert compute(Op.BATCH_TO_SPACE_ND, [four, i32([2, 2])], f32()) == [[[[1], [2]], [[3], [4]]]]
    # Blocks of 1 x 2: image 0 consists of batch 0 and 2, image 1 of batch 1 and 3.
    assert compute(Op.BATCH_TO_SPACE_ND, [four, i32([1, 2])], f32()) == [
        [[[1], [3]]],
        [[[2], [4]]],
    ]
    for block in ([3, 1], [2], [0, 1], [-2, -2]):
        fails(compute, Op.BATCH_TO_SPACE_ND, [four, i32(block)], "batch|block_shape")


def test_space_to_batch_pads_with_what_stands_for_zero(compute):
    image = qu8([[[[1], [2]], [[3], [4]]]], 0.5, 9)
    paddings = i32([[1, 0], [0, 1]])  # 9 9 9 / 1 2 9 / 3 4 9
    assert compute(Op.SPACE_TO_BATCH_ND, [image, i32([3, 1]), paddings], qu8(None, 0.5, 9)) == [
        [[[9], [9], [9]]],
        [[[1], [2], [9]]],
        [[[3], [4], [9]]],
    ]


def test_space_to_batch_cuts_off_for_negative_paddings(compute):
    image = f32([[[[1], [2], [3], [4]]]])
    block, cut = i32([1, 2]), i32([[0, 0], [-1, 1]])  # 2 3 4 0
    assert compute(Op.SPACE_TO_BATCH_ND, [image, block, cut], f32()) == [
        [[[2], [4]]],
        [[[3], [0]]],
    ]


@pytest.mark.parametrize("paddings", [[[0, 0], [0, 1]], [[-3, 0], [0, 0]], [[0, 0]]])
def test_space_to_batch_needs_whole_blocks(compute, paddings):
    inputs = [f32(EIGHT), i32([1, 2]), i32(paddings)]
    fails(compute, Op.SPACE_TO_BATCH_ND, inputs, "padd")
