"""Examples of the detection family."""

from typing import TYPE_CHECKING

import numpy as np

from tests.operations.plans.boxes import EIGHTH, corners, images, real_tensor, type_of
from tests.operations.plans.common import Plan, Random, pick

if TYPE_CHECKING:
    from tests.operations.cases import Use


def transform(use: "Use", rng: Random, batch: int) -> Plan:
    """Rois in several images; deltas that leave most boxes inside."""
    count, classes, batches = batch * pick(rng, (1, 3, 20)), pick(rng, (1, 2, 7)), 3
    deltas = rng.uniform(-1, 1, (count, 4 * classes))
    return {
        "rois": real_tensor(type_of(use, "rois"), corners(rng, (count,), 90, 60), EIGHTH),
        "deltas": real_tensor(type_of(use, "deltas"), deltas, 0.01, 3),
        "batch_index": images(rng, count, batches),
        "image_info": real_tensor(
            type_of(use, "image_info"), rng.integers(50, 90, (batches, 2)), EIGHTH
        ),
    }


def postprocessing(use: "Use", rng: Random, batch: int) -> Plan:
    """Anchors that overlap, scores of which many are equal."""
    anchors, classes = pick(rng, (1, 5, 60)), pick(rng, (2, 3, 8))
    centres, sizes = rng.uniform(0, 8, (anchors, 2)), rng.uniform(1, 4, (anchors, 2))
    type = type_of(use, "scores")
    return {
        "scores": real_tensor(type, rng.integers(0, 30, (batch, anchors, classes)) / 32),
        "deltas": real_tensor(type, rng.uniform(-2, 2, (batch, anchors, pick(rng, (4, 6))))),
        "anchors": real_tensor(type, np.concatenate([centres, sizes], 1)),
        "scale_dy": 10.0,
        "scale_dx": 8.0,
        "scale_dh": 5.0,
        "scale_dw": 4.0,
        "use_regular_nms": bool(rng.integers(2)),
        "max_num_detections": pick(rng, (1, 4, 30)),
        "max_classes_per_detection": pick(rng, (1, 2, 9)),
        "max_detections_per_class": pick(rng, (1, 3, 100)),
        "score_threshold": pick(rng, (0, 1, 3)) / 4,
        "iou_threshold": rng.uniform(0.1, 0.7),
        "is_background_in_label": bool(rng.integers(2)),
    }


def keypoints(use: "Use", rng: Random, batch: int) -> Plan:
    """Square maps; in some all values are equal."""
    size, count = pick(rng, (2, 3, 9, 20)), pick(rng, (1, 2, 17))
    nchw = bool(rng.integers(2))
    maps = rng.uniform(-1, 1, (batch, count, size, size))
    maps[:, 0] *= rng.integers(2)
    if not nchw:
        maps = maps.transpose(0, 2, 3, 1)
    return {
        "heatmaps": real_tensor(type_of(use, "heatmaps"), maps, 0.01, 10),
        "boxes": real_tensor(type_of(use, "boxes"), corners(rng, (batch,), 90, 60), EIGHTH),
        "nchw": nchw,
    }


PLANS = {
    "AXIS_ALIGNED_BBOX_TRANSFORM": transform,
    "DETECTION_POSTPROCESSING": postprocessing,
    "HEATMAP_MAX_KEYPOINT": keypoints,
}
