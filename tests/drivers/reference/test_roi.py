"""ROI_ALIGN and ROI_POOLING by hand."""

from math import inf, nan

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import f32, i32, q16, qu8, tensor


def image(rows):
    return [[[x] for x in row] for row in rows]


def flat(rows):
    return [[x for (x,) in row] for row in rows]


FOUR = image([[1, 2], [3, 4]])


def refused(match, function, *arguments, **named):
    with pytest.raises(NnapiError, match=match) as error:
        function(*arguments, **named)
    assert error.value.code is ResultCode.OP_FAILED


# ROI_ALIGN


def align(compute, feature_map, roi, out=(1, 1), strides=(1.0, 1.0), ratios=(1, 1), batch=0):
    inputs = [f32([feature_map]), f32([roi]), i32([batch]), *out, *strides, *ratios, False]
    (result,) = compute(Op.ROI_ALIGN, inputs, f32())
    return flat(result)


def test_a_sample_lies_between_four_points(compute):
    assert align(compute, FOUR, [0, 0, 1, 1]) == [[2.5]]
    assert align(compute, FOUR, [0, 0, 1, 0]) == [[1.5 + 2 * 0.5]]  # at least 1 high


def test_quantized_weights_have_steps(compute):
    # Both weights are 1/2, over 1/255 in float32 less than 127.5: 127 steps.
    inputs = [qu8([image([[255, 255]])], 0.5), q16([[0, 0, 8, 0]], 0.125), i32([0]), 1, 1]
    inputs += [1.0, 1.0, 1, 1, False]
    assert compute(Op.ROI_ALIGN, inputs, qu8(None, 0.5)) == [[[[254]]]]


def test_samples_at_and_behind_the_last_point_stick_to_it(compute):
    assert align(compute, FOUR, [0, 0, 2, 2]) == [[4]]
    assert align(compute, FOUR, [2, 1, 2, 1]) == [[4]]


def test_corners_are_divided_by_strides_height_first(compute):
    assert align(compute, FOUR, [0, 0, 4, 8], (1, 1), (8.0, 4.0)) == [[2.5]]


def test_samples_per_bin(compute):
    ramp = image([range(9)] * 2)
    # Bins of 4: samples at their centre; at 1 and 3; or as many as points.
    assert align(compute, ramp, [0, 0, 8, 1], (1, 2)) == [[2, 6]]
    assert align(compute, ramp, [0, 0, 8, 1], (1, 2), ratios=(1, 2)) == [[2, 6]]
    squares = image([[x * x for x in range(9)]] * 2)
    assert align(compute, squares, [0, 0, 8, 1], (1, 2), ratios=(1, 2)) == [[5, 37]]
    assert align(compute, squares, [0, 0, 8, 1], (1, 2), ratios=(1, 0)) == [[5.5, 37.5]]


def test_align_quantized_has_parameters_of_its_own(compute):
    rois = tensor(T.TENSOR_QUANT16_ASYMM, [[0, 0, 8, 8]], 0.125)
    inputs = [qu8([FOUR], 0.5, 1), rois, i32([0]), 1, 1, 1.0, 1.0, 1, 1, False]
    # 2.5 raw is 0.75.
    assert compute(Op.ROI_ALIGN, inputs, qu8(None, 0.25, 10)) == [[[[13]]]]
    refused("output .*has scale 0.0019", compute, Op.ROI_ALIGN, inputs, qu8(None, 0.0019, 10))


def test_bad_rois(compute):
    refused("it must lie in the feature map", align, compute, FOUR, [0, 0, 2.5, 1])
    refused("it must lie in the feature map", align, compute, FOUR, [-1, 0, 1, 1])
    refused("it must lie in the feature map", align, compute, FOUR, [0, 0, 1, inf])
    refused("x1 <= x2", align, compute, FOUR, [1, 0, 0.5, 1])
    refused("x1 <= x2", align, compute, FOUR, [nan, 0, 0.5, 1])
    refused("batch_index .*is", align, compute, FOUR, [0, 0, 1, 1], batch=1)
    refused("height_stride .*is 0", align, compute, FOUR, [0, 0, 1, 1], strides=(0.0, 1.0))
    refused("out_width .*is 0", align, compute, FOUR, [0, 0, 1, 1], out=(1, 0))
    refused("width_sampling_ratio .*is -1", align, compute, FOUR, [0, 0, 1, 1], ratios=(1, -1))


# ROI_POOLING

NINE = image([[9, 2, 3], [4, 5, 6], [7, 8, 1]])


def pool(compute, roi, out=(1, 1), strides=(1.0, 1.0)):
    inputs = [f32([NINE]), f32([roi]), i32([0]), *out, *strides, False]
    (result,) = compute(Op.ROI_POOLING, inputs, f32())
    return flat(result)


def test_corners_are_rounded_and_included(compute):
    assert pool(compute, [1, 1, 2, 2]) == [[8]]
    assert pool(compute, [0.49, 0.5, 0.5, 1.4]) == [[5]]
    assert pool(compute, [2, 2, 4, 4], strides=(2.0, 4.0)) == [[8]]


def test_bins_overlap_where_they_do_not_divide_evenly(compute):
    assert pool(compute, [0, 0, 2, 2], (2, 2)) == [[9, 6], [8, 8]]


def test_an_empty_bin_is_0(compute):
    assert pool(compute, [3, 3, 3, 3]) == [[0]]
    assert pool(compute, [2, 2, 3, 3], (2, 2)) == [[1, 0], [0, 0]]
    rois = tensor(T.TENSOR_QUANT16_ASYMM, [[24, 24, 24, 24]], 0.125)
    inputs = [qu8([NINE], 0.5, 7), rois, i32([0]), 1, 1, 1.0, 1.0, False]
    assert compute(Op.ROI_POOLING, inputs, qu8(None, 0.5, 7)) == [[[[7]]]]


def test_bad_rois_of_pooling(compute):
    refused("it must lie in the feature map", pool, compute, [0, 0, 3.5, 1])
    refused("x1 <= x2", pool, compute, [0, 1, 1, 0])
