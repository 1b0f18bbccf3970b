"""Operations of the family reshape; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Int,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class ReshapeMethods(Calling):
    """RESHAPE, SQUEEZE, EXPAND_DIMS, FILL, RANK."""

    def reshape(
        self,
        input: Given,
        shape: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation RESHAPE.

        output = the elements of input, in order; one -1 in shape stands for what is left over.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 6).
        shape: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4), TENSOR_INT32 (level 6)). Dimensions: target dimensions
        with a single -1 replaced by what is left over.
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
            OperationType.RESHAPE,
            {
                "input": input,
                "shape": shape,
            },
            Output(dimensions, name),
        )

    def squeeze(
        self,
        input: Given,
        axes: Given | None = None,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation SQUEEZE.

        output = input without the dimensions of size 1 that axes names; without all if omitted.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        axes: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: without the axes named, or without all of
        size 1; [1] if nothing is left.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 2.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: axes; omitted: True)
        - The axes to remove lie in [-rank, rank) and have size 1; one may be named twice.
        """
        return self._one(
            OperationType.SQUEEZE,
            {
                "input": input,
                "axes": axes,
            },
            Output(dimensions, name),
        )

    def expand_dims(
        self,
        input: Given,
        axis: Int,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation EXPAND_DIMS.

        output = input with a dimension of size 1 inserted at axis.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        axis: INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: with a 1 inserted at the axis.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - The axis lies in [-rank - 1, rank].
        """
        return self._one(
            OperationType.EXPAND_DIMS,
            {
                "input": input,
                "axis": axis,
            },
            Output(dimensions, name),
        )

    def fill(
        self,
        dims: Given,
        value: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation FILL.

        output = a tensor of dimensions dims, every element of which is value.

        dims: TENSOR_INT32.
        value: FLOAT16, FLOAT32, INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32). Dimensions: those of `dims`.
        Since feature level 4.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time the tensors of these values have one dimension. (names: dims; omitted: False)
        - There is a size, and none is negative.
        - No output is larger than an operand can be, whatever sizes the values ask for.
        """
        return self._one(
            OperationType.FILL,
            {
                "dims": dims,
                "value": value,
            },
            Output(dimensions, name),
        )

    def rank(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation RANK.

        rank = the number of dimensions of input.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_BOOL8, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT16_ASYMM, TENSOR_QUANT16_SYMM,
            TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL.
        dimensions: of the output, where more is known than follows.

        Gives rank (INT32). Dimensions: decided by the run.
        Since feature level 4.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.RANK,
            {
                "input": input,
            },
            Output(dimensions, name),
        )
