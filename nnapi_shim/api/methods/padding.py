"""Operations of the family padding; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Int,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class PaddingMethods(Calling):
    """PAD, PAD_V2, MIRROR_PAD."""

    def pad(
        self,
        input: Given,
        paddings: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation PAD.

        output = input with paddings[i] elements that stand for 0 in front and behind, per axis.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        paddings: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: every size with what is put in front and
        behind.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 2.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)
        - An input of TENSOR_QUANT8_ASYMM with another zero point than 0 needs level 3.

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - Paddings holds two numbers from 0 per dimension of the input.
        - No output is larger than an operand can be, whatever sizes the values ask for.
        """
        return self._one(
            OperationType.PAD,
            {
                "input": input,
                "paddings": paddings,
            },
            Output(dimensions, name),
        )

    def pad_v2(
        self,
        input: Given,
        paddings: Given,
        pad_value: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation PAD_V2.

        output = input with paddings[i] elements pad_value in front and behind, per axis; that of a
        quantized tensor is the lowest 8 bits of pad_value.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        paddings: TENSOR_INT32.
        pad_value: FLOAT32, FLOAT16, INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: every size with what is put in front and
        behind.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - Paddings holds two numbers from 0 per dimension of the input.
        - No output is larger than an operand can be, whatever sizes the values ask for.
        """
        return self._one(
            OperationType.PAD_V2,
            {
                "input": input,
                "paddings": paddings,
                "pad_value": pad_value,
            },
            Output(dimensions, name),
        )

    def mirror_pad(
        self,
        input: Given,
        paddings: Given,
        mode: Int,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation MIRROR_PAD.

        output = input continued in front and behind by its mirror image, per axis; mode 0 (REFLECT)
        does not repeat the border element, mode 1 (SYMMETRIC) does.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED.
        paddings: TENSOR_INT32.
        mode: INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED). Dimensions: every size with what is put in front and behind.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 7.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Quantized operands of these names have one scale and zero point. (names: input, output)
        - Known ranks of these operands are equal. (names: input, output)
        - Paddings is [rank of the input, 2], as far as is known.

        OP_FAILED, also of runs, unless:

        - Paddings holds two numbers from 0 per dimension of the input.
        - REFLECT takes at most what lies beyond the border element, SYMMETRIC at most everything.
        - No output is larger than an operand can be, whatever sizes the values ask for.
        """
        return self._one(
            OperationType.MIRROR_PAD,
            {
                "input": input,
                "paddings": paddings,
                "mode": mode,
            },
            Output(dimensions, name),
        )
