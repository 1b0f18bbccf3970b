"""CONV_2D DEPTHWISE_CONV_2D by hand."""

import numpy as np
import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import FuseCode, PaddingCode, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from tests.single import f16, f32, i32, qc8, qs8, qu8

SAME, VALID = int(PaddingCode.SAME), int(PaddingCode.VALID)

# 1 2 3
# 4 5 6
# 7 8 9
IMAGE = np.arange(1, 10).reshape(1, 3, 3, 1)


def one_filter(rows):
    """A filter from one channel to one."""
    return f32(np.reshape(rows, (1, 2, 2, 1)))


def conv(compute, *tail, filter=((1, 1), (1, 1))):
    """Rows of the only channel; `tail` is what follows the bias."""
    output = compute(Op.CONV_2D, [f32(IMAGE), one_filter(filter), f32([0.5]), *tail], f32())
    return np.array(output)[0, :, :, 0].tolist()


def test_valid(compute):
    assert conv(compute, VALID, 1, 1, 0) == [[12.5, 16.5], [24.5, 28.5]]
    assert conv(compute, VALID, 2, 2, 0) == [[12.5]]


def test_an_unknown_scheme_is_like_valid(compute):
    assert conv(compute, 7, 2, 2, 0) == [[12.5]]


def test_same_pads_the_odd_element_behind(compute):
    assert conv(compute, SAME, 1, 1, 0) == [
        [12.5, 16.5, 9.5],
        [24.5, 28.5, 15.5],
        [15.5, 17.5, 9.5],
    ]
    assert conv(compute, SAME, 2, 2, 0) == [[12.5, 9.5], [15.5, 9.5]]


def test_explicit_padding(compute):
    left, right, top, bottom = 1, 0, 1, 0
    assert conv(compute, left, right, top, bottom, 2, 2, 0) == [[1.5, 5.5], [11.5, 28.5]]


def test_stride_width_comes_first(compute):
    assert conv(compute, VALID, 2, 1, 0) == [[12.5], [24.5]]


def test_the_filter_is_not_flipped(compute):
    assert conv(compute, VALID, 2, 2, 0, filter=((1, 10), (100, 1000))) == [[5421.5]]


def test_dilation_width_comes_first(compute):
    assert conv(compute, VALID, 1, 1, 0, False, 2, 2) == [[20.5]]
    assert conv(compute, VALID, 1, 1, 0, False, 2, 1) == [[14.5], [26.5]]
    assert conv(compute, SAME, 2, 2, 0, False, 2, 2) == [[5.5, 5.5], [5.5, 5.5]]


def test_activation(compute):
    assert conv(compute, VALID, 1, 1, int(FuseCode.RELU6)) == [[6, 6], [6, 6]]


@pytest.mark.parametrize(
    "tail",
    [
        (2, 0, 0, 0, 1, 1, 0),  # padding as large as the filter
        (0, 0, -1, 0, 1, 1, 0),
        (VALID, 0, 1, 0),  # stride
        (VALID, 1, 1, 0, False, 3, 1),  # covers 4 of 3 columns
        (VALID, 1, 1, 4),  # activation
    ],
)
def test_values_that_are_refused(compute, tail):
    with pytest.raises(NnapiError, match=r"^.*CONV_2D \(operation 0\): ") as error:
        conv(compute, *tail)
    assert error.value.code is ResultCode.OP_FAILED


def test_channels(compute):
    image, filter = f16([[[[2, 3]]]]), f16([[[[1, 10]]], [[[100, 1000]]]])
    assert compute(Op.CONV_2D, [image, filter, f16([0, 1]), VALID, 1, 1, 0], f16()) == [
        [[[32, 3200]]]  # 3201, rounded to float16
    ]


def test_nchw(compute):
    image, filter = f32([[[[1, 2]], [[3, 4]]]]), f32([[[[1, 10]]], [[[0, 1]]]])
    assert compute(Op.CONV_2D, [image, filter, f32([0, 0]), VALID, 1, 1, 0, True], f32()) == [
        [[[31, 42]], [[3, 4]]]
    ]


@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        (4, 8),  # 10 quarters: 2.5 is 3
        (-16, 2),  # -10 quarters: -2.5 is -3
        (3, 8),  # 9 quarters: two roundings make 3 of 2.25
        (2, 7),
        (10000, 255),
        (-10000, 0),
    ],
)
def test_quantized_rounding(compute, bias, expected):
    image, filter = qu8([[[[13]]]], 0.5, 10), qu8([[[[4]]]], 0.5, 2)  # 3 * 2 quarters
    operands = [image, filter, i32([bias], 0.25), VALID, 1, 1, 0]
    assert compute(Op.CONV_2D, operands, qu8(None, 1, 5)) == [[[[expected]]]]


