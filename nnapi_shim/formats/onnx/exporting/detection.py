"""Boxes and regions of interest."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.expansion import boxes
from nnapi_shim.formats.graph.rule import RefusedError, Rule
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.formats.onnx.exporting.constants import longs
from nnapi_shim.formats.onnx.exporting.convolution import on_image
from nnapi_shim.formats.onnx.exporting.types import INT64, code
from nnapi_shim.hal.enums import OperandType as T

CHOSEN = "NonMaxSuppression has no soft suppression and orders equal scores differently"


def _scaled_rois(b: Any, op: Node) -> Tensor:
    """Regions scaled to the feature map."""
    strides = [op.width_stride, op.height_stride] * 2
    factors = constant(1 / np.asarray(strides, np.float32))
    return b.mul(op.rois, factors)  # type: ignore[no-any-return]


def _roi_align(b: Any, op: Node) -> None:
    if op.height_sampling_ratio != op.width_sampling_ratio:
        raise RefusedError("RoiAlign has one sampling ratio for both directions")
    # Regions have at least one pixel: samples lie beyond the last one, where RoiAlign has 0.
    image = op.input
    batch, height, width, depth = image.dimensions
    sizes = (batch, height and height + 1, width and width + 1, depth)
    pads = longs([0, 0, 0, 0, 0, 1, 1, 0])
    op = op.with_operands(input=b.node("Pad", [image, pads], sizes=sizes, mode="edge"))
    numbers = b.node("Cast", [op.batch_index], like=op.batch_index, type=INT64, to=code(INT64))
    on_image(
        b,
        op,
        "RoiAlign",
        [_scaled_rois(b, op), numbers],
        mode="avg",
        output_height=op.out_height,
        output_width=op.out_width,
        sampling_ratio=op.height_sampling_ratio,
        spatial_scale=1.0,
        coordinate_transformation_mode="output_half_pixel",
    )


def _roi_pooling(b: Any, op: Node) -> None:
    numbers = b.cast(op.batch_index, op.batch_index.like(type=T.TENSOR_FLOAT32))
    count = op.rois.dimensions[0]
    column = b.node("Unsqueeze", [numbers, longs([1])], sizes=(count, 1))
    rois = b.node("Concat", [column, _scaled_rois(b, op)], sizes=(count, 5), axis=1)
    shape = [op.out_height, op.out_width]
    on_image(b, op, "MaxRoiPool", [rois], pooled_shape=shape, spatial_scale=1.0)


# DETECTION_POSTPROCESSING


def _detection(b: Any, op: Node) -> None:
    """One image: decode boxes, NonMaxSuppression, pad to the maximal number of detections."""
    batch, count, classes = op.scores.dimensions
    if batch != 1:
        raise RefusedError(f"only one image can be expressed, not {batch}")
    boxes = _decoded(b, op, count)
    scores = b.slice(op.scores, (0, 0, 1), (1, count, classes - 1))
    by_class = b.transpose(scores, (0, 2, 1))
    if op.use_regular_nms:
        flat, labels = _per_class(b, op, boxes, by_class)
        selected = b.node("Gather", [b.reshape(boxes, (count, 4)), flat], sizes=(), axis=0)
        values = _at(b, by_class, labels, flat)
    else:
        selected, values, labels = _best_classes(b, op, boxes, scores, by_class)
    rows = op.out_scores.dimensions[1]
    if op.is_background_in_label:
        labels = b.node("Add", [labels, longs(1)], sizes=(), type=INT64)
    _padded(b, selected, (rows, 4), op.out_boxes)
    _padded(b, values, (rows,), op.out_scores)
    int_labels = b.node("Cast", [labels], sizes=(), type=T.TENSOR_INT32, to=code(T.TENSOR_INT32))
    _padded(b, int_labels, (rows,), op.out_classes)
    shape = b.node("Shape", [labels], sizes=(1,), type=INT64)
    b.emit("Cast", [shape], [op.num_detections], to=code(T.TENSOR_INT32))


def _decoded(b: Any, op: Node, count: int) -> Tensor:
    """Boxes [1, count, 4] as y1, x1, y2, x2."""
    anchors = b.reshape(op.anchors, (1, count, 4))
    scales = (op.scale_dy, op.scale_dx, op.scale_dh, op.scale_dw)

    def column(x: Tensor, at: int) -> Tensor:
        return b.slice(x, (0, 0, at), (1, count, 1))  # type: ignore[no-any-return]

    edges = []
    for axis in (0, 1):
        size = column(anchors, axis + 2)
        moved = b.mul(b.binary("DIV", column(op.deltas, axis), float(scales[axis])), size)
        centre = b.add(moved, column(anchors, axis))
        scaled = b.binary("DIV", column(op.deltas, axis + 2), float(scales[axis + 2]))
        half = b.mul(b.mul(b.unary("EXP", scaled), size), 0.5)
        edges.append((b.sub(centre, half), b.add(centre, half)))
    (top, bottom), (left, right) = edges
    return b.concatenate([top, left, bottom, right], 2)  # type: ignore[no-any-return]


def _suppressed(b: Any, op: Node, boxes: Tensor, scores: Tensor, most: int) -> Tensor:
    """[selected, 3]: image, class, box. Scores are [1, classes, boxes]."""
    parameters = [
        longs([most]),
        constant([float(op.iou_threshold)]),
        constant([float(op.score_threshold)]),
    ]
    return b.node("NonMaxSuppression", [boxes, scores, *parameters], sizes=(), type=INT64)  # type: ignore[no-any-return]


def _index(b: Any, selected: Tensor, at: int) -> Tensor:
    return b.node("Gather", [selected, longs(at)], sizes=(), type=INT64, axis=1)  # type: ignore[no-any-return]


def _at(b: Any, by_class: Tensor, labels: Tensor, anchors: Tensor) -> Tensor:
    """The scores at pairs of class and anchor."""
    pairs = [b.node("Unsqueeze", [t, longs([1])], sizes=(), type=INT64) for t in (labels, anchors)]
    where = b.node("Concat", pairs, sizes=(), type=INT64, axis=1)
    table = b.reshape(by_class, by_class.dimensions[1:])
    return b.node("GatherND", [table, where], sizes=())  # type: ignore[no-any-return]


def _limit(b: Any, values: Tensor, most: int) -> Tensor:
    """min(number of values, `most`), a one-element tensor."""
    count = b.node("Shape", [values], sizes=(1,), type=INT64)
    return b.node("Min", [count, longs([most])], like=count)  # type: ignore[no-any-return]


def _per_class(b: Any, op: Node, boxes: Tensor, by_class: Tensor) -> tuple[Tensor, Tensor]:
    """Suppression in each class, then the best detections of all classes."""
    selected = _suppressed(b, op, boxes, by_class, op.max_detections_per_class)
    labels, anchors = _index(b, selected, 1), _index(b, selected, 2)
    values = _at(b, by_class, labels, anchors)
    best, order = Tensor(values.type, ()), Tensor(INT64, ())  # type: ignore[arg-type]
    b.emit("TopK", [values, _limit(b, values, op.max_num_detections)], [best, order], axis=0)
    return tuple(
        b.node("Gather", [t, order], sizes=(), type=INT64, axis=0) for t in (anchors, labels)
    )


def _best_classes(
    b: Any, op: Node, boxes: Tensor, scores: Tensor, by_class: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One suppression by the best class of each box, then the best classes of the remaining
    boxes.
    """
    _, classes, count = by_class.dimensions
    best = b.node("ReduceMax", [by_class, longs([1])], sizes=(1, 1, count), keepdims=1)
    selected = _suppressed(b, op, boxes, best, op.max_num_detections)
    anchors = _index(b, selected, 2)
    each = min(op.max_classes_per_detection, classes)
    rows = b.node("Gather", [b.reshape(scores, (count, classes)), anchors], sizes=(), axis=0)
    values, labels = Tensor(rows.type, ()), Tensor(INT64, ())  # type: ignore[arg-type]
    b.emit("TopK", [rows, longs([each])], [values, labels], axis=1)
    kept = b.node("Gather", [b.reshape(boxes, (count, 4)), anchors], sizes=(), axis=0)
    wide = b.node("Unsqueeze", [kept, longs([1])], sizes=())
    repeated = b.node("Tile", [wide, longs([1, each, 1])], sizes=())
    flat = b.node("Reshape", [repeated, longs([-1, 4])], sizes=())
    one_row = longs([-1])
    return (
        flat,
        b.node("Reshape", [values, one_row], sizes=()),
        b.node("Reshape", [labels, one_row], sizes=(), type=INT64),
    )


