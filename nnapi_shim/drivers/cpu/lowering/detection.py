"""AXIS_ALIGNED_BBOX_TRANSFORM, DETECTION_POSTPROCESSING and HEATMAP_MAX_KEYPOINT as steps.

All compute in float32; other types are converted before and after.
"""

from nnapi_shim.drivers.cpu.lowering.dequantize import from_reals, reals
from nnapi_shim.drivers.cpu.lowering.rearrange import transpose
from nnapi_shim.drivers.cpu.lowering.suppression import parts, scratch_bytes
from nnapi_shim.drivers.cpu.lowering.tiling import tile_of
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, Buffer, Step, record
from nnapi_shim.hal.types import byte_size
from nnapi_shim.operations.declare import BoundOperation

BBOX_TRANSFORM = record(
    rois=ADDRESS, deltas=ADDRESS, batch_index=ADDRESS, image_info=ADDRESS, output=ADDRESS,
    count=INT64, classes=INT64, batches=INT64, tile_rois=INT64,
)  # fmt: skip

DECODE = record(
    deltas=ADDRESS, anchors=ADDRESS, output=ADDRESS,
    batches=INT64, count=INT64, length=INT64, tile_anchors=INT64,
    scale_dy=FLOAT32, scale_dx=FLOAT32, scale_dh=FLOAT32, scale_dw=FLOAT32,
)  # fmt: skip
CLASSES_NMS = record(
    scores=ADDRESS, boxes=ADDRESS, chosen=ADDRESS, counts=ADDRESS, scratch=ADDRESS,
    anchors=INT64, classes=INT64, tile_classes=INT64, class_tiles=INT64, capacity=INT64,
    limit=INT64, score_threshold=FLOAT32, iou_threshold=FLOAT32,
)  # fmt: skip
DETECTIONS = {
    **dict.fromkeys(("scores", "boxes"), ADDRESS),
    **dict.fromkeys(("out_scores", "out_boxes", "out_classes", "num_detections"), ADDRESS),
    "scratch": ADDRESS,
    "anchors": INT64,
    "classes": INT64,
    "first_label": INT64,
    "rows": INT64,
}
"""scores: [batch, anchors, classes], boxes: [batch, anchors, 4]. rows: of each output."""
MERGE_CLASSES = record(**DETECTIONS, chosen=ADDRESS, counts=ADDRESS, capacity=INT64)
FAST_NMS = record(
    **DETECTIONS, limit=INT64, each=INT64, score_threshold=FLOAT32, iou_threshold=FLOAT32
)
KEYPOINTS = record(
    heatmaps=ADDRESS, boxes=ADDRESS, scores=ADDRESS, keypoints=ADDRESS,
    count=INT64, size=INT64, tolerance=FLOAT32,
)  # fmt: skip

TILE_BOXES = 1 << 8
"""Boxes per tile, about."""


