"""Examples of the proposal family."""

from typing import TYPE_CHECKING

import numpy as np

from tests.operations.plans.boxes import EIGHTH, corners, images, real_tensor, type_of
from tests.operations.plans.common import Plan, Random, pick

if TYPE_CHECKING:
    from tests.operations.cases import Use


def suppressed(use: "Use", rng: Random, batch: int) -> Plan:
    """Boxes that overlap, scores of which many are equal, some of them negative."""
    count, classes = batch * pick(rng, (1, 4, 25)), pick(rng, (2, 3, 8))
    scores = rng.integers(-5, 60, (count, classes)) / 64
    boxes = corners(rng, (count, classes), 12, 9).reshape(count, 4 * classes)
    return {
        "scores": real_tensor(type_of(use, "scores"), scores, 1 / 64, 9),
        "rois": real_tensor(type_of(use, "rois"), boxes, EIGHTH),
        "batch_index": images(rng, count, 3),
        "score_threshold": pick(rng, (-1, 0, 1)) / 4,
        "max_num_detections": pick(rng, (-1, 0, 1, 6, 200)),
        "nms_kernel": pick(rng, range(3)),
        "iou_threshold": rng.uniform(0.1, 0.7),
        "sigma": rng.uniform(0.2, 1),
        "nms_score_threshold": pick(rng, (-1, 0, 1)) / 8,
    }


def proposals(use: "Use", rng: Random, batch: int) -> Plan:
    """Anchors around the origin, scores of which many are equal."""
    height, width, count = pick(rng, (1, 4)), pick(rng, (1, 5)), pick(rng, (1, 3))
    nchw = bool(rng.integers(2))
    scores = rng.integers(-9, 60, (batch, height, width, count)) / 64
    deltas = rng.uniform(-1, 1, (batch, height, width, 4 * count))
    if nchw:
        scores, deltas = scores.transpose(0, 3, 1, 2), deltas.transpose(0, 3, 1, 2)
    halves = rng.uniform(1, 9, (count, 2))
    anchors = np.concatenate([-halves, halves], 1)
    return {
        "scores": real_tensor(type_of(use, "scores"), scores, 1 / 64, 9),
        "deltas": real_tensor(type_of(use, "deltas"), deltas, 0.01, 100),
        "anchors": real_tensor(type_of(use, "anchors"), anchors, EIGHTH),
        "image_info": real_tensor(
            type_of(use, "image_info"), rng.integers(10, 40, (batch, 2)), EIGHTH
        ),
        "height_stride": 8.0,
        "width_stride": 7.0,
        "pre_nms_top_n": pick(rng, (-1, 0, 1, 9, 500)),
        "post_nms_top_n": pick(rng, (-1, 0, 1, 9, 500)),
        "iou_threshold": rng.uniform(0.1, 0.7),
        "min_size": rng.uniform(0, 5),
        "nchw": nchw,
    }


PLANS = {"BOX_WITH_NMS_LIMIT": suppressed, "GENERATE_PROPOSALS": proposals}