def _padded(b: Any, x: Tensor, sizes: tuple[int, ...], out: Tensor) -> None:
    """Rows padded with zeros, as [1, rows, ..]."""
    rows = b.node("Shape", [x], sizes=(1,), type=INT64, start=0, end=1)
    missing = b.node("Sub", [longs([sizes[0]]), rows], like=rows)
    before = longs([0] * len(sizes))
    after = longs([0] * (len(sizes) - 1))
    pads = b.node("Concat", [before, missing, after], sizes=(), type=INT64, axis=0)
    padded = b.node("Pad", [x, pads], sizes=(), mode="constant")
    b.emit("Reshape", [padded, longs([1, *sizes])], [out])


RULES = {
    "DETECTION_POSTPROCESSING": Rule(
        "Sub, Mul, Exp, Add, NonMaxSuppression, TopK, Gather, Pad", _detection, "one image only"
    ),
    "AXIS_ALIGNED_BBOX_TRANSFORM": Rule(
        "Sub, Mul, Exp, Add, Min, Max", boxes.axis_aligned_bbox_transform
    ),
    "ROI_ALIGN": Rule("Pad, RoiAlign", _roi_align),
    "ROI_POOLING": Rule("MaxRoiPool", _roi_pooling),
    "BOX_WITH_NMS_LIMIT": Rule("", None, CHOSEN),
    "GENERATE_PROPOSALS": Rule("", None, CHOSEN),
    "HEATMAP_MAX_KEYPOINT": Rule("", None, "ONNX has no operator for it"),
}
