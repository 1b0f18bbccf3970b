"""Operations of the family binary; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Activation,
    Calling,
    Given,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperationType


class BinaryMethods(Calling):
    """ADD, MUL, DIV, SUB, MAXIMUM, MINIMUM, POW."""

    def add(
        self,
        input0: Given,
        input1: Given,
        *,
        activation: Activation = "NONE",
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation ADD.

        output = act(input0 + input1).

        input0: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
            TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
            TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        activation: applied to the result.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
        TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: aligned at the end,
        each pair of sizes equal or one of them 1; 0 wins over 1.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input0, input1) As
          rank_at_most, but looked at only when the rank of every operand named is known. (names:
          input0, input1)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input0, input1)
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        - The reference adds in units of 2 * max(input scales) / 2^20, which the output must exceed,
          and which, like 2^20 times the output's scale, must be a float32.
        """
        return self._one(
            OperationType.ADD,
            {
                "input0": input0,
                "input1": input1,
                "activation": activation,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def mul(
        self,
        input0: Given,
        input1: Given,
        *,
        activation: Activation = "NONE",
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation MUL.

        output = act(input0 * input1).

        input0: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
            TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
            TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        activation: applied to the result.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
        TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: aligned at the end,
        each pair of sizes equal or one of them 1; 0 wins over 1.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input0, input1) As
          rank_at_most, but looked at only when the rank of every operand named is known. (names:
          input0, input1)
        - The output scale of a quantized product is greater than the product of the input scales.

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input0, input1)
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        - The multiplier of a quantized product, the input scales over the output's, is not 0.
        """
        return self._one(
            OperationType.MUL,
            {
                "input0": input0,
                "input1": input1,
                "activation": activation,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def div(
        self,
        input0: Given,
        input1: Given,
        *,
        activation: Activation = "NONE",
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation DIV.

        output = act(input0 / input1); integers are rounded down, and x / 0 is 0.

        input0: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        activation: applied to the result.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: aligned at the end, each pair of sizes
        equal or one of them 1; 0 wins over 1.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 2.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input0, input1) As
          rank_at_most, but looked at only when the rank of every operand named is known. (names:
          input0, input1)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input0, input1)
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        - Differs: the documentation has no quantized DIV; the reference accepts the signed type
          when the operation is added, and fails when it is reached.
        """
        return self._one(
            OperationType.DIV,
            {
                "input0": input0,
                "input1": input1,
                "activation": activation,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def sub(
        self,
        input0: Given,
        input1: Given,
        *,
        activation: Activation = "NONE",
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation SUB.

        output = act(input0 - input1).

        input0: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
            TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
            TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        activation: applied to the result.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32 (level 4),
        TENSOR_QUANT8_ASYMM (level 3), TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: aligned at
        the end, each pair of sizes equal or one of them 1; 0 wins over 1.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 2.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input0, input1) As
          rank_at_most, but looked at only when the rank of every operand named is known. (names:
          input0, input1)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input0, input1)
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        - The reference adds in units of 2 * max(input scales) / 2^20, which the output must exceed,
          and which, like 2^20 times the output's scale, must be a float32.
        """
        return self._one(
            OperationType.SUB,
            {
                "input0": input0,
                "input1": input1,
                "activation": activation,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def maximum(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation MAXIMUM.

        output = max(input0, input1).

        input0: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: aligned at the end, each pair of sizes
        equal or one of them 1; 0 wins over 1.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.MAXIMUM,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def minimum(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation MINIMUM.

        output = min(input0, input1).

        input0: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: aligned at the end, each pair of sizes
        equal or one of them 1; 0 wins over 1.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.MINIMUM,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def pow(
        self,
        base: Given,
        exponent: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation POW.

        output = base^exponent.

        base: TENSOR_FLOAT32, TENSOR_FLOAT16.
        exponent: TENSOR_FLOAT32, TENSOR_FLOAT16.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16). Dimensions: aligned at the end, each pair of
        sizes equal or one of them 1; 0 wins over 1.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.POW,
            {
                "base": base,
                "exponent": exponent,
            },
            Output(dimensions, name),
        )
