"""AXIS_ALIGNED_BBOX_TRANSFORM, DETECTION_POSTPROCESSING and HEATMAP_MAX_KEYPOINT.

Everything real is float32; result code 5 is OP_FAILED.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.boxes import centre_and_half, is_box, within
from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late, late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, part
from nnapi_shim.drivers.cpu.codegen.exponential_f64 import exp
from nnapi_shim.drivers.cpu.codegen.numeric import copy_bytes, f32, i32, i64, ordered
from nnapi_shim.drivers.cpu.codegen.simd import largest_of
from nnapi_shim.drivers.cpu.codegen.single_fetch import fetch_box, fetch_i32
from nnapi_shim.drivers.cpu.codegen.sorting import index_of, sort
from nnapi_shim.drivers.cpu.codegen.suppression import (
    TOO_LATE,
    comparable,
    item_of,
    parts_of,
    set_box,
    suppress,
)
from nnapi_shim.drivers.cpu.lowering.detection import (
    BBOX_TRANSFORM,
    CLASSES_NMS,
    DECODE,
    FAST_NMS,
    KEYPOINTS,
    MERGE_CLASSES,
)
from nnapi_shim.drivers.cpu.lowering.suppression import scratch_bytes
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

OP_FAILED = 5
ZERO, HALF, TWO, FOUR, REACH = (np.float32(value) for value in (0, 0.5, 2, 4, 1.5))
LOWEST, LOWEST_SCORE = np.int32(-(2**31)), np.float32(-np.inf)

BLOCK = 256
"""Points of a map among which the maximum is first looked for."""

read, write = READ["f32"], WRITE["f32"]


@kernel(BBOX_TRANSFORM)
def bbox_transform(a, tile):
    """rois: [count, 4], deltas, output: [count, classes, 4], batch_index: int32[count], image_info:
    [batches, 2] of height, width; a tile is tile_rois rois.
    """
    info, deltas, output, classes = f32(a.image_info), a.deltas, a.output, a.classes
    for roi in range(*part(a.count, a.tile_rois, tile)):
        image = np.int64(fetch_i32(a.batch_index, roi))
        x1, y1, x2, y2 = fetch_box(a.rois, roi)
        if image < 0 or image >= a.batches or not is_box(x1, y1, x2, y2):
            return OP_FAILED
        height, width = info[2 * image], info[2 * image + 1]
        for at in range(4 * roi * classes, 4 * (roi + 1) * classes, 4):
            x, half_w = centre_and_half(x1, x2, read(deltas, at), read(deltas, at + 2))
            y, half_h = centre_and_half(y1, y2, read(deltas, at + 1), read(deltas, at + 3))
            write(output, at, within(x - half_w, width))
            write(output, at + 1, within(y - half_h, height))
            write(output, at + 2, within(x + half_w, width))
            write(output, at + 3, within(y + half_h, height))
    return 0


# DETECTION_POSTPROCESSING: boxes are y1, x1, y2, x2


@kernel(DECODE)
def decode_anchors(a, tile):
    """deltas: [batches, count, length], anchors: [count, 4] of centre y, centre x, height, width,
    output: [batches, count, 4]; a tile is tile_anchors boxes. Computed in float64.
    """
    deltas, anchors, output = a.deltas, a.anchors, a.output
    count, length = a.count, a.length
    scale_y, scale_x = np.float64(a.scale_dy), np.float64(a.scale_dx)
    scale_h, scale_w = np.float64(a.scale_dh), np.float64(a.scale_dw)
    for box in range(*part(a.batches * count, a.tile_anchors, tile)):
        at, near = box * length, 4 * (box % count)
        height = np.float64(read(anchors, near + 2))
        width = np.float64(read(anchors, near + 3))
        y = np.float64(read(anchors, near)) + height * np.float64(read(deltas, at)) / scale_y
        x = np.float64(read(anchors, near + 1)) + width * np.float64(read(deltas, at + 1)) / scale_x
        half_h = height * exp(np.float64(read(deltas, at + 2)) / scale_h) / 2.0
        half_w = width * exp(np.float64(read(deltas, at + 3)) / scale_w) / 2.0
        write(output, 4 * box, np.float32(y - half_h))
        write(output, 4 * box + 1, np.float32(x - half_w))
        write(output, 4 * box + 2, np.float32(y + half_h))
        write(output, 4 * box + 3, np.float32(x + half_w))
    return 0


@helper
def suppress_candidates(parts, capacity, count, boxes, threshold, limit, deadline):
    """Sort `count` items, whose indexes are those of boxes, and suppress.

    Returns how many stay, or TOO_LATE.
    """
    items, spare, histogram, columns = parts
    if not sort(items, spare, histogram, count, deadline):
        return TOO_LATE
    listed, corners = i64(items), f32(boxes)
    for i in range(count):
        at = 4 * index_of(listed[i])
        set_box(
            columns, capacity, i, corners[at], corners[at + 1], corners[at + 2], corners[at + 3]
        )
    return suppress(items, columns, capacity, count, threshold, limit, deadline)


@kernel(CLASSES_NMS)
def nms_classes(a, tile, deadline):
    """scores: [batch, anchors, classes], boxes: [batch, anchors, 4], chosen: int64[batch,
    classes - 1, capacity], counts: int64[batch, classes - 1]; a tile is tile_classes of an image.

    Writes the anchors that stay in each class but the first.
    """
    anchors, classes, capacity = a.anchors, a.classes, a.capacity
    image, first = tile // a.class_tiles, 1 + tile % a.class_tiles * a.tile_classes
    parts = parts_of(a.scratch + tile * scratch_size(anchors), anchors)
    boxes = a.boxes + image * anchors * 16
    listed, counts = i64(parts[0]), i64(a.counts)
    for label in range(first, min(first + a.tile_classes, classes)):
        scores = f32(a.scores + (image * anchors * classes + label) * 4)
        count = 0
        for anchor in range(anchors):
            score = scores[anchor * classes]
            if score > a.score_threshold:
                listed[count] = item_of(score, anchor)
                count += 1
        kept = suppress_candidates(parts, anchors, count, boxes, a.iou_threshold, a.limit, deadline)
        if kept == TOO_LATE or late(deadline):
            return DEADLINE
        class_index = image * (classes - 1) + label - 1
        chosen = i64(a.chosen + class_index * capacity * 8)
        for i in range(kept):
            chosen[i] = index_of(listed[i])
        counts[class_index] = kept
    return 0


scratch_size = helper(scratch_bytes)


@helper
def set_detection(a, image, row, anchor, label):
    """Write a row of the outputs."""
    at, source = image * a.rows + row, image * a.anchors + anchor
    f32(a.out_scores)[at] = f32(a.scores)[source * a.classes + label]
    copy_bytes(a.out_boxes + 16 * at, a.boxes + 16 * source, 16)
    i32(a.out_classes)[at] = label - 1 + a.first_label


@helper
def end_detections(a, image, count):
    """Write their number; the rows behind them become 0."""
    i32(a.num_detections)[image] = count
    scores, boxes, labels = f32(a.out_scores), f32(a.out_boxes), i32(a.out_classes)
    for at in range(image * a.rows + count, (image + 1) * a.rows):
        scores[at] = ZERO
        labels[at] = 0
        for corner in range(4 * at, 4 * at + 4):
            boxes[corner] = ZERO


@kernel(MERGE_CLASSES)
def merge_classes(a, tile, deadline):
    """Merge the survivors of all classes into the outputs of an image; a tile is an image."""
    anchors, classes, capacity = a.anchors, a.classes, a.capacity
    most = (classes - 1) * capacity
    items, spare, histogram, _ = parts_of(a.scratch + tile * scratch_size(most), most)
    listed, counts = i64(items), i64(a.counts + tile * (classes - 1) * 8)
    chosen = i64(a.chosen + tile * most * 8)
    scores = f32(a.scores + tile * anchors * classes * 4)
    count = 0
    for label in range(1, classes):
        for i in range((label - 1) * capacity, (label - 1) * capacity + counts[label - 1]):
            listed[count] = item_of(scores[chosen[i] * classes + label], i)
            count += 1
    if not sort(items, spare, histogram, count, deadline):
        return DEADLINE
    written = min(count, a.rows)
    for row in range(written):
        at = index_of(listed[row])
        set_detection(a, tile, row, chosen[at], 1 + at // capacity)
    end_detections(a, tile, written)
    return 0


@kernel(FAST_NMS)
def nms_best_class(a, tile, deadline):
    """One suppression by the best score of each anchor, then the `each` best classes of the
    survivors; a tile is an image.
    """
    anchors, classes = a.anchors, a.classes
    parts = parts_of(a.scratch + tile * scratch_size(anchors), anchors)
    listed = i64(parts[0])
    image_scores = tile * anchors * classes
    scores = f32(a.scores + image_scores * 4)
    count, work = 0, 0
    for anchor in range(anchors):
        is_late, work = late_after(work + classes, deadline)
        if is_late:
            return DEADLINE
        row = a.scores + (image_scores + anchor * classes + 1) * 4
        best = largest_of(row, classes - 1, np.int32(0), LOWEST_SCORE)
        if best > a.score_threshold:
            listed[count] = item_of(best, anchor)
            count += 1
    boxes = a.boxes + tile * anchors * 16
    kept = suppress_candidates(parts, anchors, count, boxes, a.iou_threshold, a.limit, deadline)
    if kept == TOO_LATE:
        return DEADLINE
    for i in range(kept):
        anchor = index_of(listed[i])
        previous = np.int64(-(2**63))
        for row in range(i * a.each, (i + 1) * a.each):
            is_late, work = late_after(work + classes, deadline)
            if is_late:
                return DEADLINE
            # Scores that change meanwhile may leave no class for a row: it gets the first.
            following, chosen = np.int64(2**63 - 1), 1
            for label in range(1, classes):
                item = item_of(scores[anchor * classes + label], label)
                if previous < item < following:
                    following, chosen = item, label
            set_detection(a, tile, row, anchor, chosen)
            previous = following
    end_detections(a, tile, kept * a.each)
    return 0


# HEATMAP_MAX_KEYPOINT


@helper
def mirrored(i, size):
    """Reflect a position outside of the map at the border."""
    return 1 if i < 0 else (size - 2 if i >= size else i)


@helper
def refined(heatmap, size, row, column, tolerance):
    """(dx, dy, value) at the extremum of the parabola through 3 x 3 points.

    With b the negative gradient and A the second differences: delta = A^-1 b, cut to 1.5, and
    value = centre - b delta + delta A delta / 2. Where A is singular it is the centre itself.
    """
    x = f32(heatmap)
    top, middle, bottom = mirrored(row - 1, size) * size, row * size, mirrored(row + 1, size) * size
    left, right = mirrored(column - 1, size), mirrored(column + 1, size)
    centre = x[middle + column]
    b0 = -(x[middle + right] - x[middle + left]) / TWO
    b1 = -(x[bottom + column] - x[top + column]) / TWO
    a00 = x[middle + left] - TWO * centre + x[middle + right]
    a11 = x[top + column] - TWO * centre + x[bottom + column]
    a01 = (x[bottom + right] - x[bottom + left] - x[top + right] + x[top + left]) / FOUR
    determinant = a00 * a11 - a01 * a01
    if abs(determinant) < tolerance + tolerance * (a00 * a11):
        return ZERO, ZERO, centre
    dx, dy = (a11 * b0 - a01 * b1) / determinant, (a00 * b1 - a01 * b0) / determinant
    largest = max(abs(dx), abs(dy))
    if largest > REACH:
        dx, dy = dx * (REACH / largest), dy * (REACH / largest)
    bent = (a00 * dx + a01 * dy) * dx + (a01 * dx + a11 * dy) * dy
    return dx, dy, centre - b0 * dx - b1 * dy + bent / TWO


@kernel(KEYPOINTS)
def max_keypoints(a, tile, deadline):
    """heatmaps: [boxes, count, size, size], boxes: [boxes, 4], scores: [boxes, count], keypoints:
    [boxes, count, 2] of x, y; a tile is a box. The first maximum counts.
    """
    size, points = a.size, f32(a.keypoints)
    x1, y1, x2, y2 = fetch_box(a.boxes, tile)
    if not is_box(x1, y1, x2, y2):
        return OP_FAILED
    work = 0
    for k in range(tile * a.count, (tile + 1) * a.count):
        heatmap = a.heatmaps + k * size * size * 4
        most, at = LOWEST, 0
        for first in range(0, size * size, BLOCK):
            is_late, work = late_after(work + BLOCK, deadline)
            if is_late:
                return DEADLINE
            here = LOWEST
            for i in range(first, min(first + BLOCK, size * size)):
                here = max(here, ordered(comparable(read(heatmap, i))))
            if here > most:
                most, at = here, first
        # A map that changes meanwhile may lack it: then it is the last point of the block.
        last = min(at + BLOCK, size * size) - 1
        while at < last and ordered(comparable(f32(heatmap)[at])) != most:
            at += 1
        row, column = at // size, at % size
        dx, dy, value = refined(heatmap, size, row, column, a.tolerance)
        f32(a.scores)[k] = value
        points[2 * k] = x1 + (np.float32(column) + dx + HALF) / np.float32(size) * (x2 - x1)
        points[2 * k + 1] = y1 + (np.float32(row) + dy + HALF) / np.float32(size) * (y2 - y1)
    return 0
