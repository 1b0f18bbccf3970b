"""BOX_WITH_NMS_LIMIT and GENERATE_PROPOSALS by hand."""

from math import exp, nan

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.hal.enums import ResultCode
from tests.single import execute, f32, i32

HARD, LINEAR, GAUSSIAN = range(3)


def refused(match, function, *arguments, **named):
    with pytest.raises(NnapiError, match=match) as error:
        function(*arguments, **named)
    assert error.value.code is ResultCode.OP_FAILED


# BOX_WITH_NMS_LIMIT

# IoU of the first two: 50 / 150; the third is apart.
BOXES = [[0, 0, 10, 10], [5, 0, 15, 10], [50, 0, 60, 10]]


def select(
    device, scores, boxes=BOXES, images=None, threshold=0.0, limit=-1, kernel=HARD,
    iou=0.3, sigma=0.5, lowest=0.01,
):  # fmt: skip
    """Rows (image, class, box, score). scores: of the classes behind the background."""
    classes = len(scores[0]) + 1
    inputs = [
        f32([[9, *row] for row in scores]),
        f32([box * classes for box in boxes]),
        i32(images or [0] * len(scores)),
        threshold, limit, kernel, iou, sigma, lowest,
    ]  # fmt: skip
    outputs = [f32(), f32(), i32(), i32()]
    result = execute(device, Op.BOX_WITH_NMS_LIMIT, inputs, outputs)
    scores, rois, classes, batches = (array.tolist() for array in result)
    return [
        (batch, label, boxes.index(roi), round(score, 5))
        for batch, label, roi, score in zip(batches, classes, rois, scores, strict=True)
    ]


def test_each_class_is_on_its_own_and_the_background_none(device):
    scores = [[0.5, 0.7], [0.6, 0.4], [0.3, 0.1]]
    assert select(device, scores) == [
        (0, 1, 1, 0.6),
        (0, 1, 2, 0.3),
        (0, 2, 0, 0.7),
        (0, 2, 2, 0.1),
    ]


def test_kernels_lower_scores(device):
    scores = [[0.5], [0.75], [0.25]]
    kept, apart = (0, 1, 1, 0.75), (0, 1, 2, 0.25)
    assert select(device, scores, kernel=HARD) == [kept, apart]
    assert select(device, scores, kernel=HARD, iou=0.5) == [kept, (0, 1, 0, 0.5), apart]
    lowered = (0, 1, 0, round(0.5 * (1 - 1 / 3), 5))
    assert select(device, scores, kernel=LINEAR) == [kept, lowered, apart]
    lowered = (0, 1, 0, round(0.5 * exp(-(1 / 9) / 0.5), 5))
    assert select(device, scores, kernel=GAUSSIAN) == [kept, lowered, apart]


def test_suppressed_boxes_stay_with_score_0_where_0_is_enough(device):
    result = select(device, [[0.5], [0.75], [0.25]], lowest=0.0)
    assert result == [(0, 1, 1, 0.75), (0, 1, 2, 0.25), (0, 1, 0, 0.0)]


def test_scores_below_the_lowest_go_when_something_is_selected(device):
    # The one that is selected first is not compared with it.
    assert select(device, [[0.5], [0.1], [0.3]], lowest=0.4) == [(0, 1, 0, 0.5)]
    assert select(device, [[0.1], [0.1], [0.3]], lowest=0.4) == [(0, 1, 2, 0.3)]


def test_the_limit_holds_for_a_class_and_for_an_image(device):
    scores = [[0.5, 0.7], [0.6, 0.4], [0.3, 0.65]]
    assert select(device, scores, limit=2) == [(0, 2, 0, 0.7), (0, 2, 2, 0.65)]
    assert select(device, scores, limit=0) == []


def test_of_equal_scores_the_first_counts(device):
    assert select(device, [[0.5], [0.5], [0.5]], limit=1) == [(0, 1, 0, 0.5)]
    # Of two classes the lower one.
    assert select(device, [[0.5, 0.5]], BOXES[:1], limit=1) == [(0, 1, 0, 0.5)]


def test_images_are_runs_of_equal_indexes(device):
    result = select(device, [[0.1], [0.2], [0.3]], images=[7, 7, -2])
    assert result == [(7, 1, 1, 0.2), (-2, 1, 2, 0.3)]


def test_a_score_has_to_be_greater_than_the_threshold(device):
    assert select(device, [[0.25], [nan], [0.5]], threshold=0.25) == [(0, 1, 2, 0.5)]
    assert select(device, [[0.25], [nan], [0.5]], threshold=0.5) == []


