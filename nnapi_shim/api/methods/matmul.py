"""Operations of the family matmul; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Activation,
    Bool,
    Calling,
    Given,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperationType


class MatmulMethods(Calling):
    """FULLY_CONNECTED, BATCH_MATMUL."""

    def fully_connected(
        self,
        input: Given,
        weights: Given,
        bias: Given,
        *,
        activation: Activation = "NONE",
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation FULLY_CONNECTED.

        output[b,u] = act(bias[u] + sum(input[b,k] * weights[u,k])), input flattened to [batch,
        input_size].

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        weights: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        bias: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_INT32.
        activation: applied to the result.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, units], the input flattened to
        [batch, input_size].
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Ranks, and the sizes that are known, fit (all three ranks known; semantics: NNAPI checks
          this when the operation is added).

        OP_FAILED, also of runs, unless:

        - The input has rank 2 to 4.
        - At run time these operands have exactly this rank. (names: weights; rank: 2)
        - At run time these operands have exactly this rank. (names: bias; rank: 1)
        - No dimension of these operands is 0. (names: weights)
        - A quantized bias has zero point 0 and scale input x filter, within 1e-6 of the smaller
          one. (filter_name: weights; input_name: input)
        - The fused activation is a FuseCode, and NONE for INT32 operands.
        """
        return self._one(
            OperationType.FULLY_CONNECTED,
            {
                "input": input,
                "weights": weights,
                "bias": bias,
                "activation": activation,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def batch_matmul(
        self,
        lhs: Given,
        rhs: Given,
        *,
        adj_x: Bool = False,
        adj_y: Bool = False,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation BATCH_MATMUL.

        output[..., r, c] = sum(lhs[..., r, k] * rhs[..., k, c]); adj_x and adj_y say that the
        matrices of lhs and rhs are stored transposed.

        lhs: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM_SIGNED.
        rhs: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM_SIGNED.
        adj_x: BOOL.
        adj_y: BOOL.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM_SIGNED).
        Dimensions: [..., rows, columns].
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 6.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - The sizes of lhs and rhs go together.
        """
        return self._one(
            OperationType.BATCH_MATMUL,
            {
                "lhs": lhs,
                "rhs": rhs,
                "adj_x": adj_x,
                "adj_y": adj_y,
            },
            Output(dimensions, name, scale, zero_point, like),
        )
