"""BOX_WITH_NMS_LIMIT and GENERATE_PROPOSALS on the CPU device."""

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.boxes import crowd
from tests.drivers.cpu.elements import refused, same_outputs
from tests.single import f32, i32

OUTPUTS = [f32(), f32(), i32(), i32()]


def boxes(count, classes, kernel=0, limit=-1, threshold=0.1, lowest=0.05, steps=40):
    """Inputs of BOX_WITH_NMS_LIMIT; scores come in steps, so that many are equal."""
    rng = np.random.default_rng(count)
    scores = rng.integers(-9, steps, (count, classes)) / steps
    rois = crowd(rng, (count, classes)).reshape(count, 4 * classes)
    images = np.arange(count) * 3 // max(count, 1)
    return [f32(scores), f32(rois), i32(images), threshold, limit, kernel, 0.3, 0.5, lowest]


@pytest.mark.parametrize("kernel", range(3))
@pytest.mark.parametrize("limit", [-1, 0, 1, 7])
@pytest.mark.parametrize(("count", "classes"), [(1, 2), (3, 50), (25, 18), (200, 4)])
def test_boxes(count, classes, limit, kernel):
    """Fewer and more classes than tiles; lists sorted by insertion and by digits."""
    result = same_outputs(Op.BOX_WITH_NMS_LIMIT, boxes(count, classes, kernel, limit), OUTPUTS)
    assert limit == 0 or len(result[0]) or count < 3


@pytest.mark.parametrize("kernel", range(3))
def test_negative_scores_rise_when_they_are_lowered(kernel):
    """What is selected later may have a higher score."""
    inputs = boxes(60, 4, kernel, threshold=-1.0, lowest=-2.0)
    result = same_outputs(Op.BOX_WITH_NMS_LIMIT, inputs, OUTPUTS)
    assert (result[0] < 0).any()


@pytest.mark.parametrize("kernel", range(3))
def test_boxes_without_area(kernel):
    """Their IoU is NaN, and so is a score that is multiplied by it."""
    inputs = boxes(30, 3, kernel, lowest=0.0)
    inputs[1] = f32(np.tile([5, 5, 5, 5], (30, 3)))
    same_outputs(Op.BOX_WITH_NMS_LIMIT, inputs, OUTPUTS)


def test_no_rois():
    inputs = boxes(0, 3)
    result = same_outputs(Op.BOX_WITH_NMS_LIMIT, inputs, OUTPUTS)
    assert [array.shape for array in result] == [(0,), (0, 4), (0,), (0,)]


@pytest.mark.parametrize("row", [0, 19, 39])
def test_boxes_that_end_before_they_begin(row):
    """Wherever they are, also in the background class."""
    inputs = boxes(40, 3)
    inputs[1].array[row, 0] = 900
    refused(
        rf"box {3 * row} of rois is \[900, .*; x1 <= x2",
        Op.BOX_WITH_NMS_LIMIT,
        inputs,
        OUTPUTS,
    )


def proposals(height, width, count, pre=0, post=-1, batches=1, nchw=False):
    """Inputs of GENERATE_PROPOSALS; scores come in steps, so that many are equal."""
    rng = np.random.default_rng(height * width)
    scores = rng.integers(-20, 20, (batches, height, width, count)).astype(np.float32) / 8
    deltas = rng.normal(0, 0.5, (batches, height, width, 4 * count))
    if nchw:
        scores, deltas = (np.ascontiguousarray(x.transpose(0, 3, 1, 2)) for x in (scores, deltas))
    anchors = crowd(rng, (count,), 30) - 15
    sizes = np.tile([height * 8, width * 8], (batches, 1))
    return [
        f32(scores), f32(deltas), f32(anchors), f32(sizes), 8.0, 8.0, pre, post, 0.5, 2.0, nchw,
    ]  # fmt: skip


@pytest.mark.parametrize("limits", [(0, -1), (50, -1), (0, 9), (50, 9), (10**9, 10**9), (0, 0)])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 8, 1), (5, 5, 1), (9, 11, 4)])
def test_proposals(sizes, limits):
    same_outputs(Op.GENERATE_PROPOSALS, proposals(*sizes, *limits), OUTPUTS[:3])


@pytest.mark.parametrize("nchw", [False, True])
def test_proposals_of_several_images(nchw):
    result = same_outputs(Op.GENERATE_PROPOSALS, proposals(6, 7, 3, 40, 9, 4, nchw), OUTPUTS[:3])
    assert set(result[2]) == {0, 1, 2, 3}


def test_proposals_where_one_image_has_none():
    inputs = proposals(6, 7, 3, batches=3)
    inputs[3].array[1] = 0
    result = same_outputs(Op.GENERATE_PROPOSALS, inputs, OUTPUTS[:3])
    assert set(result[2]) == {0, 2}


def test_bad_proposals():
    inputs = proposals(3, 4, 2, batches=2)
    inputs[0].array[1, 2, 3, 1] = np.nan
    refused("number 47 of scores is NaN", Op.GENERATE_PROPOSALS, inputs, OUTPUTS[:3])
    inputs = proposals(3, 4, 2)
    inputs[2].array[1] = [3, 3, 4, 2]
    refused(r"box 1 of anchors is \[3, 3, 4, 2\]", Op.GENERATE_PROPOSALS, inputs, OUTPUTS[:3])
