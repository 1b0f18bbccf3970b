"""AXIS_ALIGNED_BBOX_TRANSFORM, DETECTION_POSTPROCESSING, HEATMAP_MAX_KEYPOINT: convert network
outputs for boxes to positions in the image.
"""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.boxes import box_parameters, in_eighths
from nnapi_shim.operations.declare import BoundOperation, Operation, form
from nnapi_shim.operations.rules import expect_dimensions, positive
from nnapi_shim.operations.shapes import nhwc
from nnapi_shim.operations.signatures import F16, F32, I32, QS8, QU8

FLOAT32, FLOAT16 = OperandType.FLOAT32, OperandType.FLOAT16
QU16 = OperandType.TENSOR_QUANT16_ASYMM


# AXIS_ALIGNED_BBOX_TRANSFORM


def transform_sizes(op: BoundOperation) -> None:
    """Sizes go together; only the number of rois may be 0."""
    expect_dimensions(op, rois=(None, 4))
    count = op.rois.dimensions[0]
    expect_dimensions(op, deltas=(count, None), batch_index=(count,), image_info=(None, 2))
    length = op.deltas.dimensions[1]
    if length % 4 or not length:
        raise op_failed(
            f"deltas has {length} numbers per roi; they must be 4 for each class",
            "axis-aligned-bbox-transform.deltas",
        )
    if not op.image_info.dimensions[0]:
        raise op_failed(
            "image_info has no images; there must be at least 1",
            "axis-aligned-bbox-transform.no-images",
        )


AXIS_ALIGNED_BBOX_TRANSFORM = Operation(
    OperationType.AXIS_ALIGNED_BBOX_TRANSFORM,
    doc="Boxes moved by (dx, dy) of their size, scaled by e^(dw, dh), clamped to their image.",
    columns="rois deltas image_info -> boxes",
    types={
        "f32": (3, F32, F32, F32, F32),
        "f16": (3, F16, F16, F16, F16),
        "qu16_qu8": (3, QU16, QU8, QU16, QU16),
        "qu16_qs8": (4, QU16, QS8, QU16, QU16),
    },
    forms=[form("rois deltas batch_index:TENSOR_INT32 image_info")],
    checks=[transform_sizes, in_eighths("rois", "image_info")],
    allow_zero_sized=True,
    shape=lambda op: [op.deltas.dimensions],
    quantization=box_parameters("boxes"),
    work=10,
)


# DETECTION_POSTPROCESSING


def detection_sizes(op: BoundOperation) -> None:
    """Sizes go together; there is a class beside the background, and deltas have 4 numbers."""
    expect_dimensions(op, scores=(None, None, None))
    batches, anchors, classes = op.scores.dimensions
    expect_dimensions(op, deltas=(batches, anchors, None), anchors=(anchors, 4))
    if classes < 2:
        raise op_failed(
            f"scores has {classes} classes; there must be at least 2",
            "detection-postprocessing.classes",
        )
    length = op.deltas.dimensions[2]
    if length < 4:
        raise op_failed(
            f"deltas has {length} numbers per anchor; there must be at least 4",
            "detection-postprocessing.deltas",
        )


def detection_limits(op: BoundOperation) -> None:
    """The limit that this kind of suppression uses is at least 1; thresholds are at least 0."""
    name = "max_detections_per_class" if op.use_regular_nms else "max_classes_per_detection"
    positive("max_num_detections", name)(op)
    for name in ("score_threshold", "iou_threshold"):
        if not getattr(op, name) >= 0:
            raise op_failed(
                f"{name} is {getattr(op, name)}; it must be at least 0",
                "detection-postprocessing.limits",
            )


def detection_shape(op: BoundOperation) -> list[Dimensions]:
    """The largest possible number of detections, for each image.

    Differs: the documentation has max_num_detections rows; with fast suppression the reference has
    max_classes_per_detection rows for each of them.
    """
    batches, rows = op.scores.dimensions[0], op.max_num_detections
    if not op.use_regular_nms:
        rows *= op.max_classes_per_detection
    return [(batches, rows), (batches, rows, 4), (batches, rows), (batches,)]


DETECTION_REALS = "scale_dy scale_dx scale_dh scale_dw score_threshold iou_threshold"
"""Scalars of the tensors' type."""

DETECTION_POSTPROCESSING = Operation(
    OperationType.DETECTION_POSTPROCESSING,
    doc="Boxes decoded from anchors and deltas, the best of them by non-maximum suppression.",
    columns=f"scores deltas anchors {DETECTION_REALS} -> "
    "out_scores out_boxes out_classes num_detections",
    types={
        "f32": (3, *(F32,) * 3, *(FLOAT32,) * 6, F32, F32, I32, I32),
        # Differs: the documentation has FLOAT32 scales here; the reference wants FLOAT16.
        "f16": (3, *(F16,) * 3, *(FLOAT16,) * 6, F16, F16, I32, I32),
    },
    forms=[
        form(
            "scores deltas anchors scale_dy scale_dx scale_dh scale_dw use_regular_nms:BOOL "
            "max_num_detections:INT32 max_classes_per_detection:INT32 "
            "max_detections_per_class:INT32 score_threshold iou_threshold "
            "is_background_in_label:BOOL"
        )
    ],
    checks=[
        detection_sizes,
        positive("scale_dy", "scale_dx", "scale_dh", "scale_dw"),
        detection_limits,
    ],
    shape=detection_shape,
    work=None,
)


# HEATMAP_MAX_KEYPOINT


def heatmap_sizes(op: BoundOperation) -> None:
    """Heatmaps are square, of at least 2 x 2 points; there is a box for each."""
    expect_dimensions(op, heatmaps=(None, None, None, None))
    count, height, width, _ = nhwc(op.heatmaps.dimensions, op.nchw)
    expect_dimensions(op, boxes=(count, 4))
    if height != width or height < 2:
        raise op_failed(
            f"heatmaps are {height} x {width}; they must be square, at least 2 x 2",
            "heatmap-max-keypoint.heatmaps",
        )


def heatmap_shape(op: BoundOperation) -> list[Dimensions]:
    """A score, and a position, for each box and keypoint."""
    count, _, _, keypoints = nhwc(op.heatmaps.dimensions, op.nchw)
    return [(count, keypoints), (count, keypoints, 2)]


HEATMAP_MAX_KEYPOINT = Operation(
    OperationType.HEATMAP_MAX_KEYPOINT,
    doc="Score and position of each heatmap's maximum, refined by a quadratic expansion.",
    columns="heatmaps boxes -> out_scores out_keypoints",
    types={
        "f32": (3, F32, F32, F32, F32),
        "f16": (3, F16, F16, F16, F16),
        "qu8": (3, QU8, QU16, QU8, QU16),
        "qs8": (4, QS8, QU16, QS8, QU16),
    },
    forms=[form("heatmaps boxes nchw:BOOL")],
    checks=[heatmap_sizes, in_eighths("boxes")],
    shape=heatmap_shape,
    quantization=box_parameters("out_keypoints"),
    work=(1, "heatmaps"),
)
