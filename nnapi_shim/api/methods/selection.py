"""Operations of the family selection; `make docs` writes this file."""

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


class SelectionMethods(Calling):
    """ARGMAX, ARGMIN, SELECT, TOPK_V2."""

    def argmax(
        self,
        input: Given,
        axis: Int,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation ARGMAX.

        output = index of the first largest element along `axis`.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        axis: INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_INT32). Dimensions: the axis is left out; [1] if nothing is left.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - The axis lies in [-rank, rank) of the input.
        - The dimension `axis` has at most 2^31 elements.
        """
        return self._one(
            OperationType.ARGMAX,
            {
                "input": input,
                "axis": axis,
            },
            Output(dimensions, name),
        )

    def argmin(
        self,
        input: Given,
        axis: Int,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation ARGMIN.

        output = index of the first smallest element along `axis`.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        axis: INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_INT32). Dimensions: the axis is left out; [1] if nothing is left.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - The axis lies in [-rank, rank) of the input.
        - The dimension `axis` has at most 2^31 elements.
        """
        return self._one(
            OperationType.ARGMIN,
            {
                "input": input,
                "axis": axis,
            },
            Output(dimensions, name),
        )

    def select(
        self,
        condition: Given,
        input1: Given,
        input2: Given,
        *,
        dimensions: Sizes = None,
        scale: float | None = None,
        zero_point: int = 0,
        like: Operand | OperandView | None = None,
        name: str = "",
    ) -> Operand:
        """The operation SELECT.

        output = condition ? input1 : input2, element by element.

        condition: TENSOR_BOOL8.
        input1: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input2: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.
        scale, zero_point: of a quantized output; `like`: those of another operand.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those of `input1`.
        Scale and zero point: output scale and zero point are free: those that the operand declares.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - All three inputs have the same dimensions; nothing is broadcast.
        """
        return self._one(
            OperationType.SELECT,
            {
                "condition": condition,
                "input1": input1,
                "input2": input2,
            },
            Output(dimensions, name, scale, zero_point, like),
        )

    def topk_v2(
        self,
        input: Given,
        k: Int,
        *,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, Operand]:
        """The operation TOPK_V2.

        values, indices = the k largest elements of each row, in descending order; of equal ones the
        later first.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        k: INT32.
        dimensions: of the output, where more is known than follows.

        Gives values (TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)); indices (TENSOR_INT32). Dimensions: those of `input`,
        `k`.
        Scale and zero point: `values` has the parameters of the input, `indices` has none.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - A row has k elements, and k is at least 1.
        - The last dimension has at most 2^31 elements.
        """
        values, indices = self._several(
            OperationType.TOPK_V2,
            {
                "input": input,
                "k": k,
            },
            Output(dimensions, name),
            None,
        )
        return values, indices