def test_quantized_padding_is_the_zero_point(compute):
    image, filter = qu8([[[[11]]]], 1, 10), qu8(np.full((1, 2, 2, 1), 3), 1, 1)
    operands = [image, filter, i32([0], 1), 1, 0, 1, 0, 1, 1, 0]
    assert compute(Op.CONV_2D, operands, qu8(None, 1, 0)) == [[[[2]]]]


def test_quantized_activation(compute):
    image, filter = qs8([[[[100], [-100]]]]), qs8([[[[1]]]])
    operands = [image, filter, i32([0], 1), VALID, 1, 1, int(FuseCode.RELU6)]
    assert compute(Op.CONV_2D, operands, qs8(None, 2, -5)) == [[[[-2], [-5]]]]


def test_per_channel_scales(compute):
    image, filter = qs8([[[[4]]]]), qc8([[[[1]]], [[[1]]], [[[-3]]]], [0.5, 2, 1], 0)
    operands = [image, filter, i32([0, 0, 1]), VALID, 1, 1, 0]
    assert compute(Op.CONV_2D, operands, qs8(None, 1, 1)) == [[[[3, 9, -10]]]]


def test_bias_scale_is_the_product(compute):
    operands = [qu8([[[[1]]]], 0.5), qu8([[[[1]]]], 0.5), i32([0], 0.5), VALID, 1, 1, 0]
    with pytest.raises(NnapiError, match=r"bias .*has scale") as error:
        compute(Op.CONV_2D, operands, qu8())
    assert error.value.code is ResultCode.OP_FAILED


def test_depthwise(compute):
    image, filter = f32([[[[2, 3]]]]), f32([[[[1, 10, 100, 1000]]]])
    operands = [image, filter, f32([0, 1, 2, 3]), VALID, 1, 1, 2, 0]
    assert compute(Op.DEPTHWISE_CONV_2D, operands, f32()) == [[[[2, 21, 302, 3003]]]]


def test_depthwise_same_dilated_nchw(compute):
    image = f32(IMAGE.transpose(0, 3, 1, 2))
    operands = [image, one_filter([[1, 1], [1, 1]]), f32([0]), SAME, 2, 2, 1, 0, True, 2, 2]
    # Padded by 1 on all sides, taps 2 apart: every window sees the centre alone.
    assert compute(Op.DEPTHWISE_CONV_2D, operands, f32()) == [[[[5, 5], [5, 5]]]]


def test_depthwise_per_channel(compute):
    image, filter = qu8([[[[12, 14]]]], 1, 10), qc8([[[[3, -1]]]], [0.5, 2], 3)
    operands = [image, filter, i32([0, 0]), VALID, 1, 1, 1, 0]
    assert compute(Op.DEPTHWISE_CONV_2D, operands, qu8(None, 1, 100)) == [[[[103, 92]]]]


def test_groups_see_their_own_channels(compute):
    image = f32([[[[1, 2, 3, 4]]]])
    filter = f32([[[[1, 10]]], [[[100, 1000]]], [[[1, 10]]], [[[100, 1000]]]])
    operands = [image, filter, f32([0, 0, 0.5, 0]), VALID, 1, 1, 2, 0, False]
    assert compute(Op.GROUPED_CONV_2D, operands, f32()) == [[[[21, 2100, 43.5, 4300]]]]


def test_groups_per_channel_nchw(compute):
    image = qs8([[[[2]], [[3]]]])
    filter = qc8([[[[1]]], [[[1]]]], [1, 2], 0)
    operands = [image, filter, i32([1, 1]), 0, 0, 0, 0, 1, 1, 2, 0, True]
    assert compute(Op.GROUPED_CONV_2D, operands, qs8(None, 1, 10)) == [[[[13]], [[18]]]]


@pytest.mark.parametrize("groups", [0, -1, 3, 4])
def test_groups_divide_the_channels(compute, groups):
    image, filter = f32(np.ones((1, 1, 1, 2))), f32(np.ones((4, 1, 1, 1)))
    operands = [image, filter, f32([0] * 4), VALID, 1, 1, groups, 0, False]
    with pytest.raises(NnapiError) as error:
        compute(Op.GROUPED_CONV_2D, operands, f32())
    assert error.value.code is ResultCode.OP_FAILED


