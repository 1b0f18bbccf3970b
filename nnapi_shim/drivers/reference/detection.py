"""AXIS_ALIGNED_BBOX_TRANSFORM DETECTION_POSTPROCESSING HEATMAP_MAX_KEYPOINT."""

from typing import Any

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.boxes import (
    check_corners,
    check_indexes,
    reals,
    stored,
    transformed,
)
from nnapi_shim.drivers.reference.deadline import watched
from nnapi_shim.drivers.reference.suppression import hard_nms, ranked
from nnapi_shim.operations.declare import BoundOperation


def axis_aligned_bbox_transform(op: BoundOperation) -> list[Array]:
    """Each roi transformed by the deltas of each class, within the image that it belongs to."""
    rois, images = reals(op.rois), op.batch_index.value
    check_indexes(images, "batch_index", len(op.image_info.value))
    check_corners(rois, "rois")
    deltas = reals(op.deltas).reshape(len(rois), op.deltas.dimensions[1] // 4, 4)
    boxes = transformed(rois[:, None], deltas, reals(op.image_info)[images][:, None])
    return [stored(boxes.reshape(op.deltas.dimensions), op.boxes)]


# DETECTION_POSTPROCESSING


def detection_postprocessing(op: BoundOperation) -> list[Array]:
    """Per image: boxes from anchors and deltas; hard NMS per class, or of the best classes.

    Unused rows are 0. Labels are class - 1, or, with is_background_in_label,
    the class.
    """
    scores, boxes = reals(op.scores), _decoded(op)
    batches = len(scores)
    rows = op.max_num_detections
    if not op.use_regular_nms:
        rows *= op.max_classes_per_detection
    out_scores = np.zeros((batches, rows), np.float32)
    out_boxes = np.zeros((batches, rows, 4), np.float32)
    out_classes = np.zeros((batches, rows), np.int32)
    counts = np.zeros(batches, np.int32)
    detect = _per_class if op.use_regular_nms else _best_classes
    for image in range(batches):
        anchors, classes = detect(op, scores[image], boxes[image])
        count = counts[image] = len(anchors)
        out_scores[image, :count] = scores[image, anchors, classes]
        out_boxes[image, :count] = boxes[image, anchors]
        out_classes[image, :count] = classes - (not op.is_background_in_label)
    return [stored(out_scores, op.out_scores), stored(out_boxes, op.out_boxes), out_classes, counts]


def _decoded(op: BoundOperation) -> Array:
    """Boxes y1, x1, y2, x2 around ay + ah * dy / scale_y, half ah * exp(dh / scale_h) high.

    x and the width likewise; in float64, rounded to float32.
    """
    ay, ax, ah, aw = np.moveaxis(reals(op.anchors).astype(np.float64), -1, 0)
    deltas = reals(op.deltas)[..., :4].astype(np.float64)
    dy, dx, dh, dw = np.moveaxis(deltas, -1, 0)
    y, x = ay + ah * dy / op.scale_dy, ax + aw * dx / op.scale_dx
    half_h, half_w = ah * np.exp(dh / op.scale_dh) / 2, aw * np.exp(dw / op.scale_dw) / 2
    return np.stack([y - half_h, x - half_w, y + half_h, x + half_w], -1).astype(np.float32)


def _per_class(op: BoundOperation, scores: Array, boxes: Array) -> tuple[Array, Array]:
    """Anchors and classes: suppression in each class 1.., the best of all classes together."""
    anchors, classes = [], []
    for label in range(1, scores.shape[1]):
        candidates = np.flatnonzero(scores[:, label] > np.float32(op.score_threshold))
        kept = hard_nms(
            scores[candidates, label],
            boxes[candidates],
            op.iou_threshold,
            op.max_detections_per_class,
        )
        anchors += candidates[kept].tolist()
        classes += [label] * len(kept)
    rows, labels = np.array(anchors, np.int64), np.array(classes, np.int64)
    best = ranked(scores[rows, labels])[: op.max_num_detections]
    return rows[best], labels[best]


def _best_classes(op: BoundOperation, scores: Array, boxes: Array) -> tuple[Array, Array]:
    """Anchors and classes: one suppression by the best class; then the best classes of each."""
    order = np.apply_along_axis(ranked, 1, scores[:, 1:]) + 1
    best = np.take_along_axis(scores, order[:, :1], 1)[:, 0]
    candidates = np.flatnonzero(best > np.float32(op.score_threshold))
    kept = candidates[
        hard_nms(best[candidates], boxes[candidates], op.iou_threshold, op.max_num_detections)
    ]
    classes = order[kept, : op.max_classes_per_detection]
    return np.repeat(kept, classes.shape[1]), classes.reshape(-1)


# HEATMAP_MAX_KEYPOINT

TOLERANCE = {"f16": 1e-3}
"""Threshold below which a determinant counts as 0, if it is not 1e-5."""


def heatmap_max_keypoint(op: BoundOperation) -> list[Array]:
    """Per box and keypoint the first maximum of the map, moved by `_refined`.

    x = x1 + (column + dx + 1/2) / size * (x2 - x1), y likewise. In float32.
    """
    maps, boxes = reals(op.heatmaps), reals(op.boxes)
    if not op.nchw:
        maps = maps.transpose(0, 3, 1, 2)
    check_corners(boxes, "boxes")
    count, keypoints, size, _ = maps.shape
    scores = np.empty((count, keypoints), np.float32)
    points = np.empty((count, keypoints, 2), np.float32)
    tolerance = np.float32(TOLERANCE.get(op.variant, 1e-5))
    for box, k in watched(np.ndindex(count, keypoints)):
        comparable = np.where(np.isnan(maps[box, k]), -np.inf, maps[box, k])
        row, column = divmod(int(np.argmax(comparable)), size)
        dx, dy, scores[box, k] = _refined(_neighbours(maps[box, k], row, column), tolerance)
        x1, y1, x2, y2 = boxes[box]
        half = np.float32(0.5)
        points[box, k] = (
            x1 + (np.float32(column) + dx + half) / np.float32(size) * (x2 - x1),
            y1 + (np.float32(row) + dy + half) / np.float32(size) * (y2 - y1),
        )
    return [stored(scores, op.out_scores), stored(points, op.out_keypoints)]


def _neighbours(heatmap: Array, row: int, column: int) -> Array:
    """The 3 x 3 points around a point; beyond the border those on its other side."""
    size = len(heatmap)

    def mirrored(centre: int) -> list[int]:
        return [1 if i < 0 else size - 2 if i >= size else i for i in range(centre - 1, centre + 2)]

    return heatmap[np.ix_(mirrored(row), mirrored(column))]


def _refined(grid: Array, tolerance: Any) -> tuple[Any, Any, Any]:
    """(dx, dy, value) at the extremum of the parabola through 3 x 3 points.

    With b the negative gradient and A the second differences: delta = A^-1 b, cut to 1.5, and
    value = centre - b delta + delta A delta / 2. Where A is singular it is the centre itself.
    """
    zero, two, four, limit = (np.float32(value) for value in (0, 2, 4, 1.5))
    (a, b, c), (d, centre, f), (g, h, i) = grid
    b0, b1 = -(f - d) / two, -(h - b) / two
    a00, a11 = d - two * centre + f, b - two * centre + h
    a01 = (i - g - c + a) / four
    determinant = a00 * a11 - a01 * a01
    if abs(determinant) < tolerance + tolerance * (a00 * a11):
        return zero, zero, centre
    dx, dy = (a11 * b0 - a01 * b1) / determinant, (a00 * b1 - a01 * b0) / determinant
    largest = max(abs(dx), abs(dy))
    if largest > limit:
        dx, dy = dx * (limit / largest), dy * (limit / largest)
    bent = (a00 * dx + a01 * dy) * dx + (a01 * dx + a11 * dy) * dy
    return dx, dy, centre - b0 * dx - b1 * dy + bent / two
