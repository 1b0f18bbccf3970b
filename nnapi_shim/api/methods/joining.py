"""Operations of the family joining; `make docs` writes this file."""

from collections.abc import Sequence

from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Int,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperationType


class JoiningMethods(Calling):
    """CONCATENATION, TILE, PACK."""

    def concatenation(
        self,
        inputs: Sequence[Given],
        axis: Int,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation CONCATENATION.

        output = the inputs one behind the other along `axis`, requantized to the output's scale and
        zero point.

        inputs: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        axis: INT32.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: the dimensions of the inputs, summed
        along the axis; elsewhere they must be equal.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 1.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: inputs)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: inputs)
        """
        return self._one(
            OperationType.CONCATENATION,
            {
                "inputs": inputs,
                "axis": axis,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def tile(
        self,
        input: Given,
        multiples: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation TILE.

        output = input repeated multiples[i] times along dimension i.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        multiples: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: every size times its multiple.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - There is a number from 0 for every dimension.
        - No output is larger than an operand can be, whatever sizes the values ask for.
        """
        return self._one(
            OperationType.TILE,
            {
                "input": input,
                "multiples": multiples,
            },
            Output(dimensions, name),
        )

    def pack(
        self,
        axis: Int,
        inputs: Sequence[Given],
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation PACK.

        output = the inputs one behind the other along a new dimension `axis`.

        axis: INT32.
        inputs: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED). Dimensions: the number of inputs, inserted at the axis.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: i32; name: inputs)
        Since feature level 6.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Quantized operands of these names have one scale and zero point. (names: inputs, output)
        - The inputs have the same rank, and the output one dimension more, where that is known.

        OP_FAILED, also of runs, unless:

        - The axis lies in [0, rank], and all inputs have the same dimensions.
        """
        return self._one(
            OperationType.PACK,
            {
                "axis": axis,
                "inputs": inputs,
            },
            Output(dimensions, name),
        )
