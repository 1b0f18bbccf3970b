"""Operations of the family detection; `make docs` writes this file."""

from collections.abc import Sequence

from nnapi_shim.api.methods.calling import (
    Bool,
    Calling,
    Float,
    Given,
    Int,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperationType


class DetectionMethods(Calling):
    """AXIS_ALIGNED_BBOX_TRANSFORM, DETECTION_POSTPROCESSING, HEATMAP_MAX_KEYPOINT."""

    def axis_aligned_bbox_transform(
        self,
        rois: Given,
        deltas: Given,
        batch_index: Given,
        image_info: Given,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation AXIS_ALIGNED_BBOX_TRANSFORM.

        Boxes moved by (dx, dy) of their size, scaled by e^(dw, dh), clamped to their image.

        rois: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM.
        deltas: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        batch_index: TENSOR_INT32.
        image_info: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives boxes (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM). Dimensions: those of
        `deltas`.
        Scale and zero point: parameters of outputs: `boxes` in eighths, `out_scores` those of an
        input, if one is named. (boxes: boxes; scores_like: )
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - Sizes go together; only the number of rois may be 0.
        - Quantized boxes have scale 1/8 and zero point 0. (names: rois, image_info)
        """
        return self._one(
            OperationType.AXIS_ALIGNED_BBOX_TRANSFORM,
            {
                "rois": rois,
                "deltas": deltas,
                "batch_index": batch_index,
                "image_info": image_info,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def detection_postprocessing(
        self,
        scores: Given,
        *,
        deltas: Given,
        anchors: Given,
        scale_dy: Float,
        scale_dx: Float,
        scale_dh: Float,
        scale_dw: Float,
        use_regular_nms: Bool,
        max_num_detections: Int,
        max_classes_per_detection: Int,
        max_detections_per_class: Int,
        score_threshold: Float,
        iou_threshold: Float,
        is_background_in_label: Bool,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand, Operand, Operand]:
        """The operation DETECTION_POSTPROCESSING.

        Boxes decoded from anchors and deltas, the best of them by non-maximum suppression.

        scores: TENSOR_FLOAT32, TENSOR_FLOAT16.
        deltas: TENSOR_FLOAT32, TENSOR_FLOAT16.
        anchors: TENSOR_FLOAT32, TENSOR_FLOAT16.
        scale_dy: FLOAT32, FLOAT16.
        scale_dx: FLOAT32, FLOAT16.
        scale_dh: FLOAT32, FLOAT16.
        scale_dw: FLOAT32, FLOAT16.
        use_regular_nms: BOOL.
        max_num_detections: INT32.
        max_classes_per_detection: INT32.
        max_detections_per_class: INT32.
        score_threshold: FLOAT32, FLOAT16.
        iou_threshold: FLOAT32, FLOAT16.
        is_background_in_label: BOOL.
        dimensions: of the output, where more is known than follows.

        Gives out_scores (TENSOR_FLOAT32, TENSOR_FLOAT16); out_boxes (TENSOR_FLOAT32,
        TENSOR_FLOAT16); out_classes (TENSOR_INT32); num_detections (TENSOR_INT32). Dimensions: rows
        for the most that can be found.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - Sizes go together; there is a class beside the background, and deltas have 4 numbers.
        - These scalars are greater than 0. (names: scale_dy, scale_dx, scale_dh, scale_dw)
        - The limit that this kind of suppression uses is at least 1; thresholds are at least 0.
        """
        out_scores, out_boxes, out_classes, num_detections = self._several(
            OperationType.DETECTION_POSTPROCESSING,
            {
                "scores": scores,
                "deltas": deltas,
                "anchors": anchors,
                "scale_dy": scale_dy,
                "scale_dx": scale_dx,
                "scale_dh": scale_dh,
                "scale_dw": scale_dw,
                "use_regular_nms": use_regular_nms,
                "max_num_detections": max_num_detections,
                "max_classes_per_detection": max_classes_per_detection,
                "max_detections_per_class": max_detections_per_class,
                "score_threshold": score_threshold,
                "iou_threshold": iou_threshold,
                "is_background_in_label": is_background_in_label,
            },
            Output(dimensions, name),
            None,
        )
        return out_scores, out_boxes, out_classes, num_detections

    def heatmap_max_keypoint(
        self,
        heatmaps: Given,
        boxes: Given,
        nchw: Bool,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand]:
        """The operation HEATMAP_MAX_KEYPOINT.

        Score and position of each heatmap's maximum, refined by a quadratic expansion.

        heatmaps: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        boxes: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives out_scores (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)); out_keypoints (TENSOR_FLOAT32, TENSOR_FLOAT16,
        TENSOR_QUANT16_ASYMM). Dimensions: a score, and a position, for each box and keypoint.
        Scale and zero point: parameters of outputs: `boxes` in eighths, `out_scores` those of an
        input, if one is named. (boxes: out_keypoints; scores_like: )
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - Heatmaps are square, of at least 2 x 2 points; there is a box for each.
        - Quantized boxes have scale 1/8 and zero point 0. (names: boxes)
        """
        out_scores, out_keypoints = self._several(
            OperationType.HEATMAP_MAX_KEYPOINT,
            {
                "heatmaps": heatmaps,
                "boxes": boxes,
                "nchw": nchw,
            },
            Output(dimensions, name, scale, zero_point, like),
            None,
        )
        return out_scores, out_keypoints
