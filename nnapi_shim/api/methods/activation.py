"""Operations of the family activation; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Calling,
    Float,
    Given,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperationType


class ActivationMethods(Calling):
    """LOGISTIC, RELU, RELU1, RELU6, TANH, PRELU, ELU, HARD_SWISH."""

    def logistic(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LOGISTIC.

        output = 1 / (1 + exp(-input)).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those of `input`.
        Scale and zero point: scale and zero point given by the operation, per variant; others have
        none. (variants: qu8 from level (0.00390625, 0), qs8 from level (0.00390625, -128))
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - A quantized input's scale is above 2^-27: the reference works in Q4.27 and fails below.
        """
        return self._one(
            OperationType.LOGISTIC,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def relu(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation RELU.

        output = max(0, input).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those of `input`.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        """
        return self._one(
            OperationType.RELU,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def relu1(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation RELU1.

        output = min(1, max(-1, input)).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those of `input`.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        """
        return self._one(
            OperationType.RELU1,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def relu6(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation RELU6.

        output = min(6, max(0, input)).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those of `input`.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        """
        return self._one(
            OperationType.RELU6,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def tanh(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation TANH.

        output = tanh(input).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3),
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3),
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those of `input`.
        Scale and zero point: scale and zero point given by the operation, per variant; others have
        none. (variants: qu8 from level (0.0078125, 128), qs8 from level (0.0078125, 0))
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - A quantized input's scale is above 2^-27: the reference works in Q4.27 and fails below.
        """
        return self._one(
            OperationType.TANH,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def prelu(
        self,
        input: Given,
        alpha: Given,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation PRELU.

        output = input for input >= 0, else alpha * input.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        alpha: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: aligned at the end, each pair of sizes
        equal or one of them 1; 0 wins over 1.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.PRELU,
            {
                "input": input,
                "alpha": alpha,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def elu(
        self,
        input: Given,
        alpha: Float,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation ELU.

        output = max(0, input) + min(0, alpha * (e^input - 1)).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16.
        alpha: FLOAT32, FLOAT16.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16). Dimensions: those of `input`.
        Since feature level 4.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.ELU,
            {
                "input": input,
                "alpha": alpha,
            },
            Output(dimensions, name),
        )

    def hard_swish(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation HARD_SWISH.

        output = input * min(6, max(0, input + 3)) / 6.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED). Dimensions: those of `input`.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 4.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - A quantized input's scale is below 128 times the output's: the reference works with 7 more
          bits of the input and fails where its multiplier would exceed 1.
        """
        return self._one(
            OperationType.HARD_SWISH,
            {
                "input": input,
            },
            Output(dimensions, name, scale, zero_point, like),
        )
