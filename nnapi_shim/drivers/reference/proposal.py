"""BOX_WITH_NMS_LIMIT GENERATE_PROPOSALS."""

from collections.abc import Callable

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.boxes import check_corners, reals, stored, transformed
from nnapi_shim.drivers.reference.suppression import hard_nms, ranked, soft_nms
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.faults import score_is_nan


def box_with_nms_limit(op: BoundOperation) -> list[Array]:
    """Per image, each class 1.. on its own: boxes with score > score_threshold, soft NMS.

    Of all classes together the max_num_detections best stay, ordered by class, then by score.
    """
    scores = reals(op.scores)
    count, classes = scores.shape
    boxes = reals(op.rois).reshape(count, classes, 4)
    check_corners(boxes, "rois")
    decay = _decay(op)
    rois, labels, scores_kept = [], [], []
    for image in _images(op.batch_index.value):
        image_rois, image_labels, image_found = [], [], []
        for label in range(1, classes):
            candidates = image[scores[image, label] > np.float32(op.score_threshold)]
            kept, lowered = soft_nms(
                scores[candidates, label],
                boxes[candidates, label],
                decay,
                op.nms_score_threshold,
                op.max_num_detections,
            )
            image_rois += candidates[kept].tolist()
            image_labels += [label] * len(kept)
            image_found += lowered.tolist()
        best = ranked(np.array(image_found, np.float32))
        if op.max_num_detections >= 0:
            best = best[: op.max_num_detections]
        for at in sorted(best, key=image_labels.__getitem__):  # sorting keeps the order of equals
            rois.append(image_rois[at])
            labels.append(image_labels[at])
            scores_kept.append(image_found[at])
    rows = np.array(rois, np.int64)
    return [
        stored(np.array(scores_kept, np.float32), op.out_scores),
        op.rois.value.reshape(count, classes, 4)[rows, np.array(labels, np.int64)],
        np.array(labels, np.int32),
        op.batch_index.value[rows],
    ]


def _images(batch_index: Array) -> list[Array]:
    """Positions of the boxes of each image: runs of equal indexes."""
    changes = np.flatnonzero(np.diff(batch_index)) + 1
    return np.split(np.arange(len(batch_index)), changes)


def _decay(op: BoundOperation) -> Callable[[Array], Array]:
    """By which factor a score is lowered, from the IoU; in float32."""
    threshold, sigma = np.float32(op.iou_threshold), np.float64(op.sigma)

    def hard(iou: Array) -> Array:
        return np.where(iou < threshold, np.float32(1), np.float32(0))

    def linear(iou: Array) -> Array:
        return np.where(iou < threshold, np.float32(1), 1 - iou)

    def gaussian(iou: Array) -> Array:
        return np.exp(-np.square(iou.astype(np.float64)) / sigma).astype(np.float32)

    return (hard, linear, gaussian)[op.nms_kernel]


def generate_proposals(op: BoundOperation) -> list[Array]:
    """Per image: anchors at every point, transformed; the pre_nms_top_n best of them; of these the
    ones larger than min_size and centred in the image; hard NMS, at most post_nms_top_n.
    """
    scores, deltas = reals(op.scores), reals(op.deltas)
    if op.nchw:
        scores, deltas = scores.transpose(0, 2, 3, 1), deltas.transpose(0, 2, 3, 1)
    batches, height, width, _ = scores.shape
    missing = np.isnan(scores)
    if missing.any():
        raise score_is_nan(int(np.argmax(missing)))
    shift_y, shift_x = np.meshgrid(
        np.arange(height, dtype=np.float32) * np.float32(op.height_stride),
        np.arange(width, dtype=np.float32) * np.float32(op.width_stride),
        indexing="ij",
    )
    shifts = np.stack([shift_x, shift_y, shift_x, shift_y], -1)
    anchors = (shifts[:, :, None] + reals(op.anchors)).reshape(-1, 4)
    if (anchors[:, :2] > anchors[:, 2:]).any() or np.isnan(anchors).any():
        check_corners(reals(op.anchors), "anchors")
        check_corners(anchors, "anchors, shifted")
    out_scores, out_boxes, out_images = [], [], []
    for image in range(batches):
        info = reals(op.image_info)[image]
        image_scores = scores[image].reshape(-1)
        boxes = transformed(anchors, deltas[image].reshape(-1, 4), info)
        left = np.arange(len(boxes))
        if 0 < op.pre_nms_top_n < len(boxes):
            left = ranked(image_scores)[: op.pre_nms_top_n]
        left = left[_is_proposal(boxes[left], op.min_size, info)]
        kept = left[hard_nms(image_scores[left], boxes[left], op.iou_threshold, op.post_nms_top_n)]
        out_scores.append(image_scores[kept])
        out_boxes.append(boxes[kept])
        out_images.append(np.full(len(kept), image, np.int32))
    return [
        stored(np.concatenate(out_scores), op.out_scores),
        stored(np.concatenate(out_boxes), op.out_rois),
        np.concatenate(out_images),
    ]


def _is_proposal(boxes: Array, min_size: float, image_info: Array) -> Array:
    """Which boxes are wider and higher than min_size, their centre inside the image."""
    w, h = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    x, y = boxes[:, 0] + w / 2, boxes[:, 1] + h / 2
    least = np.float32(min_size)
    return (w > least) & (h > least) & (x < image_info[1]) & (y < image_info[0])
