"""PAD, PAD_V2 and MIRROR_PAD by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import f32, i32, qs8, qu8

ROW = f32([[1, 2]])


def test_pad_with_what_stands_for_zero(compute):
    paddings = i32([[1, 0], [0, 2]])
    assert compute(Op.PAD, [ROW, paddings], f32()) == [[0, 0, 0, 0], [1, 2, 0, 0]]
    row = qs8([[1, 2]], 0.5, -3)
    assert compute(Op.PAD, [row, paddings], qs8(None, 0.5, -3)) == [[-3] * 4, [1, 2, -3, -3]]


def test_pad_value_is_not_scaled(compute):
    assert compute(Op.PAD_V2, [f32([1, 2]), i32([[1, 1]]), 9.5], f32()) == [9.5, 1, 2, 9.5]
    assert compute(Op.PAD_V2, [qu8([1, 2], 0.5, 7), i32([[1, 1]]), 9], qu8(None, 0.5, 7)) == [
        9,
        1,
        2,
        9,
    ]


def test_the_lowest_8_bits_of_a_quantized_pad_value(compute):
    assert compute(Op.PAD_V2, [qu8([1]), i32([[1, 0]]), -1], qu8()) == [255, 1]
    assert compute(Op.PAD_V2, [qu8([1]), i32([[1, 0]]), 0x102], qu8()) == [2, 1]
    assert compute(Op.PAD_V2, [qs8([1]), i32([[1, 0]]), 255], qs8()) == [-1, 1]


@pytest.mark.parametrize("paddings", [[[-1, 0], [0, 0]], [[0, 0]], [[0, 0, 0]], [[0, 0]] * 3])
def test_paddings_that_make_no_sense(compute, paddings):
    for type, more in ((Op.PAD, []), (Op.PAD_V2, [1.0]), (Op.MIRROR_PAD, [0])):
        with pytest.raises(NnapiError, match="paddings") as error:
            compute(type, [ROW, i32(paddings), *more], f32())
        assert error.value.code is ResultCode.OP_FAILED


REFLECT, SYMMETRIC = 0, 1


def test_mirror(compute):
    three, behind, around = f32([1, 2, 3]), i32([[0, 2]]), i32([[2, 1]])
    assert compute(Op.MIRROR_PAD, [three, behind, REFLECT], f32()) == [1, 2, 3, 2, 1]
    assert compute(Op.MIRROR_PAD, [three, behind, SYMMETRIC], f32()) == [1, 2, 3, 3, 2]
    assert compute(Op.MIRROR_PAD, [three, around, REFLECT], f32()) == [3, 2, 1, 2, 3, 2]
    assert compute(Op.MIRROR_PAD, [three, around, SYMMETRIC], f32()) == [2, 1, 1, 2, 3, 3]


def test_corners_are_mirrored_twice(compute):
    square = f32([[1, 2], [3, 4]])
    assert compute(Op.MIRROR_PAD, [square, i32([[1, 0], [0, 1]]), REFLECT], f32()) == [
        [3, 4, 3],
        [1, 2, 1],
        [3, 4, 3],
    ]


@pytest.mark.parametrize(
    ("paddings", "mode"), [([3, 0], REFLECT), ([0, 4], SYMMETRIC), ([0, 0], 2), ([0, 0], -1)]
)
def test_mirrors_that_are_too_short(compute, paddings, mode):
    with pytest.raises(NnapiError, match=r"paddings|mode") as error:
        compute(Op.MIRROR_PAD, [f32([1, 2, 3]), i32([paddings]), mode], f32())
    assert error.value.code is ResultCode.OP_FAILED
