"""Operations of the family conversion; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Output,
    Sizes,
    Type,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperationType


class ConversionMethods(Calling):
    """DEQUANTIZE, CAST, QUANTIZE."""

    def dequantize(
        self,
        input: Given,
        *,
        output: Type | None = None,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation DEQUANTIZE.

        output = scale * (input - zero_point); per-channel scales by index along their dimension.

        input: TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM (level 3), TENSOR_QUANT8_SYMM_PER_CHANNEL
            (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        output: type of the output, of which there is a choice.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3)). Dimensions: those of `input`.
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        """
        return self._one(
            OperationType.DEQUANTIZE,
            {
                "input": input,
            },
            Output(dimensions, name, type=output),
        )

    def cast(
        self,
        input: Given,
        *,
        output: Type | None = None,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation CAST.

        output = input, without scales and zero points; toward zero, within 0 to 255 for bytes.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM, TENSOR_BOOL8
            (level 4), TENSOR_QUANT16_ASYMM (level 4), TENSOR_QUANT16_SYMM (level 4),
            TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_QUANT8_SYMM (level 4).
        output: type of the output, of which there is a choice.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_BOOL8 (level 4), TENSOR_QUANT16_ASYMM (level 4), TENSOR_QUANT16_SYMM (level 4),
        TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_QUANT8_SYMM (level 4)). Dimensions: those of
        `input`.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - An output that is fully known has the dimensions of an input whose rank is known.
        """
        return self._one(
            OperationType.CAST,
            {
                "input": input,
            },
            Output(dimensions, name, scale, zero_point, like, type=output),
        )

    def quantize(
        self,
        input: Given,
        *,
        output: Type | None = None,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation QUANTIZE.

        output = clamp(zero_point + round(input / scale)), halves rounded away from zero.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16.
        output: type of the output, of which there is a choice.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those
        of `input`.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.QUANTIZE,
            {
                "input": input,
            },
            Output(dimensions, name, scale, zero_point, like, type=output),
        )
