"""BOX_WITH_NMS_LIMIT and GENERATE_PROPOSALS as steps.

The steps write into scratch memory for the largest possible number of boxes; when the number is
known, the boxes are stored in the outputs.
"""

from nnapi_shim.drivers.cpu.lowering.dequantize import reals, store
from nnapi_shim.drivers.cpu.lowering.images import to_nhwc
from nnapi_shim.drivers.cpu.lowering.suppression import parts, scratch_bytes
from nnapi_shim.drivers.cpu.program.record import (
    ADDRESS,
    FLOAT32,
    INT64,
    At,
    Buffer,
    Deferred,
    Step,
    record,
)
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Sequence
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.shapes import nhwc

SOFT_NMS = record(
    scores=ADDRESS, boxes=ADDRESS, batch_index=ADDRESS,
    chosen=ADDRESS, lowered=ADDRESS, counts=ADDRESS, scratch=ADDRESS,
    rois=INT64, classes=INT64, tile_classes=INT64, parts=INT64, mode=INT64, limit=INT64,
    score_threshold=FLOAT32, iou_threshold=FLOAT32, sigma=FLOAT32, lowest=FLOAT32,
)  # fmt: skip
MERGE_IMAGES = record(
    boxes=ADDRESS, batch_index=ADDRESS, chosen=ADDRESS, lowered=ADDRESS, counts=ADDRESS,
    out_scores=ADDRESS, out_rois=ADDRESS, out_classes=ADDRESS, out_batch_index=ADDRESS,
    found=ADDRESS, cursors=ADDRESS, order=ADDRESS, scratch=ADDRESS,
    rois=INT64, classes=INT64, capacity=INT64, limit=INT64,
)  # fmt: skip
PROPOSALS = record(
    scores=ADDRESS, deltas=ADDRESS, anchors=ADDRESS, image_info=ADDRESS,
    out_scores=ADDRESS, out_rois=ADDRESS, out_batch_index=ADDRESS, found=ADDRESS, scratch=ADDRESS,
    width=INT64, count=INT64, capacity=INT64, most=INT64, pre_nms=INT64,
    post_nms=INT64, height_stride=FLOAT32, width_stride=FLOAT32, iou_threshold=FLOAT32,
    min_size=FLOAT32,
)  # fmt: skip


def lower_box_with_nms_limit(op: BoundOperation) -> Sequence[Step | Deferred]:
    """Soft NMS per class, then a merge of all classes per image."""
    rois, classes = op.scores.dimensions
    first, scores = reals(op.scores)
    second, boxes = reals(op.rois)
    images = op.batch_index if rois else None
    limit = op.max_num_detections
    lists = max(1, classes * rois)
    most = lists if limit < 0 else max(1, min(lists, limit * rois))
    chosen, lowered, counts = Buffer(8 * lists), Buffer(4 * lists), Buffer(8 * classes)
    tiles, tile_classes = parts(classes - 1)
    suppress = Step(
        SOFT_NMS,
        "soft_nms",
        tiles=tiles,
        writes=("chosen", "lowered", "counts", "scratch"),
        complaint="rois has a box with x1 > x2 or y1 > y2",
        scores=scores,
        boxes=boxes,
        batch_index=images,
        chosen=chosen,
        lowered=lowered,
        counts=counts,
        scratch=Buffer(tiles * scratch_bytes(rois)),
        rois=rois,
        classes=classes,
        tile_classes=tile_classes,
        parts=tiles,
        mode=op.nms_kernel,
        limit=limit,
        score_threshold=op.score_threshold,
        iou_threshold=op.iou_threshold,
        sigma=op.sigma,
        lowest=op.nms_score_threshold,
    )
    out_scores, out_rois = Buffer(4 * most), Buffer(16 * most)
    out_classes, out_batch_index = Buffer(4 * most), Buffer(4 * most)
    count_buffer = Buffer(8)
    merge = Step(
        MERGE_IMAGES,
        "merge_images",
        writes=(
            "out_scores", "out_rois", "out_classes", "out_batch_index",
            "found", "cursors", "order", "scratch",
        ),
        boxes=boxes,
        batch_index=images,
        chosen=chosen,
        lowered=lowered,
        counts=counts,
        out_scores=out_scores,
        out_rois=out_rois,
        out_classes=out_classes,
        out_batch_index=out_batch_index,
        found=count_buffer,
        cursors=Buffer(8 * classes),
        order=Buffer(8 * lists),
        scratch=Buffer(scratch_bytes(lists)),
        rois=rois,
        classes=classes,
        capacity=lists,
        limit=limit,
    )  # fmt: skip

    def finish(numbers: tuple[int, ...]) -> tuple[list[Dimensions], list[Step]]:
        (count,) = numbers
        steps = []
        if count:
            steps = [
                store(out_scores, op.out_scores, 0, count),
                store(out_rois, op.out_rois, 0, 4 * count),
                store(out_classes, op.out_classes, 0, count),
                store(out_batch_index, op.out_batch_index, 0, count),
            ]
        return [(count,), (count, 4), (count,), (count,)], steps

    return [*first, *second, suppress, merge, Deferred(count_buffer, finish)]