def test_no_boxes_are_empty_outputs(device):
    inputs = [f32([[0.9, 0.1]]), f32([BOXES[0] * 2]), i32([0]), 0.5, 9, 0, 0.5, 0.5, 0.5]
    result = execute(device, Op.BOX_WITH_NMS_LIMIT, inputs, [f32(), f32(), i32(), i32()])
    assert [array.shape for array in result] == [(0,), (0, 4), (0,), (0,)]


def test_bad_boxes_and_kernels(device):
    refused("x1 <= x2", select, device, [[0.5]], [[5, 0, 4, 9]])
    refused("nms_kernel .*is 3; allowed are 0", select, device, [[0.5]], BOXES[:1], kernel=3)
    refused("scores .*has 1 classes", select, device, [[]], BOXES[:1])


# GENERATE_PROPOSALS

ANCHOR = [-4, -4, 4, 4]


def propose(
    device, scores, anchors=(ANCHOR,), pre=0, post=-1, iou=0.5, min_size=0.0, deltas=None,
    size=(100, 100),
):  # fmt: skip
    """(scores, boxes) of one row of a feature map, 10 pixels apart."""
    count = len(anchors)
    inputs = [
        f32([[scores]]),
        f32([[deltas or [[0] * 4 * count for _ in scores]]]),
        f32(list(anchors)),
        f32([size]),
        20.0, 10.0, pre, post, iou, min_size, False,
    ]  # fmt: skip
    result = execute(device, Op.GENERATE_PROPOSALS, inputs, [f32(), f32(), i32()])
    assert result[2].tolist() == [0] * len(result[0])
    return result[0].tolist(), result[1].tolist()


def test_anchors_are_shifted_and_clamped(device):
    scores, boxes = propose(device, [[1], [3], [2]])
    assert scores == [3, 2, 1]
    assert boxes == [[6, 0, 14, 4], [16, 0, 24, 4], [0, 0, 4, 4]]


def test_anchors_of_a_point_follow_each_other(device):
    wide = [-8, -1, 8, 1]
    _, boxes = propose(device, [[1, 4], [3, 2]], [ANCHOR, wide])
    assert boxes == [[0, 0, 8, 1], [6, 0, 14, 4], [2, 0, 18, 1], [0, 0, 4, 4]]


def test_deltas_belong_to_anchors(device):
    deltas = [[0, 1, 0, 0], [0.5, 1, 0, 0]]
    assert propose(device, [[2], [1]], deltas=deltas)[1] == [[0, 4, 4, 12], [10, 4, 18, 12]]


def test_limits_before_and_after_suppression(device):
    # The two best are the same box.
    deltas = [[1, 0, 0, 0], [-0.25, 0, 0, 0], [0] * 4]
    assert propose(device, [[3], [2], [1]], deltas=deltas)[0] == [3, 1]
    assert propose(device, [[3], [2], [1]], deltas=deltas, pre=2)[0] == [3]
    assert propose(device, [[3], [2], [1]], deltas=deltas, post=1)[0] == [3]
    assert propose(device, [[3], [2], [1]], post=0) == ([], [])


def test_boxes_have_to_be_larger_than_the_least_size(device):
    # The first is cut to 4 x 4, the others to 8 x 4.
    assert propose(device, [[3], [2], [1]], min_size=3.9)[0] == [3, 2, 1]
    assert propose(device, [[3], [2], [1]], min_size=4.0)[0] == []


def test_boxes_have_to_be_centred_in_the_image(device):
    # The last has the centre 12 + 2 / 2 after it is clamped, in an image 14 wide.
    assert propose(device, [[3], [2]], size=(100, 14))[0] == [3, 2]
    assert propose(device, [[3], [2]], size=(100, 0))[0] == []


def test_several_images_and_the_other_layout(device):
    scores = [[[[1, 2]]], [[[4, 3]]]]
    deltas = [[[[0, 0]] for _ in range(4)] for _ in range(2)]
    inputs = [
        f32(scores), f32(deltas), f32([ANCHOR]), f32([[50, 50], [3, 50]]),
        20.0, 10.0, 0, -1, 0.5, 0.0, True,
    ]  # fmt: skip
    result = execute(device, Op.GENERATE_PROPOSALS, inputs, [f32(), f32(), i32()])
    assert result[0].tolist() == [2, 1, 4, 3]
    assert result[1].tolist() == [[6, 0, 14, 4], [0, 0, 4, 4], [0, 0, 4, 3], [6, 0, 14, 3]]
    assert result[2].tolist() == [0, 0, 1, 1]


def test_bad_proposals(device):
    refused("NaN", propose, device, [[nan]])
    refused("x1 <= x2", propose, device, [[1]], [[1, 0, 0, 1]])
