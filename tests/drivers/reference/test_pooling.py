"""AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D by hand."""

import numpy as np
import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import FuseCode, PaddingCode, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f32, qs8, qu8

SAME, VALID = int(PaddingCode.SAME), int(PaddingCode.VALID)
IMAGE = np.arange(1, 10).reshape(1, 3, 3, 1)


def pool(compute, type, image, *tail):
    """Rows of the only channel, the output like the input; `tail` is what follows the input."""
    output = image._replace(operand=image.operand._replace(dimensions=()), array=None)
    return np.array(compute(type, [image, *tail], output))[0, :, :, 0].tolist()


def row(*values):
    """An image of one row."""
    return np.reshape(values, (1, 1, -1, 1))


def test_average_counts_what_lies_inside(compute):
    image = f32(IMAGE)
    assert pool(compute, Op.AVERAGE_POOL_2D, image, VALID, 1, 1, 2, 2, 0) == [[3, 4], [6, 7]]
    assert pool(compute, Op.AVERAGE_POOL_2D, image, SAME, 1, 1, 2, 2, 0) == [
        [3, 4, 4.5],
        [6, 7, 7.5],
        [7.5, 8.5, 9],
    ]
    # left 1, top 1, strides 2
    assert pool(compute, Op.AVERAGE_POOL_2D, image, 1, 0, 1, 0, 2, 2, 2, 2, 0) == [
        [1, 2.5],
        [5.5, 7],
    ]


def test_filter_width_comes_first(compute):
    image = f32(IMAGE)
    assert pool(compute, Op.AVERAGE_POOL_2D, image, VALID, 1, 1, 3, 1, 0) == [[2], [5], [8]]


@pytest.mark.parametrize(
    ("values", "expected"), [((1, 2), 2), ((1, 2, 2), 2), ((1, 1, 2), 1), ((254, 255), 255)]
)
def test_average_of_unsigned_rounds_halves_up(compute, values, expected):
    image = qu8(row(*values), 0.5, 3)
    assert pool(compute, Op.AVERAGE_POOL_2D, image, VALID, 1, 1, len(values), 1, 0) == [[expected]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [((1, 2), 2), ((-1, -2), -2), ((-1, 0), -1), ((-1, -1, -2), -1), ((-1, 1), 0)],
)
def test_average_of_signed_rounds_halves_away_from_zero(compute, values, expected):
    image = qs8(row(*values), 0.5, 3)
    assert pool(compute, Op.AVERAGE_POOL_2D, image, VALID, 1, 1, len(values), 1, 0) == [[expected]]


def test_activation_takes_bounds_from_the_input(compute):
    image = qu8(row(0, 100, 255), 0.5, 100)
    relu6 = int(FuseCode.RELU6)
    assert pool(compute, Op.AVERAGE_POOL_2D, image, VALID, 1, 1, 1, 1, relu6) == [[100, 100, 112]]
    assert pool(compute, Op.MAX_POOL_2D, image, VALID, 1, 1, 1, 1, relu6) == [[100, 100, 112]]


def test_max_ignores_padding(compute):
    assert pool(compute, Op.MAX_POOL_2D, f32(-IMAGE), SAME, 1, 1, 2, 2, 0) == [
        [-1, -2, -3],
        [-4, -5, -6],
        [-7, -8, -9],
    ]
    assert pool(compute, Op.MAX_POOL_2D, qs8(-IMAGE), 1, 0, 1, 0, 2, 2, 2, 2, 0) == [
        [-1, -2],
        [-4, -5],
    ]


@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (9, 9)])
def test_a_filter_that_is_much_larger_than_the_image(compute, strides):
    """It sees all of the image, wherever it lies, and is not walked through."""
    image, size = f32(IMAGE), 1 << 30
    for type, seen in ((Op.MAX_POOL_2D, 9), (Op.AVERAGE_POOL_2D, 5)):
        rows = pool(compute, type, image, SAME, *strides, size, size, 0)
        assert {value for listed in rows for value in listed} == {seen}
        half = size // 2
        rows = pool(compute, type, image, *[half] * 4, *[size // 4] * 2, size, size, 0)
        assert {value for listed in rows for value in listed} == {seen}


def test_nchw(compute):
    image = f32([[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]])
    assert compute(Op.MAX_POOL_2D, [image, VALID, 1, 1, 2, 2, 0, True], f32()) == [[[[4]], [[8]]]]


def test_a_filter_that_does_not_fit(compute):
    with pytest.raises(NnapiError, match="does not fit") as error:
        pool(compute, Op.MAX_POOL_2D, f32(IMAGE), VALID, 1, 1, 4, 1, 0)
    assert error.value.code is ResultCode.OP_FAILED


def test_l2(compute):
    image = f32(row(3, -4, 12))
    assert pool(compute, Op.L2_POOL_2D, image, VALID, 1, 1, 2, 1, 0) == [
        pytest.approx([12.5**0.5, 80**0.5])
    ]
    # the last window holds one pixel
    assert pool(compute, Op.L2_POOL_2D, image, SAME, 1, 1, 2, 1, int(FuseCode.RELU6)) == [
        pytest.approx([12.5**0.5, 6, 6])
    ]