def lower_generate_proposals(op: BoundOperation) -> Sequence[Step | Deferred]:
    """A tile is an image. Boxes are decoded after sorting, only for the best pre_nms_top_n."""
    batches, height, width, count = nhwc(op.scores.dimensions, op.nchw)
    capacity = height * width * count
    before, source = to_nhwc(op.scores, op.nchw)
    first, scores = reals(op.scores, source)
    before_deltas, source = to_nhwc(op.deltas, op.nchw)
    second, deltas = reals(op.deltas, source)
    third, anchors = reals(op.anchors)
    fourth, image_info = reals(op.image_info)
    pre_nms = min(capacity, op.pre_nms_top_n) if op.pre_nms_top_n > 0 else capacity
    most = pre_nms if op.post_nms_top_n < 0 else min(pre_nms, op.post_nms_top_n)
    length = batches * max(1, most)
    out_scores, out_rois, out_images = Buffer(4 * length), Buffer(16 * length), Buffer(4 * length)
    counts = Buffer(8 * batches)
    step = Step(
        PROPOSALS,
        "generate_proposals",
        tiles=batches,
        writes=("out_scores", "out_rois", "out_batch_index", "found", "scratch"),
        complaint="scores has a NaN, or an anchor has x1 > x2 or y1 > y2",
        scores=scores,
        deltas=deltas,
        anchors=anchors,
        image_info=image_info,
        out_scores=out_scores,
        out_rois=out_rois,
        out_batch_index=out_images,
        found=counts,
        scratch=Buffer(batches * scratch_bytes(capacity)),
        width=width,
        count=count,
        capacity=capacity,
        most=most,
        pre_nms=pre_nms,
        post_nms=op.post_nms_top_n,
        height_stride=op.height_stride,
        width_stride=op.width_stride,
        iou_threshold=op.iou_threshold,
        min_size=op.min_size,
    )

    def finish(numbers: tuple[int, ...]) -> tuple[list[Dimensions], list[Step]]:
        steps, row = [], 0
        for image, number in enumerate(numbers):
            if number:
                first_row = image * most
                steps += [
                    store(At(out_scores, 4 * first_row), op.out_scores, row, number),
                    store(At(out_rois, 16 * first_row), op.out_rois, 4 * row, 4 * number),
                    store(At(out_images, 4 * first_row), op.out_batch_index, row, number),
                ]
            row += number
        return [(row,), (row, 4), (row,)], steps

    return [
        *before,
        *first,
        *before_deltas,
        *second,
        *third,
        *fourth,
        step,
        Deferred(counts, finish),
    ]
