"""AXIS_ALIGNED_BBOX_TRANSFORM, DETECTION_POSTPROCESSING and HEATMAP_MAX_KEYPOINT by hand."""

from math import log

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import execute, f32, i32, qu8, tensor

LN2 = log(2)


def qu16(values=None, scale=0.125, zero_point=0):
    return tensor(T.TENSOR_QUANT16_ASYMM, values, scale, zero_point)


def refused(match, function, *arguments):
    with pytest.raises(NnapiError, match=match) as error:
        function(*arguments)
    assert error.value.code is ResultCode.OP_FAILED


# AXIS_ALIGNED_BBOX_TRANSFORM

BOX = [0, 0, 10, 20]


def transform(compute, box, deltas, image=0, sizes=((30, 15), (8, 40))):
    inputs = [f32([box]), f32([deltas]), i32([image]), f32(sizes)]
    return compute(Op.AXIS_ALIGNED_BBOX_TRANSFORM, inputs, f32())


def test_a_box_moves_by_its_size_and_grows_by_powers(compute):
    # Centre (5, 10) + (0.5 * 10, 0); width 20, height 10.
    moved = transform(compute, BOX, [0.5, 0, LN2, -LN2], sizes=[(90, 90)])
    assert moved == [pytest.approx([0, 5, 20, 15])]


def test_boxes_of_all_classes_are_clamped_to_their_image(compute):
    deltas = [0, 0, LN2, LN2, 0, 1, 0, 0]
    assert transform(compute, BOX, deltas, 0) == [[0, 0, 10 + 5, 30, 0, 20, 10, 30]]
    assert transform(compute, BOX, deltas, 1) == [[0, 0, 15, 8, 0, 8, 10, 8]]


def test_transformed_boxes_are_rounded_to_eighths(compute):
    inputs = [qu16([[8, 8, 16, 16]]), qu8([[5, 0, 0, 0]], 1 / 16), i32([0]), qu16([[800, 800]])]
    # dx is 5/16 of a pixel: 2.5 eighths.
    assert compute(Op.AXIS_ALIGNED_BBOX_TRANSFORM, inputs, qu16()) == [[11, 8, 19, 16]]


def test_bad_rois(compute):
    refused("number 0 of batch_index is 2; allowed are 0 to 1", transform, compute, BOX, [0] * 4, 2)
    refused("number 0 of batch_index is -1", transform, compute, BOX, [0] * 4, -1)
    refused("x1 <= x2", transform, compute, [5, 0, 4, 9], [0] * 4)
    refused("x1 <= x2", transform, compute, [0, float("nan"), 4, 9], [0] * 4)
    refused("deltas .*has 6 numbers", transform, compute, BOX, [0] * 6)


def test_quantized_boxes_are_in_eighths(compute):
    inputs = [qu16([[8, 8, 16, 16]], 0.25), qu8([[0] * 4]), i32([0]), qu16([[800, 800]])]
    refused("rois .*has scale", compute, Op.AXIS_ALIGNED_BBOX_TRANSFORM, inputs, qu16())


# DETECTION_POSTPROCESSING

# Two anchors that overlap by 1/3, and one apart; scores of the background and two classes.
ANCHORS = [[5, 5, 10, 10], [5, 10, 10, 10], [50, 50, 10, 10]]
BOXES = [[0, 0, 10, 10], [0, 5, 10, 15], [45, 45, 55, 55]]
SCORES = [[[0.9, 0.5, 0.4], [0.9, 0.6, 0.1], [0.9, 0.2, 0.8]]]


def detect(device, regular, rows=3, each=1, per_class=3, threshold=0.3, iou=0.3, background=False):
    inputs = [
        f32(SCORES), f32([[[0, 0, 0, 0, 7]] * 3]), f32(ANCHORS), 10.0, 10.0, 5.0, 5.0,
        regular, rows, each, per_class, threshold, iou, background,
    ]  # fmt: skip
    outputs = [f32(), f32(), i32(), i32()]
    result = execute(device, Op.DETECTION_POSTPROCESSING, inputs, outputs)
    scores, boxes, classes, (count,) = (array.tolist() for array in result)
    return scores[0], boxes[0], classes[0], count


def test_regular_suppression_is_by_class(device):
    scores, boxes, classes, count = detect(device, True, rows=4)
    assert scores == pytest.approx([0.8, 0.6, 0.4, 0])
    assert boxes == [BOXES[2], BOXES[1], BOXES[0], [0] * 4]
    assert classes == [1, 0, 1, 0]
    assert count == 3


