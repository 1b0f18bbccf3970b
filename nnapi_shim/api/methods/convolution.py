"""Operations of the family convolution; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Activation,
    Bool,
    Calling,
    Given,
    Int,
    Output,
    Padding,
    Pair,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperationType


class ConvolutionMethods(Calling):
    """CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D, TRANSPOSE_CONV_2D."""

    def conv_2d(
        self,
        input: Given,
        filter: Given,
        bias: Given,
        *,
        padding: Padding,
        stride: Pair = 1,
        activation: Activation = "NONE",
        nchw: Bool = False,
        dilation: Pair = 1,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation CONV_2D.

        output[n,y,x,o] = act(bias[o] + sum(input[n, y*stride_height - pad_top + i*dilation_height,
        x*stride_width - pad_left + j*dilation_width, k] * filter[o,i,j,k])); taps outside the image
        count as 0.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        filter: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_SYMM_PER_CHANNEL (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32.
        padding: a scheme, or zeros in front and behind: (left, right, top, bottom).
        stride: (width, height), or one number for both.
        activation: applied to the result.
        nchw: BOOL, whether channels stand in front of height and width.
        dilation: (width, height), or one number for both.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, out_height, out_width, depth] in
        the operation's layout.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are exactly `rank`. (names: input, filter; rank: 4)
        - A per-channel quantized operand has its scales along this dimension. (dim: 0; name:
          filter)

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input, filter; rank: 4)
        - At run time these operands have exactly this rank. (names: bias; rank: 1)
        - No dimension of these operands is 0. (names: filter)
        - Height, width and depth of the image `input` are at least 1; only its batch may be 0.
        - Filter is [depth_out, height, width, depth_in], bias [depth_out].
        - A quantized bias has zero point 0 and scale input x filter, within 1e-6 of the smaller
          one. (filter_name: filter; input_name: input)
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        """
        return self._one(
            OperationType.CONV_2D,
            {
                "input": input,
                "filter": filter,
                "bias": bias,
                "padding": padding,
                "stride": stride,
                "activation": activation,
                "nchw": nchw,
                "dilation": dilation,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def depthwise_conv_2d(
        self,
        input: Given,
        filter: Given,
        bias: Given,
        depth_multiplier: Int,
        *,
        padding: Padding,
        stride: Pair = 1,
        activation: Activation = "NONE",
        nchw: Bool = False,
        dilation: Pair = 1,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation DEPTHWISE_CONV_2D.

        output[n,y,x,c*depth_multiplier+m] = act(bias[...] + sum(input[n, y*stride_height - pad_top
        + i*dilation_height, x*stride_width - pad_left + j*dilation_width, c] *
        filter[0,i,j,c*depth_multiplier+m])); taps outside the image count as 0.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        filter: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_SYMM_PER_CHANNEL (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32.
        depth_multiplier: INT32.
        padding: a scheme, or zeros in front and behind: (left, right, top, bottom).
        stride: (width, height), or one number for both.
        activation: applied to the result.
        nchw: BOOL, whether channels stand in front of height and width.
        dilation: (width, height), or one number for both.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, out_height, out_width, depth] in
        the operation's layout.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - A per-channel quantized operand has its scales along this dimension. (dim: 3; name:
          filter)

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input, filter; rank: 4)
        - At run time these operands have exactly this rank. (names: bias; rank: 1)
        - No dimension of these operands is 0. (names: filter)
        - Height, width and depth of the image `input` are at least 1; only its batch may be 0.
        - Filter is [1, height, width, depth_in * depth_multiplier], bias [that depth].
        - A quantized bias has zero point 0 and scale input x filter, within 1e-6 of the smaller
          one. (filter_name: filter; input_name: input)
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        """
        return self._one(
            OperationType.DEPTHWISE_CONV_2D,
            {
                "input": input,
                "filter": filter,
                "bias": bias,
                "depth_multiplier": depth_multiplier,
                "padding": padding,
                "stride": stride,
                "activation": activation,
                "nchw": nchw,
                "dilation": dilation,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def grouped_conv_2d(
        self,
        input: Given,
        filter: Given,
        bias: Given,
        num_groups: Int,
        *,
        padding: Padding,
        stride: Pair = 1,
        activation: Activation = "NONE",
        nchw: Bool = False,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation GROUPED_CONV_2D.

        As CONV_2D, but the channels are num_groups groups: those of the output see those of the
        input with the same number alone.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        filter: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_SYMM_PER_CHANNEL (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32.
        num_groups: INT32.
        padding: a scheme, or zeros in front and behind: (left, right, top, bottom).
        stride: (width, height), or one number for both.
        activation: applied to the result.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, out_height, out_width, depth] in
        the operation's layout.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - A per-channel quantized operand has its scales along this dimension. (dim: 0; name:
          filter)

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input, filter; rank: 4)
        - At run time these operands have exactly this rank. (names: bias; rank: 1)
        - Filter is [depth_out, height, width, depth_in / num_groups], bias [depth_out].
        - A quantized bias has zero point 0 and scale input x filter, within 1e-6 of the smaller
          one. (filter_name: filter; input_name: input)
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        """
        return self._one(
            OperationType.GROUPED_CONV_2D,
            {
                "input": input,
                "filter": filter,
                "bias": bias,
                "num_groups": num_groups,
                "padding": padding,
                "stride": stride,
                "activation": activation,
                "nchw": nchw,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def transpose_conv_2d(
        self,
        input: Given,
        filter: Given,
        bias: Given,
        nchw: Bool,
        *,
        padding: Padding,
        stride: Pair = 1,
        activation: Activation = "NONE",
        output_shape: Given | None = None,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation TRANSPOSE_CONV_2D.

        output[n,y,x,o] = act(bias[o] + sum(input[n,h,w,k] * filter[o,i,j,k])) over all h, i, w, j
        with h*stride_height - pad_top + i = y and w*stride_width - pad_left + j = x.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        filter: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_SYMM_PER_CHANNEL (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32.
        nchw: BOOL, whether channels stand in front of height and width.
        padding: a scheme, or zeros in front and behind: (left, right, top, bottom).
        stride: (width, height), or one number for both.
        activation: applied to the result.
        output_shape: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, out_height, out_width, depth_out]
        in the operation's layout.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - A per-channel quantized operand has its scales along this dimension. (dim: 0; name:
          filter)

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input, filter; rank: 4)
        - At run time these operands have exactly this rank. (names: bias; rank: 1)
        - No dimension of these operands is 0. (names: filter)
        - Height, width and depth of the image `input` are at least 1; only its batch may be 0.
        - Filter is [depth_out, height, width, depth_in], bias [depth_out].
        - At run time the tensors of these values have one dimension. (names: output_shape; omitted:
          False)
        - The requested output has rank 4; of it height and width are looked at.
        - These scalars are greater than 0. (names: stride_width, stride_height)
        - A quantized bias has zero point 0 and scale input x filter, within 1e-6 of the smaller
          one. (filter_name: filter; input_name: input)
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        """
        return self._one(
            OperationType.TRANSPOSE_CONV_2D,
            {
                "input": input,
                "filter": filter,
                "bias": bias,
                "nchw": nchw,
                "padding": padding,
                "stride": stride,
                "activation": activation,
                "output_shape": output_shape,
            },
            Output(dimensions, name, scale, zero_point, like),
        )
