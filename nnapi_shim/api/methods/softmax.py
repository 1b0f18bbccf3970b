"""Operations of the family softmax; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
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


class SoftmaxMethods(Calling):
    """SOFTMAX, LOG_SOFTMAX."""

    def softmax(
        self,
        input: Given,
        *,
        beta: Float = 1.0,
        axis: Int = -1,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation SOFTMAX.

        output = exp((input - max) * beta) / sum(exp((input - max) * beta)), along `axis`.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        beta: FLOAT32, FLOAT16 (level 3).
        axis: INT32.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those of `input`.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - The feature level at which each rank of an operand became legal; other ranks are refused.
          (name: input; since: 1 from level 3, 2 from level 1, 3 from level 3, 4 from level 1)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - These scalars are greater than 0. (names: beta)
        - The axis lies in [-rank, rank) of the input.
        - The declared output parameters are the fixed ones, also on an operand inside the model
          (alone among the operations with fixed parameters), unless the tensor is empty.
        - Beta * input scale is above 2^-26: the reference works in Q5.26 and fails below.
        """
        return self._one(
            OperationType.SOFTMAX,
            {
                "input": input,
                "beta": beta,
                "axis": axis,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def log_softmax(
        self,
        input: Given,
        axis: Int,
        *,
        beta: Float = 1.0,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LOG_SOFTMAX.

        output = (input - max) * beta - log(sum(exp((input - max) * beta))), along `axis`.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32.
        axis: INT32.
        beta: FLOAT16, FLOAT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32). Dimensions: those of `input`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - The axis lies in [-rank, rank) of the input.
        """
        return self._one(
            OperationType.LOG_SOFTMAX,
            {
                "input": input,
                "axis": axis,
                "beta": beta,
            },
            Output(dimensions, name),
        )