def lower_axis_aligned_bbox_transform(op: BoundOperation) -> list[Step]:
    """A tile is several rois with the boxes of all classes."""
    count, classes = op.rois.dimensions[0], op.deltas.dimensions[1] // 4
    first, rois = reals(op.rois)
    second, deltas = reals(op.deltas)
    third, image_info = reals(op.image_info)
    target, after = from_reals(op.boxes)
    tile_rois = max(1, TILE_BOXES // classes)
    step = Step(
        BBOX_TRANSFORM,
        "bbox_transform",
        tiles=-(-count // tile_rois),
        complaint="a roi has x1 > x2 or y1 > y2, or batch_index is not that of an image",
        rois=rois,
        deltas=deltas,
        batch_index=op.batch_index,
        image_info=image_info,
        output=target,
        count=count,
        classes=classes,
        batches=op.image_info.dimensions[0],
        tile_rois=tile_rois,
    )
    return [*first, *second, *third, step, *after]


def lower_detection_postprocessing(op: BoundOperation) -> list[Step]:
    """Decode all boxes; then suppress class by class and merge, or once by the best class."""
    batches, anchors, classes = op.scores.dimensions
    before, scores = reals(op.scores)
    decoding, boxes = _decode(op)
    out_scores, after_scores = from_reals(op.out_scores)
    out_boxes, after_boxes = from_reals(op.out_boxes)
    fields = {
        "scores": scores,
        "boxes": boxes,
        "out_scores": out_scores,
        "out_boxes": out_boxes,
        "out_classes": op.out_classes,
        "num_detections": op.num_detections,
        "anchors": anchors,
        "classes": classes,
        "first_label": 1 if op.is_background_in_label else 0,
        "rows": op.out_scores.dimensions[1],
    }
    writes = ("out_scores", "out_boxes", "out_classes", "num_detections", "scratch")
    thresholds = {"score_threshold": op.score_threshold, "iou_threshold": op.iou_threshold}
    steps = []
    if op.use_regular_nms:
        capacity = min(anchors, op.max_detections_per_class)
        chosen = Buffer(8 * batches * (classes - 1) * capacity)
        counts = Buffer(8 * batches * (classes - 1))
        class_tiles, tile_classes = parts(classes - 1)
        steps.append(
            Step(
                CLASSES_NMS,
                "nms_classes",
                tiles=batches * class_tiles,
                writes=("chosen", "counts", "scratch"),
                scores=scores,
                boxes=boxes,
                chosen=chosen,
                counts=counts,
                scratch=Buffer(batches * class_tiles * scratch_bytes(anchors)),
                anchors=anchors,
                classes=classes,
                tile_classes=tile_classes,
                class_tiles=class_tiles,
                capacity=capacity,
                limit=op.max_detections_per_class,
                **thresholds,
            )
        )
        most = (classes - 1) * capacity
        steps.append(
            Step(
                MERGE_CLASSES,
                "merge_classes",
                tiles=batches,
                writes=writes,
                scratch=Buffer(batches * scratch_bytes(most)),
                chosen=chosen,
                counts=counts,
                capacity=capacity,
                **fields,
            )
        )
    else:
        steps.append(
            Step(
                FAST_NMS,
                "nms_best_class",
                tiles=batches,
                writes=writes,
                scratch=Buffer(batches * scratch_bytes(anchors)),
                limit=op.max_num_detections,
                each=min(op.max_classes_per_detection, classes - 1),
                **thresholds,
                **fields,
            )
        )
    return [*before, *decoding, *steps, *after_scores, *after_boxes]


def _decode(op: BoundOperation) -> tuple[list[Step], Buffer]:
    """(steps that decode the boxes of all anchors, memory of the boxes)."""
    batches, count, length = op.deltas.dimensions
    first, deltas = reals(op.deltas)
    second, anchors = reals(op.anchors)
    boxes = Buffer(16 * batches * count)
    tile_anchors = tile_of(TILE_BOXES, batches * count)
    step = Step(
        DECODE,
        "decode_anchors",
        tiles=-(-batches * count // tile_anchors),
        deltas=deltas,
        anchors=anchors,
        output=boxes,
        batches=batches,
        count=count,
        length=length,
        tile_anchors=tile_anchors,
        scale_dy=op.scale_dy,
        scale_dx=op.scale_dx,
        scale_dh=op.scale_dh,
        scale_dw=op.scale_dw,
    )
    return [*first, *second, step], boxes


def lower_heatmap_max_keypoint(op: BoundOperation) -> list[Step]:
    """Searches heatmap by heatmap, so they must be contiguous: NCHW."""
    count, keypoints = op.out_scores.dimensions
    size = op.heatmaps.dimensions[2]
    before, source = [], op.heatmaps
    if not op.nchw:
        source = Buffer(byte_size(op.heatmaps))
        before.append(transpose(op.heatmaps, source, op.heatmaps, count, size * size, keypoints))
    first, heatmaps = reals(op.heatmaps, source)
    second, boxes = reals(op.boxes)
    out_scores, after_scores = from_reals(op.out_scores)
    out_keypoints, after_keypoints = from_reals(op.out_keypoints)
    step = Step(
        KEYPOINTS,
        "max_keypoints",
        tiles=count,
        writes=("scores", "keypoints"),
        complaint="a box has x1 > x2 or y1 > y2",
        heatmaps=heatmaps,
        boxes=boxes,
        scores=out_scores,
        keypoints=out_keypoints,
        count=keypoints,
        size=size,
        tolerance=1e-3 if op.variant == "f16" else 1e-5,
    )
    return [*before, *first, *second, step, *after_scores, *after_keypoints]