def transposed(compute, image, filter, *tail):
    """Rows of the only channel; `tail` is what follows the bias."""
    image, filter = (f32(np.array(rows)[None, :, :, None]) for rows in (image, filter))
    operands = [image, filter, f32([0.5]), *tail]
    return np.array(compute(Op.TRANSPOSE_CONV_2D, operands, f32()))[0, :, :, 0].tolist()


ROW, TAPS = [[1, 2]], [[1, 10, 100]]


@pytest.mark.parametrize(
    ("stride", "left", "right", "expected"),
    [
        (1, 0, 0, [1.5, 12.5, 120.5, 200.5]),
        (2, 0, 0, [1.5, 10.5, 102.5, 20.5, 200.5]),
        (2, 1, 0, [10.5, 102.5, 20.5, 200.5]),
        (2, 1, 2, [10.5, 102.5]),
        (2, 0, -2, [1.5, 10.5, 102.5, 20.5, 200.5, 0.5, 0.5]),
        (4, 0, 0, [1.5, 10.5, 100.5, 0.5, 2.5, 20.5, 200.5]),
        (4, 3, 0, [0.5, 2.5, 20.5, 200.5]),
    ],
)
def test_transposed_explicit(compute, stride, left, right, expected):
    assert transposed(compute, ROW, TAPS, left, right, 0, 0, stride, 1, 0, False) == [expected]


@pytest.mark.parametrize(
    ("padding", "width", "stride", "expected"),
    [
        (SAME, 4, 2, [1.5, 10.5, 102.5, 20.5]),  # one column is cut off behind
        (SAME, 3, 2, [10.5, 102.5, 20.5]),  # and one in front
        (SAME, 8, 4, [1.5, 10.5, 100.5, 0.5, 2.5, 20.5, 200.5, 0.5]),  # padded by -1 behind
        (SAME, 2, 1, [12.5, 120.5]),
        (VALID, 99, 2, [1.5, 10.5, 102.5, 20.5, 200.5]),
        (7, 1, 1, [1.5, 12.5, 120.5, 200.5]),
    ],
)
def test_transposed_implicit(compute, padding, width, stride, expected):
    tail = (i32([1, 1, width, 1]), padding, stride, 1, 0, False)
    assert transposed(compute, ROW, TAPS, *tail) == [expected]


def test_transposed_height_and_channels(compute):
    image = f32([[[[1, 2]], [[3, 4]]]])  # two rows of one pixel with two channels
    filter = f32([[[[1, 10]], [[0, 1]]], [[[100, 0]], [[0, 0]]]])
    operands = [image, filter, f32([0, 1]), 0, 0, 0, 0, 1, 1, 0, False]
    result = np.array(compute(Op.TRANSPOSE_CONV_2D, operands, f32()))
    assert result.tolist() == [[[[21, 101]], [[43 + 2, 301]], [[4, 1]]]]
    swapped = f32(np.ascontiguousarray(image.array.transpose(0, 3, 1, 2)))
    nchw = compute(Op.TRANSPOSE_CONV_2D, [swapped, *operands[1:-1], True], f32())
    assert nchw == result.transpose(0, 3, 1, 2).tolist()


def test_transposed_quantized(compute):
    image, filter = qu8([[[[12], [9]]]], 1, 10), qc8([[[[3], [-1]]]], [0.5], 0)
    operands = [image, filter, i32([2]), 0, 0, 0, 0, 1, 1, int(FuseCode.RELU), False]
    # Halves: 6 + 2, -3 - 2 + 2, 1 + 2; 1.5 is rounded to 2, -1.5 is cut to 0.
    assert compute(Op.TRANSPOSE_CONV_2D, operands, qu8(None, 1, 100)) == [[[[104], [100], [102]]]]


@pytest.mark.parametrize(
    "tail",
    [
        (-1, 0, 0, 0, 1, 1, 0, False),
        (0, 0, -1, 0, 1, 1, 0, False),
        (2, 2, 0, 0, 1, 1, 0, False),  # nothing is left
        (0, 0, 0, 0, 0, 1, 0, False),
        (i32([1, 1, 2]), SAME, 1, 1, 0, False),
    ],
)
def test_transposed_values_that_are_refused(compute, tail):
    with pytest.raises(NnapiError) as error:
        transposed(compute, ROW, TAPS, *tail)
    assert error.value.code is ResultCode.OP_FAILED
