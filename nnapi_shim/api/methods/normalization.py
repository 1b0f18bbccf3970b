"""Operations of the family normalization; `make docs` writes this file."""

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


class NormalizationMethods(Calling):
    """L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION, INSTANCE_NORMALIZATION."""

    def l2_normalization(
        self,
        input: Given,
        *,
        axis: Int = -1,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation L2_NORMALIZATION.

        output = input / max(sqrt(sum(input^2)), 1e-6), the sum along `axis`.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3),
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        axis: INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM (level 3),
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those of `input`.
        Scale and zero point: scale and zero point given by the operation, per variant; others have
        none. (variants: qu8 from level (0.0078125, 128), qs8 from level (0.0078125, 0))
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - The feature level at which each rank of an operand became legal; other ranks are refused.
          (name: input; since: 1 from level 3, 2 from level 3, 3 from level 3, 4 from level 1)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - The axis lies in [-rank, rank) of the input.
        """
        return self._one(
            OperationType.L2_NORMALIZATION,
            {
                "input": input,
                "axis": axis,
            },
            Output(dimensions, name),
        )

    def local_response_normalization(
        self,
        input: Given,
        radius: Int,
        bias: Float,
        alpha: Float,
        beta: Float,
        *,
        axis: Int = -1,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LOCAL_RESPONSE_NORMALIZATION.

        output[i] = input[i] * (bias + alpha * sum(input[j]^2))^-beta, the sum over the j with |j -
        i| <= radius along `axis`.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3).
        radius: INT32.
        bias: FLOAT32, FLOAT16 (level 3).
        alpha: FLOAT32, FLOAT16 (level 3).
        beta: FLOAT32, FLOAT16 (level 3).
        axis: INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3)). Dimensions: those of `input`.
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - The feature level at which each rank of an operand became legal; other ranks are refused.
          (name: input; since: 1 from level 3, 2 from level 3, 3 from level 3, 4 from level 1)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - The axis lies in [-rank, rank) of the input.
        - The radius is at least 0.
        """
        return self._one(
            OperationType.LOCAL_RESPONSE_NORMALIZATION,
            {
                "input": input,
                "radius": radius,
                "bias": bias,
                "alpha": alpha,
                "beta": beta,
                "axis": axis,
            },
            Output(dimensions, name),
        )

    def instance_normalization(
        self,
        input: Given,
        gamma: Float,
        epsilon: Float,
        nchw: Bool,
        *,
        beta: Float = 1.0,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation INSTANCE_NORMALIZATION.

        output = (input - mean) * gamma / sqrt(variance + epsilon) + beta, mean and variance over
        height and width, for each batch and channel.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32.
        gamma: FLOAT16, FLOAT32.
        epsilon: FLOAT16, FLOAT32.
        nchw: BOOL, whether channels stand in front of height and width.
        beta: FLOAT16, FLOAT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32). Dimensions: those of `input`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        """
        return self._one(
            OperationType.INSTANCE_NORMALIZATION,
            {
                "input": input,
                "gamma": gamma,
                "epsilon": epsilon,
                "nchw": nchw,
                "beta": beta,
            },
            Output(dimensions, name),
        )
