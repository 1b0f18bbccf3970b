"""AXIS_ALIGNED_BBOX_TRANSFORM, DETECTION_POSTPROCESSING, HEATMAP_MAX_KEYPOINT on the CPU device."""

import numpy as np
import pytest

from nnapi_shim.hal.enums import OperationType as Op
from tests.drivers.cpu.boxes import crowd
from tests.drivers.cpu.elements import refused, same_outputs
from tests.single import f32, i32


@pytest.mark.parametrize(("count", "classes"), [(1, 1), (4000, 1), (3, 1300), (40, 33)])
def test_transform_in_tiles(count, classes):
    rng = np.random.default_rng(count)
    deltas = rng.normal(0, 1, (count, 4 * classes))
    images = np.arange(count) * 3 // count
    inputs = [f32(crowd(rng, (count,))), f32(deltas), i32(images), f32([[90, 80]] * 3)]
    same_outputs(Op.AXIS_ALIGNED_BBOX_TRANSFORM, inputs, [f32()])


@pytest.mark.parametrize("scale", [0, 100, 800, -800])
def test_transform_with_extreme_sizes(scale):
    deltas = f32([[0.1, -0.1, scale, -scale]])
    inputs = [f32([[1, 2, 3, 5]]), deltas, i32([0]), f32([[9, 9]])]
    same_outputs(Op.AXIS_ALIGNED_BBOX_TRANSFORM, inputs, [f32()])


@pytest.mark.parametrize("image", [-1, 3, 2**31 - 1, -(2**31)])
def test_transform_refuses_images_that_are_not_there(image):
    inputs = [f32([[0, 0, 1, 1]] * 2), f32([[0] * 4] * 2), i32([0, image]), f32([[9, 9]] * 3)]
    refused(
        f"number . of batch_index is {image}; allowed are 0 to",
        Op.AXIS_ALIGNED_BBOX_TRANSFORM,
        inputs,
        [f32()],
    )


def detections(rng, batches, anchors, classes, regular, threshold=0.2, per_class=100, rows=50):
    """Inputs of DETECTION_POSTPROCESSING; scores come in steps, so that many are equal."""
    scores = rng.integers(0, 40, (batches, anchors, classes)) / 40
    deltas = rng.normal(0, 1, (batches, anchors, 4))
    places = np.concatenate([rng.uniform(0, 9, (anchors, 2)), rng.uniform(1, 4, (anchors, 2))], 1)
    return [
        f32(scores), f32(deltas), f32(places), 10.0, 10.0, 5.0, 5.0,
        regular, rows, 3, per_class, threshold, 0.4, False,
    ]  # fmt: skip


@pytest.mark.parametrize("regular", [True, False])
@pytest.mark.parametrize(
    ("batches", "anchors", "classes"), [(1, 1, 2), (2, 24, 3), (3, 25, 2), (2, 700, 40), (1, 9, 90)]
)
def test_detections(regular, batches, anchors, classes):
    rng = np.random.default_rng(anchors)
    inputs = detections(rng, batches, anchors, classes, regular)
    outputs = [f32(), f32(), i32(), i32()]
    result = same_outputs(Op.DETECTION_POSTPROCESSING, inputs, outputs)
    assert (result[3] > 0).any()


@pytest.mark.parametrize("regular", [True, False])
def test_scores_without_a_rank_are_below_all_others(regular):
    rng = np.random.default_rng(3)
    inputs = detections(rng, 2, 60, 5, regular, threshold=0.0)
    scores = inputs[0].array
    scores[rng.random(scores.shape) < 0.3] = np.nan
    scores[rng.random(scores.shape) < 0.3] = -0.0
    scores[rng.random(scores.shape) < 0.1] = np.inf
    same_outputs(Op.DETECTION_POSTPROCESSING, inputs, [f32(), f32(), i32(), i32()])


@pytest.mark.parametrize("nchw", [False, True])
@pytest.mark.parametrize("size", [2, 3, 16, 17, 40])
def test_keypoints(size, nchw):
    """Maps of more than one block, most of the maxima not unique."""
    rng = np.random.default_rng(size)
    maps = rng.integers(0, 5 if size < 20 else 200, (2, 3, size, size)).astype(np.float32)
    maps[0, 0] = -np.inf
    maps[0, 1, -1, -1] = 500
    maps[1, 2, 0, :] = np.nan
    arranged = maps if nchw else np.ascontiguousarray(maps.transpose(0, 2, 3, 1))
    inputs = [f32(arranged), f32([[0, 0, 10, 10], [3, 4, 3, 9]]), nchw]
    same_outputs(Op.HEATMAP_MAX_KEYPOINT, inputs, [f32(), f32()])


def test_keypoints_refuse_boxes_that_end_before_they_begin():
    inputs = [f32(np.zeros((2, 2, 2, 1))), f32([[0, 0, 1, 1], [0, 2, 1, 1]]), False]
    message = r"box 1 of boxes is \[0, 2, 1, 1\]; x1 <= x2 and y1 <= y2 must hold"
    refused(message, Op.HEATMAP_MAX_KEYPOINT, inputs, [f32(), f32()])
