"""Operations of the family unary; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperationType


class UnaryMethods(Calling):
    """FLOOR, ABS, EXP, LOG, NEG, RSQRT, SIN, SQRT."""

    def floor(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation FLOOR.

        output = the largest integer that is not above input.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
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
            OperationType.FLOOR,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def abs(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation ABS.

        output = |input|.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32 (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32 (level 4)). Dimensions: those of
        `input`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.ABS,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def exp(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation EXP.

        output = e^input.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16). Dimensions: those of `input`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.EXP,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def log(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LOG.

        output = ln(input).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16). Dimensions: those of `input`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.LOG,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def neg(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation NEG.

        output = -input.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32). Dimensions: those of `input`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.NEG,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def rsqrt(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation RSQRT.

        output = 1 / sqrt(input).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM (level 7),
            TENSOR_QUANT8_ASYMM_SIGNED (level 7).
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM (level 7),
        TENSOR_QUANT8_ASYMM_SIGNED (level 7)). Dimensions: those of `input`.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.RSQRT,
            {
                "input": input,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def sin(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation SIN.

        output = sin(input).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16). Dimensions: those of `input`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.SIN,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def sqrt(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation SQRT.

        output = sqrt(input).

        input: TENSOR_FLOAT32, TENSOR_FLOAT16.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16). Dimensions: those of `input`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.SQRT,
            {
                "input": input,
            },
            Output(dimensions, name),
        )
