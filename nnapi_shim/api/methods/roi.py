"""Operations of the family roi; `make docs` writes this file."""

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


class RoiMethods(Calling):
    """ROI_ALIGN, ROI_POOLING."""

    def roi_align(
        self,
        input: Given,
        *,
        rois: Given,
        batch_index: Given,
        out_height: Int,
        out_width: Int,
        height_stride: Float,
        width_stride: Float,
        height_sampling_ratio: Int,
        width_sampling_ratio: Int,
        nchw: Bool,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation ROI_ALIGN.

        Each roi cut into bins, and the mean of bilinear samples of each bin.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        rois: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM.
        batch_index: TENSOR_INT32.
        out_height: INT32.
        out_width: INT32.
        height_stride: FLOAT32, FLOAT16.
        width_stride: FLOAT32, FLOAT16.
        height_sampling_ratio: INT32.
        width_sampling_ratio: INT32.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: an image of the output size for each roi,
        with the depth of the input.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - Each roi has 4 numbers and an image; the indices of images may have further sizes of 1.
        - No dimension of these operands is 0. (names: input)
        - Quantized boxes have scale 1/8 and zero point 0. (names: rois)
        - These scalars are greater than 0. (names: out_height, out_width, height_stride,
          width_stride)
        - Numbers of samples are at least 0, which asks for as many as a bin has points.
        """
        return self._one(
            OperationType.ROI_ALIGN,
            {
                "input": input,
                "rois": rois,
                "batch_index": batch_index,
                "out_height": out_height,
                "out_width": out_width,
                "height_stride": height_stride,
                "width_stride": width_stride,
                "height_sampling_ratio": height_sampling_ratio,
                "width_sampling_ratio": width_sampling_ratio,
                "nchw": nchw,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def roi_pooling(
        self,
        input: Given,
        rois: Given,
        batch_index: Given,
        out_height: Int,
        out_width: Int,
        height_stride: Float,
        width_stride: Float,
        nchw: Bool,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation ROI_POOLING.

        Each roi, its corners rounded, cut into bins, and the maximum of each bin.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        rois: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT16_ASYMM.
        batch_index: TENSOR_INT32.
        out_height: INT32.
        out_width: INT32.
        height_stride: FLOAT32, FLOAT16.
        width_stride: FLOAT32, FLOAT16.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: an image of the output size for each roi,
        with the depth of the input.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - Each roi has 4 numbers and an image; the indices of images may have further sizes of 1.
        - No dimension of these operands is 0. (names: input)
        - Quantized boxes have scale 1/8 and zero point 0. (names: rois)
        - These scalars are greater than 0. (names: out_height, out_width, height_stride,
          width_stride)
        """
        return self._one(
            OperationType.ROI_POOLING,
            {
                "input": input,
                "rois": rois,
                "batch_index": batch_index,
                "out_height": out_height,
                "out_width": out_width,
                "height_stride": height_stride,
                "width_stride": width_stride,
                "nchw": nchw,
            },
            Output(dimensions, name),
        )
