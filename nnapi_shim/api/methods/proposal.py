"""Operations of the family proposal; `make docs` writes this file."""

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


class ProposalMethods(Calling):
    """BOX_WITH_NMS_LIMIT, GENERATE_PROPOSALS."""

    def box_with_nms_limit(
        self,
        scores: Given,
        *,
        rois: Given,
        batch_index: Given,
        score_threshold: Float,
        max_num_detections: Int,
        nms_kernel: Int,
        iou_threshold: Float,
        sigma: Float,
        nms_score_threshold: Float,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand, Operand, Operand]:
        """The operation BOX_WITH_NMS_LIMIT.

        For each class the boxes of highest score, each lowering the scores of its neighbours.

        scores: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        rois: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM.
        batch_index: TENSOR_INT32.
        score_threshold: FLOAT32, FLOAT16.
        max_num_detections: INT32.
        nms_kernel: INT32.
        iou_threshold: FLOAT32, FLOAT16.
        sigma: FLOAT32, FLOAT16.
        nms_score_threshold: FLOAT32, FLOAT16.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives out_scores (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)); out_rois (TENSOR_FLOAT32, TENSOR_FLOAT16,
        TENSOR_QUANT16_ASYMM); out_classes (TENSOR_INT32); out_batch_index (TENSOR_INT32).
        Dimensions: decided by the run.
        Scale and zero point: parameters of outputs: `boxes` in eighths, `out_scores` those of an
        input, if one is named. (boxes: out_rois; scores_like: scores)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - Sizes go together; there is a class beside the background, which is the first.
        - Quantized boxes have scale 1/8 and zero point 0. (names: rois)
        - The code is one of the three.
        """
        out_scores, out_rois, out_classes, out_batch_index = self._several(
            OperationType.BOX_WITH_NMS_LIMIT,
            {
                "scores": scores,
                "rois": rois,
                "batch_index": batch_index,
                "score_threshold": score_threshold,
                "max_num_detections": max_num_detections,
                "nms_kernel": nms_kernel,
                "iou_threshold": iou_threshold,
                "sigma": sigma,
                "nms_score_threshold": nms_score_threshold,
            },
            Output(dimensions, name, scale, zero_point, like),
            None,
        )
        return out_scores, out_rois, out_classes, out_batch_index

    def generate_proposals(
        self,
        scores: Given,
        *,
        deltas: Given,
        anchors: Given,
        image_info: Given,
        height_stride: Float,
        width_stride: Float,
        pre_nms_top_n: Int,
        post_nms_top_n: Int,
        iou_threshold: Float,
        min_size: Float,
        nchw: Bool,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand, Operand]:
        """The operation GENERATE_PROPOSALS.

        Anchors at each point of a feature map, moved and scaled by deltas; the best of them.

        scores: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        deltas: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        anchors: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT16_SYMM.
        image_info: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM.
        height_stride: FLOAT32, FLOAT16.
        width_stride: FLOAT32, FLOAT16.
        pre_nms_top_n: INT32.
        post_nms_top_n: INT32.
        iou_threshold: FLOAT32, FLOAT16.
        min_size: FLOAT32, FLOAT16.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives out_scores (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)); out_rois (TENSOR_FLOAT32, TENSOR_FLOAT16,
        TENSOR_QUANT16_ASYMM); out_batch_index (TENSOR_INT32). Dimensions: decided by the run.
        Scale and zero point: parameters of outputs: `boxes` in eighths, `out_scores` those of an
        input, if one is named. (boxes: out_rois; scores_like: scores)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - Sizes go together.
        - Quantized boxes have scale 1/8 and zero point 0. (names: anchors, image_info)
        """
        out_scores, out_rois, out_batch_index = self._several(
            OperationType.GENERATE_PROPOSALS,
            {
                "scores": scores,
                "deltas": deltas,
                "anchors": anchors,
                "image_info": image_info,
                "height_stride": height_stride,
                "width_stride": width_stride,
                "pre_nms_top_n": pre_nms_top_n,
                "post_nms_top_n": post_nms_top_n,
                "iou_threshold": iou_threshold,
                "min_size": min_size,
                "nchw": nchw,
            },
            Output(dimensions, name, scale, zero_point, like),
            None,
        )
        return out_scores, out_rois, out_batch_index
