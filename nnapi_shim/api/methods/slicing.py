"""Operations of the family slicing; `make docs` writes this file."""

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


class SlicingMethods(Calling):
    """STRIDED_SLICE, SLICE, SPLIT."""

    def strided_slice(
        self,
        input: Given,
        begin: Given,
        end: Given,
        strides: Given,
        *,
        begin_mask: Int = 0,
        end_mask: Int = 0,
        shrink_axis_mask: Int = 0,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation STRIDED_SLICE.

        output[i...] = input[begin + i * strides...] up to end; bit k of a mask is for axis k.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        begin: TENSOR_INT32.
        end: TENSOR_INT32.
        strides: TENSOR_INT32.
        begin_mask: INT32.
        end_mask: INT32.
        shrink_axis_mask: INT32.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: lengths of the ranges, without the
        dropped axes; [1] if all are dropped.
        Scale and zero point: output scale and zero point are free; an output that declares none has
        those of an input. (name: input)
        Since feature level 2.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: begin, end, strides;
          omitted: False)
        - These tensors have as many elements as the input has dimensions. (names: begin, end,
          strides)
        - No stride is 0.
        - An axis that the result drops is sliced to one element, with a positive stride.
        """
        return self._one(
            OperationType.STRIDED_SLICE,
            {
                "input": input,
                "begin": begin,
                "end": end,
                "strides": strides,
                "begin_mask": begin_mask,
                "end_mask": end_mask,
                "shrink_axis_mask": shrink_axis_mask,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def slice(
        self,
        input: Given,
        begin: Given,
        size: Given,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation SLICE.

        output[i...] = input[begin + i...]; a size of -1 reaches to the end of the input.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        begin: TENSOR_INT32.
        size: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: size, with -1 replaced by what the input
        has left.
        Scale and zero point: output scale and zero point are free; an output that declares none has
        those of an input. (name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time the tensors of these values have one dimension. (names: begin, size; omitted:
          False)
        - These tensors have as many elements as the input has dimensions. (names: begin, size)
        - 0 <= begin <= begin + size <= the input's size; a size of -1 reaches to the end.
        """
        return self._one(
            OperationType.SLICE,
            {
                "input": input,
                "begin": begin,
                "size": size,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def split(
        self,
        input: Given,
        axis: Int,
        num_splits: int,
        *,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, ...]:
        """The operation SPLIT.

        outputs = num_splits equal parts of input along axis, in order.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        axis: INT32.
        num_splits: INT32, number of outputs.
        dimensions: of the output, where more is known than follows.

        Gives outputs (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: equal parts of the axis.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - num_splits is the number of outputs (BAD_DATA in the reference).
        - The axis lies in [-rank, rank) of the input.
        - num_splits divides the axis.
        """
        return self._several(
            OperationType.SPLIT,
            {
                "input": input,
                "axis": axis,
                "num_splits": num_splits,
            },
            Output(dimensions, name),
            num_splits,
        )
