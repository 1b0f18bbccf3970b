"""Non-maximum suppression: of boxes that overlap, the one of the highest score stays.

Of equal scores the first one comes first; NaN counts as -infinity.
"""

from collections.abc import Callable

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.drivers.reference.deadline import look


def iou(box: Array, others: Array) -> Array:
    """Area that a box shares with each of the others, over the area of both together.

    In float32; two boxes without area give NaN.
    """
    w = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    h = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1])
    shared = np.maximum(w, 0) * np.maximum(h, 0)
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    return shared / (area + areas - shared)


def ranked(scores: Array) -> Array:
    """Positions in the order of falling scores."""
    look()
    return np.argsort(-_comparable(scores), kind="stable")


def _comparable(scores: Array) -> Array:
    return np.where(np.isnan(scores), -np.inf, scores)


def hard_nms(scores: Array, boxes: Array, threshold: float, limit: int) -> Array:
    """Positions of the boxes that stay, best first, at most `limit` of them if that is >= 0.

    A box that stays removes those with an IoU of at least `threshold` with it.
    """
    chosen: list[int] = []
    left = ranked(scores)
    while left.size and len(chosen) != limit:
        look()
        best, left = left[0], left[1:]
        chosen.append(best)
        left = left[~(iou(boxes[best], boxes[left]) >= np.float32(threshold))]
    return np.array(chosen, np.int64)


def soft_nms(
    scores: Array, boxes: Array, decay: Callable[[Array], Array], lowest: float, limit: int
) -> tuple[Array, Array]:
    """Positions of the boxes that stay, and their scores when they were selected.

    A box that is selected multiplies the scores of all others that are left by decay(IoU), and
    those that fall below `lowest` are removed. At most `limit` stay if that is >= 0.
    """
    scores = scores.copy()
    chosen: list[int] = []
    left = np.arange(len(scores))
    while left.size and len(chosen) != limit:
        look()
        at = np.argmax(_comparable(scores[left]))
        best, left = left[at], np.delete(left, at)
        chosen.append(best)
        scores[left] *= decay(iou(boxes[best], boxes[left]))
        left = left[~(scores[left] < np.float32(lowest))]
    positions = np.array(chosen, np.int64)
    return positions, scores[positions]
