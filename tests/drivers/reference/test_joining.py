"""CONCATENATION, PACK and TILE by hand."""

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import f32, i32, qs8, qu8


def test_along_an_axis(compute):
    a, b = f32([[1, 2], [3, 4]]), f32([[5, 6]])
    assert compute(Op.CONCATENATION, [a, b, 0], f32()) == [[1, 2], [3, 4], [5, 6]]
    assert compute(Op.CONCATENATION, [a, a, a, 1], f32()) == [[1, 2] * 3, [3, 4] * 3]
    assert compute(Op.CONCATENATION, [b, 0], f32()) == [[5, 6]]


def test_same_parameters_are_copied_others_rounded_away_from_zero(compute):
    same, other = qu8([7, 255], 1, 10), qu8([1, 3, 4, 5, 0], 0.5, 4)
    # real: -1.5, -0.5, 0, 0.5, -2
    assert compute(Op.CONCATENATION, [same, other, 0], qu8(None, 1, 10)) == [
        7,
        255,
        8,
        9,
        10,
        11,
        8,
    ]


def test_requantizing_saturates(compute):
    assert compute(Op.CONCATENATION, [qu8([0, 255], 4, 128), 0], qu8(None, 1, 128)) == [0, 255]


def test_signed(compute):
    # real: -1.5, 1.5, 63.5, in steps of 1 from -1
    assert compute(Op.CONCATENATION, [qs8([-3, 3, 127], 0.5), 0], qs8(None, 1, -1)) == [-3, 1, 63]


@pytest.mark.parametrize("axis", [-1, 2])
def test_axis_out_of_range(compute, axis):
    with pytest.raises(NnapiError, match="axis") as error:
        compute(Op.CONCATENATION, [f32([[1]]), axis], f32())
    assert error.value.code is ResultCode.OP_FAILED


def test_shapes_that_do_not_fit(compute):
    with pytest.raises(NnapiError, match="they may differ along axis 0 only") as error:
        compute(Op.CONCATENATION, [f32([[1]]), f32([[1, 2]]), 0], f32())
    assert error.value.code is ResultCode.OP_FAILED


def test_pack_adds_an_axis(compute):
    a, b = f32([[1, 2]]), f32([[3, 4]])
    assert compute(Op.PACK, [0, a, b], f32()) == [[[1, 2]], [[3, 4]]]
    assert compute(Op.PACK, [1, a, b], f32()) == [[[1, 2], [3, 4]]]
    assert compute(Op.PACK, [2, a, b], f32()) == [[[1, 3], [2, 4]]]
    assert compute(Op.PACK, [0, a], f32()) == [[[1, 2]]]


@pytest.mark.parametrize("axis", [-1, 3])
def test_pack_axis_out_of_range(compute, axis):
    with pytest.raises(NnapiError, match="axis") as error:
        compute(Op.PACK, [axis, f32([[1]])], f32())
    assert error.value.code is ResultCode.OP_FAILED


def test_pack_needs_equal_dimensions(compute):
    with pytest.raises(NnapiError, match="must be equal") as error:
        compute(Op.PACK, [0, f32([1]), f32([1, 2])], f32())
    assert error.value.code is ResultCode.OP_FAILED


def test_tile_repeats_blocks(compute):
    assert compute(Op.TILE, [f32([[1, 2]]), i32([2, 2])], f32()) == [[1, 2, 1, 2]] * 2
    assert compute(Op.TILE, [f32([[1, 2]]), i32([1, 0])], f32()) == [[]]


def test_tile_ignores_multiples_behind_the_last_dimension(compute):
    assert compute(Op.TILE, [f32([1, 2]), i32([2, 7])], f32()) == [1, 2, 1, 2]


@pytest.mark.parametrize("multiples", [[2], [1, -1]])
def test_tile_needs_a_multiple_for_each_dimension(compute, multiples):
    with pytest.raises(NnapiError, match="multiples") as error:
        compute(Op.TILE, [f32([[1, 2]]), i32(multiples)], f32())
    assert error.value.code is ResultCode.OP_FAILED


def test_tile_beyond_the_largest_operand(compute):
    with pytest.raises(NnapiError, match="larger than") as error:
        compute(Op.TILE, [f32([[1, 2]]), i32([1 << 30, 1 << 30])], f32())
    assert error.value.code is ResultCode.OP_FAILED
