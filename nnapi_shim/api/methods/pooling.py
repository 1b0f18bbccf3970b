"""Operations of the family pooling; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Activation,
    Bool,
    Calling,
    Given,
    Output,
    Padding,
    Pair,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class PoolingMethods(Calling):
    """AVERAGE_POOL_2D, L2_POOL_2D, MAX_POOL_2D."""

    def average_pool_2d(
        self,
        input: Given,
        *,
        padding: Padding,
        stride: Pair = 1,
        filter: Pair,
        activation: Activation = "NONE",
        nchw: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation AVERAGE_POOL_2D.

        output[n,y,x,c] = act(sum / count) over the part of the window that lies inside the image.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        padding: a scheme, or zeros in front and behind: (left, right, top, bottom).
        stride: (width, height), or one number for both.
        filter: size of the window: (width, height), or one number for both.
        activation: applied to the result.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, out_height, out_width, depth] in
        the operation's layout.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        - Height, width and depth of the image `input` are at least 1; only its batch may be 0.
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        """
        return self._one(
            OperationType.AVERAGE_POOL_2D,
            {
                "input": input,
                "padding": padding,
                "stride": stride,
                "filter": filter,
                "activation": activation,
                "nchw": nchw,
            },
            Output(dimensions, name),
        )

    def l2_pool_2d(
        self,
        input: Given,
        *,
        padding: Padding,
        stride: Pair = 1,
        filter: Pair,
        activation: Activation = "NONE",
        nchw: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation L2_POOL_2D.

        output[n,y,x,c] = act(sqrt(sum of squares / count)) over the part of the window that lies
        inside the image.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        padding: a scheme, or zeros in front and behind: (left, right, top, bottom).
        stride: (width, height), or one number for both.
        filter: size of the window: (width, height), or one number for both.
        activation: applied to the result.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3)). Dimensions: [batch, out_height,
        out_width, depth] in the operation's layout.
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        - Height, width and depth of the image `input` are at least 1; only its batch may be 0.
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        """
        return self._one(
            OperationType.L2_POOL_2D,
            {
                "input": input,
                "padding": padding,
                "stride": stride,
                "filter": filter,
                "activation": activation,
                "nchw": nchw,
            },
            Output(dimensions, name),
        )

    def max_pool_2d(
        self,
        input: Given,
        *,
        padding: Padding,
        stride: Pair = 1,
        filter: Pair,
        activation: Activation = "NONE",
        nchw: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation MAX_POOL_2D.

        output[n,y,x,c] = act(maximum) over the part of the window that lies inside the image.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        padding: a scheme, or zeros in front and behind: (left, right, top, bottom).
        stride: (width, height), or one number for both.
        filter: size of the window: (width, height), or one number for both.
        activation: applied to the result.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, out_height, out_width, depth] in
        the operation's layout.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        - Height, width and depth of the image `input` are at least 1; only its batch may be 0.
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        """
        return self._one(
            OperationType.MAX_POOL_2D,
            {
                "input": input,
                "padding": padding,
                "stride": stride,
                "filter": filter,
                "activation": activation,
                "nchw": nchw,
            },
            Output(dimensions, name),
        )