def test_boxes_of_a_class_suppress_from_the_threshold_on(device):
    # Their IoU is 50 / 150.
    assert detect(device, True, iou=0.334)[3] == 3
    assert detect(device, True, rows=9, iou=0.334)[3] == 4
    assert detect(device, True, rows=9, iou=1 / 3)[3] == 3


def test_limits_of_regular_suppression(device):
    assert detect(device, True, rows=2)[0] == pytest.approx([0.8, 0.6])
    assert detect(device, True, rows=9, per_class=1)[0][:3] == pytest.approx([0.8, 0.6, 0])


def test_fast_suppression_is_by_the_best_class(device):
    scores, boxes, classes, count = detect(device, False, each=3, background=True)
    # Of each of two anchors both classes, also below the threshold; room for three classes.
    assert scores == pytest.approx([0.8, 0.2, 0.6, 0.1] + [0] * 5)
    assert boxes == [BOXES[2]] * 2 + [BOXES[1]] * 2 + [[0] * 4] * 5
    assert classes == [2, 1, 1, 2] + [0] * 5
    assert count == 4


def test_a_threshold_is_not_a_score_that_counts(device):
    assert detect(device, False, threshold=0.8)[3] == 0


def test_deltas_are_divided_by_their_scales(device):
    inputs = [
        f32([[[0, 1]]]), f32([[[1, 2, LN2, -LN2]]]), f32([[5, 6, 10, 20]]), 10.0, 4.0, 1.0, 1.0,
        True, 1, 1, 1, 0.0, 0.5, False,
    ]  # fmt: skip
    result = execute(device, Op.DETECTION_POSTPROCESSING, inputs, [f32(), f32(), i32(), i32()])
    # Centre (5 + 10 / 10, 6 + 20 * 2 / 4), size (20, 10).
    assert result[1].tolist() == [[pytest.approx([-4, 11, 16, 21])]]


def test_limits_that_are_used_are_positive(device):
    detect(device, True, each=0)
    detect(device, False, per_class=0)
    refused("max_detections_per_class .*is 0", detect, device, True, 3, 1, 0)
    refused("max_classes_per_detection .*is 0", detect, device, False, 3, 0)
    refused("iou_threshold .*is -1", detect, device, True, 3, 1, 3, 0.3, -1.0)


# HEATMAP_MAX_KEYPOINT


def keypoint(device, heatmap, box=(10, 20, 40, 50)):
    size = len(heatmap)
    inputs = [f32([[[[x] for x in row] for row in heatmap]]), f32([box]), False]
    assert inputs[0].array.shape == (1, size, size, 1)
    scores, points = execute(device, Op.HEATMAP_MAX_KEYPOINT, inputs, [f32(), f32()])
    return scores.item(), points[0, 0].tolist()


def test_the_maximum_of_a_parabola(device):
    heatmap = [[10 - (x - 1.25) ** 2 - (y - 1) ** 2 for x in range(3)] for y in range(3)]
    score, point = keypoint(device, heatmap)
    assert score == pytest.approx(10)
    assert point == pytest.approx([10 + 1.75 / 3 * 30, 20 + 1.5 / 3 * 30])


def test_the_first_of_equal_maxima_without_curvature(device):
    assert keypoint(device, [[3, 3], [3, 3]]) == (3, [10 + 0.5 / 2 * 30, 20 + 0.5 / 2 * 30])


def test_the_map_is_mirrored_at_its_border(device):
    # Both neighbours of a column are the other one.
    assert keypoint(device, [[0, 0], [4, 0]]) == (4, [17.5, 42.5])


def test_an_extremum_far_away_is_cut(device):
    # b = (1/4, 1/4), A = [[-1, 0.9], [0.9, -1]]: the extremum is 2.5 to the upper left.
    heatmap = [[-0.2, -0.25, -1.9], [-0.25, 0, -0.75], [-1.9, -0.75, 0]]
    score, point = keypoint(device, heatmap, (0, 0, 3, 3))
    assert score == pytest.approx(0.525)
    assert point == pytest.approx([0, 0], abs=1e-6)


def test_keypoint_scores_are_requantized(device):
    inputs = [qu8([[[[13], [10]], [[10], [10]]]], 0.5, 10), qu16([[0, 0, 16, 16]]), False]
    outputs = [qu8(None, 0.25, 5), qu16()]
    scores, points = execute(device, Op.HEATMAP_MAX_KEYPOINT, inputs, outputs)
    assert scores.tolist() == [[11]]
    assert points.tolist() == [[[4, 4]]]


def test_bad_heatmaps(device):
    refused("x1 <= x2", keypoint, device, [[1, 0], [0, 0]], (5, 0, 4, 9))
    refused("1 x 1", keypoint, device, [[1]])
