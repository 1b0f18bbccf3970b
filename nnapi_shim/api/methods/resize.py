"""Operations of the family resize; `make docs` writes this file."""

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
from nnapi_shim.hal.enums import OperationType


class ResizeMethods(Calling):
    """RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR."""

    def resize_bilinear(
        self,
        input: Given,
        *,
        output_width: Int | None = None,
        output_height: Int | None = None,
        nchw: Bool = False,
        align_corners: Bool = False,
        half_pixel_centers: Bool = False,
        width_scale: Float | None = None,
        height_scale: Float | None = None,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation RESIZE_BILINEAR.

        output[n,y,x,c] = the mean of the four input pixels around (y, x), weighted by distance.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3),
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        output_width: INT32.
        output_height: INT32.
        nchw: BOOL, whether channels stand in front of height and width.
        align_corners: BOOL.
        half_pixel_centers: BOOL.
        width_scale: FLOAT32, FLOAT16 (level 3).
        height_scale: FLOAT32, FLOAT16 (level 3).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3),
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, output_height, output_width,
        depth] in the operation's layout.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        - Height, width and depth of the image `input` are at least 1; only its batch may be 0.
        - At most one of align_corners and half_pixel_centers is set.
        """
        return self._one(
            OperationType.RESIZE_BILINEAR,
            {
                "input": input,
                "output_width": output_width,
                "output_height": output_height,
                "nchw": nchw,
                "align_corners": align_corners,
                "half_pixel_centers": half_pixel_centers,
                "width_scale": width_scale,
                "height_scale": height_scale,
            },
            Output(dimensions, name),
        )

    def resize_nearest_neighbor(
        self,
        input: Given,
        *,
        output_width: Int | None = None,
        output_height: Int | None = None,
        nchw: Bool = False,
        align_corners: Bool = False,
        half_pixel_centers: Bool = False,
        width_scale: Float | None = None,
        height_scale: Float | None = None,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation RESIZE_NEAREST_NEIGHBOR.

        output[n,y,x,c] = the input pixel that (y, x) falls on.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        output_width: INT32.
        output_height: INT32.
        nchw: BOOL, whether channels stand in front of height and width.
        align_corners: BOOL.
        half_pixel_centers: BOOL.
        width_scale: FLOAT32, FLOAT16.
        height_scale: FLOAT32, FLOAT16.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, output_height, output_width,
        depth] in the operation's layout.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 3; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        - Height, width and depth of the image `input` are at least 1; only its batch may be 0.
        - At most one of align_corners and half_pixel_centers is set.
        """
        return self._one(
            OperationType.RESIZE_NEAREST_NEIGHBOR,
            {
                "input": input,
                "output_width": output_width,
                "output_height": output_height,
                "nchw": nchw,
                "align_corners": align_corners,
                "half_pixel_centers": half_pixel_centers,
                "width_scale": width_scale,
                "height_scale": height_scale,
            },
            Output(dimensions, name),
        )
