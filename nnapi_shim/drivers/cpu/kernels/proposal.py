"""BOX_WITH_NMS_LIMIT and GENERATE_PROPOSALS. Everything real is float32; code 5 is OP_FAILED."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.boxes import centre_and_half, iou, is_box, within
from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late, late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE
from nnapi_shim.drivers.cpu.codegen.exponential_f64 import exp
from nnapi_shim.drivers.cpu.codegen.numeric import copy_bytes, f32, i32, i64
from nnapi_shim.drivers.cpu.codegen.sorting import index_of, sort
from nnapi_shim.drivers.cpu.codegen.suppression import (
    TOO_LATE,
    box_at,
    comparable,
    item_of,
    parts_of,
    set_box,
    suppress,
)
from nnapi_shim.drivers.cpu.lowering.proposal import MERGE_IMAGES, PROPOSALS, SOFT_NMS
from nnapi_shim.drivers.cpu.lowering.suppression import scratch_bytes
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

OP_FAILED = 5
ZERO, HALF, ONE = (np.float32(value) for value in (0, 0.5, 1))
HARD, LINEAR = 0, 1

read, read_back, write = READ["f32"], READ_BACK["f32"], WRITE["f32"]
scratch_size = helper(scratch_bytes)


# BOX_WITH_NMS_LIMIT


@helper
def end_of_image(batch_index, start, count):
    """End of the run of equal indexes that begins at `start`."""
    images = i32(batch_index)
    end = start + 1
    while end < count and images[end] == images[start]:
        end += 1
    return end


def lower_scores_by(factor):
    """A helper that multiplies all scores by factor(IoU of their box with the box `best`)."""

    @helper
    def lower_scores(columns, scores, capacity, count, best, threshold, sigma):
        x1, y1 = columns, columns + 4 * capacity
        x2, y2, areas = columns + 8 * capacity, columns + 12 * capacity, columns + 16 * capacity
        left, top, right, bottom, area = box_at(columns, capacity, best)
        for j in range(count):
            overlap = iou(
                left, top, right, bottom, area,
                read(x1, j), read(y1, j), read(x2, j), read(y2, j), read(areas, j),
            )  # fmt: skip
            write(scores, j, read_back(scores, j) * factor(overlap, threshold, sigma))

    return lower_scores


@helper
def gaussian(overlap, threshold, sigma):
    """The factor e^(-overlap^2 / sigma)."""
    wide = np.float64(overlap)
    return np.float32(exp(-(wide * wide) / sigma))


lower_hard = lower_scores_by(helper(lambda x, threshold, sigma: ONE if x < threshold else ZERO))
lower_linear = lower_scores_by(
    helper(lambda x, threshold, sigma: ONE if x < threshold else ONE - x)
)
lower_gaussian = lower_scores_by(gaussian)


@helper
def move(columns, scores, rois, capacity, source, target):
    """Overwrite candidate `target` by candidate `source`."""
    x1, y1, x2, y2, _ = box_at(columns, capacity, source)
    set_box(columns, capacity, target, x1, y1, x2, y2)
    f32(scores)[target] = f32(scores)[source]
    i64(rois)[target] = i64(rois)[source]


@helper
def best_candidate(scores, rois, count):
    """Position of the highest score; of equal ones that of the first roi."""
    best, most = 0, comparable(f32(scores)[0])
    for i in range(1, count):
        score = comparable(f32(scores)[i])
        if score > most or (score == most and i64(rois)[i] < i64(rois)[best]):
            best, most = i, score
    return best


@helper
def collect_candidates(a, label, start, end, columns, scores, candidates):
    """Collect the rois [start, end) with scores above the threshold; returns how many."""
    corners, count = f32(a.boxes), 0
    for roi in range(start, end):
        box = roi * a.classes + label
        score = f32(a.scores)[box]
        if score > a.score_threshold:
            at = 4 * box
            set_box(
                columns, a.rois, count,
                corners[at], corners[at + 1], corners[at + 2], corners[at + 3],
            )  # fmt: skip
            f32(scores)[count] = score
            i64(candidates)[count] = roi
            count += 1
    return count


@helper
def drop_below(lowest, columns, scores, candidates, rois, count):
    """Drop the candidates with scores below `lowest`; returns how many remain."""
    i = 0
    while i < count:
        if f32(scores)[i] < lowest:
            count -= 1
            move(columns, scores, candidates, rois, count, i)
        else:
            i += 1
    return count


@kernel(SOFT_NMS)
def soft_nms(a, tile, deadline):
    """scores: [rois, classes], boxes: [rois, classes, 4], chosen: int64[classes, rois], lowered:
    [classes, rois], counts: int64[classes]; a tile is tile_classes classes from 1 on.

    Writes the selected rois of each image and class, in the order of selection, with their scores.
    Candidates are unordered: the last one moves into the slot of one that is removed.
    """
    rois, classes = a.rois, a.classes
    corners = f32(a.boxes)
    for box in range(rois * tile // a.parts * classes, rois * (tile + 1) // a.parts * classes):
        at = 4 * box
        if not is_box(corners[at], corners[at + 1], corners[at + 2], corners[at + 3]):
            return OP_FAILED
    sigma, work = np.float64(a.sigma), 0
    candidates, scores, _, columns = parts_of(a.scratch + tile * scratch_size(rois), rois)
    first = 1 + tile * a.tile_classes
    for label in range(first, min(first + a.tile_classes, classes)):
        chosen, lowered = i64(a.chosen + label * rois * 8), f32(a.lowered + label * rois * 4)
        kept, start = 0, 0
        while start < rois:
            end = end_of_image(a.batch_index, start, rois)
            count = collect_candidates(a, label, start, end, columns, scores, candidates)
            selected = 0
            work += end - start
            while count > 0 and selected != a.limit:
                is_late, work = late_after(work + 4 * count, deadline)
                if is_late:
                    return DEADLINE
                best = best_candidate(scores, candidates, count)
                chosen[kept], lowered[kept] = i64(candidates)[best], f32(scores)[best]
                kept += 1
                selected += 1
                values = columns, scores, rois, count, best, a.iou_threshold, sigma
                if a.mode == HARD:
                    lower_hard(*values)
                elif a.mode == LINEAR:
                    lower_linear(*values)
                else:
                    lower_gaussian(*values)
                count -= 1
                move(columns, scores, candidates, rois, count, best)
                count = drop_below(a.lowest, columns, scores, candidates, rois, count)
            start = end
        i64(a.counts)[label] = kept
        is_late, work = late_after(work, deadline)
        if is_late:
            return DEADLINE
    return 0


@kernel(MERGE_IMAGES)
def merge_images(a, tile, deadline):
    """Merge the results of soft_nms per image: the `limit` best, ordered by class, then by score.

    out_scores: [found], out_rois: [found, 4], out_classes, out_batch_index: int32[found], found:
    int64; cursors: int64[classes] where the lists of the image begin, order: int64[capacity].
    """
    rois, classes = a.rois, a.classes
    items, spare, histogram, _ = parts_of(a.scratch, a.capacity)
    listed, order, cursors = i64(items), i64(a.order), i64(a.cursors)
    chosen, counts = i64(a.chosen), i64(a.counts)
    for label in range(classes):
        cursors[label] = 0
    found, start, work = 0, 0, 0
    while start < rois:
        is_late, work = late_after(work + classes, deadline)
        if is_late:
            return DEADLINE
        end = end_of_image(a.batch_index, start, rois)
        count = 0
        for label in range(1, classes):
            at = cursors[label]
            while at < counts[label] and chosen[label * rois + at] < end:
                candidate = label * rois + at
                listed[count] = item_of(f32(a.lowered)[candidate], candidate)
                count, at = count + 1, at + 1
            cursors[label] = at
        if not sort(items, spare, histogram, count, deadline):
            return DEADLINE
        count = count if a.limit < 0 else min(count, a.limit)
        for i in range(count):
            order[i] = index_of(listed[i])
            listed[i] = (order[i] // rois << 32) | i
        if not sort(items, spare, histogram, count, deadline):
            return DEADLINE
        for i in range(count):
            candidate = order[index_of(listed[i])]
            label = candidate // rois
            f32(a.out_scores)[found] = f32(a.lowered)[candidate]
            copy_bytes(
                a.out_rois + 16 * found, a.boxes + 16 * (chosen[candidate] * classes + label), 16
            )
            i32(a.out_classes)[found] = label
            i32(a.out_batch_index)[found] = i32(a.batch_index)[start]
            found += 1
        start = end
    i64(a.found)[0] = found
    return 0


# GENERATE_PROPOSALS


@helper
def shifted_anchor(anchors, index, width, count, height_stride, width_stride):
    """(x1, y1, x2, y2) of a box before its deltas: index counts rows, columns, anchors."""
    at = index // count
    x = np.float32(at % width) * width_stride
    y = np.float32(at // width) * height_stride
    near = 4 * (index % count)
    return anchors[near] + x, anchors[near + 1] + y, anchors[near + 2] + x, anchors[near + 3] + y


@kernel(PROPOSALS)
def generate_proposals(a, tile, deadline):
    """scores: [batch, capacity], deltas: [batch, capacity, 4], anchors: [count, 4], image_info:
    [batch, 2]; out_scores: [batch, most], out_rois: [batch, most, 4], out_batch_index:
    int32[batch, most], found: int64[batch]; capacity = height * width * count; a tile is an image.
    """
    capacity, width, count, most = a.capacity, a.width, a.count, a.most
    items, spare, histogram, columns = parts_of(a.scratch + tile * scratch_size(capacity), capacity)
    listed, anchors = i64(items), f32(a.anchors)
    scores, deltas = f32(a.scores + tile * capacity * 4), f32(a.deltas + tile * capacity * 16)
    image_height, image_width = f32(a.image_info)[2 * tile], f32(a.image_info)[2 * tile + 1]
    for i in range(capacity):
        if i % LONG == LONG - 1 and late(deadline):
            return DEADLINE
        x1, y1, x2, y2 = shifted_anchor(anchors, i, width, count, a.height_stride, a.width_stride)
        score = scores[i]
        if score != score or not is_box(x1, y1, x2, y2):
            return OP_FAILED
        listed[i] = item_of(score, i)
    if not sort(items, spare, histogram, capacity, deadline):
        return DEADLINE
    left = 0
    for rank in range(a.pre_nms):
        if rank % LONG == LONG - 1 and late(deadline):
            return DEADLINE
        i = index_of(listed[rank])
        x1, y1, x2, y2 = shifted_anchor(anchors, i, width, count, a.height_stride, a.width_stride)
        x, half_w = centre_and_half(x1, x2, deltas[4 * i], deltas[4 * i + 2])
        y, half_h = centre_and_half(y1, y2, deltas[4 * i + 1], deltas[4 * i + 3])
        x1, x2 = within(x - half_w, image_width), within(x + half_w, image_width)
        y1, y2 = within(y - half_h, image_height), within(y + half_h, image_height)
        w, h = x2 - x1, y2 - y1
        is_large = w > a.min_size and h > a.min_size
        if is_large and x1 + w * HALF < image_width and y1 + h * HALF < image_height:
            set_box(columns, capacity, left, x1, y1, x2, y2)
            listed[left] = listed[rank]
            left += 1
    kept = suppress(items, columns, capacity, left, a.iou_threshold, a.post_nms, deadline)
    if kept == TOO_LATE:
        return DEADLINE
    rois = f32(a.out_rois)
    for i in range(kept):
        row = tile * most + i
        x1, y1, x2, y2, _ = box_at(columns, capacity, i)
        rois[4 * row], rois[4 * row + 1], rois[4 * row + 2], rois[4 * row + 3] = x1, y1, x2, y2
        f32(a.out_scores)[row] = scores[index_of(listed[i])]
        i32(a.out_batch_index)[row] = tile
    i64(a.found)[tile] = kept
    return 0
