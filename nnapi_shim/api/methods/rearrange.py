"""Operations of the family rearrange; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Bool,
    Calling,
    Given,
    Int,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class RearrangeMethods(Calling):
    """DEPTH_TO_SPACE, SPACE_TO_DEPTH, BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND, TRANSPOSE, CHANNEL."""

    def depth_to_space(
        self,
        input: Given,
        block_size: Int,
        *,
        nchw: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation DEPTH_TO_SPACE.

        output[n, h * b + i, w * b + j, c] = input[n, h, w, (i * b + j) * depth / b^2 + c], b =
        block_size.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        block_size: INT32.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, height * block, width * block,
        depth / block^2].
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        - These scalars are greater than 0. (names: block_size)
        - The depth is a multiple of block_size^2.
        """
        return self._one(
            OperationType.DEPTH_TO_SPACE,
            {
                "input": input,
                "block_size": block_size,
                "nchw": nchw,
            },
            Output(dimensions, name),
        )

    def space_to_depth(
        self,
        input: Given,
        block_size: Int,
        *,
        nchw: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation SPACE_TO_DEPTH.

        output[n, h, w, (i * b + j) * depth + c] = input[n, h * b + i, w * b + j, c], b =
        block_size.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        block_size: INT32.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch, height / block, width / block,
        depth * block^2].
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 1; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        - These scalars are greater than 0. (names: block_size)
        - Height and width are multiples of block_size.
        """
        return self._one(
            OperationType.SPACE_TO_DEPTH,
            {
                "input": input,
                "block_size": block_size,
                "nchw": nchw,
            },
            Output(dimensions, name),
        )

    def batch_to_space_nd(
        self,
        input: Given,
        block_shape: Given,
        *,
        nchw: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation BATCH_TO_SPACE_ND.

        output[n, h * bh + i, w * bw + j, c] = input[(i * bw + j) * batch / (bh * bw) + n, h, w, c],
        (bh, bw) = block_shape.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        block_shape: TENSOR_INT32.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch / block height / block width,
        height * block height, width * block width, depth].
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 2; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        - At run time the tensor of a value has these dimensions. (name: block_shape; sizes: 2)
        - block_shape holds the height and the width of a block.
        - The batch is a multiple of the elements of a block.
        """
        return self._one(
            OperationType.BATCH_TO_SPACE_ND,
            {
                "input": input,
                "block_shape": block_shape,
                "nchw": nchw,
            },
            Output(dimensions, name),
        )

    def space_to_batch_nd(
        self,
        input: Given,
        block_shape: Given,
        paddings: Given,
        *,
        nchw: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation SPACE_TO_BATCH_ND.

        output[(i * bw + j) * batch + n, h, w, c] = padded input[n, h * bh + i, w * bw + j, c], (bh,
        bw) = block_shape; padding stands for 0.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        block_shape: TENSOR_INT32.
        paddings: TENSOR_INT32.
        nchw: BOOL, whether channels stand in front of height and width.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: [batch * elements of a block, padded
        height / its own, padded width / its own, depth].
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 2; longer forms need more.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - An input of TENSOR_QUANT8_ASYMM with another zero point than 0 needs level 3.

        OP_FAILED, also of runs, unless:

        - At run time these operands have exactly this rank. (names: input; rank: 4)
        - At run time the tensor of a value has these dimensions. (name: block_shape; sizes: 2)
        - At run time the tensor of a value has these dimensions. (name: paddings; sizes: 2, 2)
        - block_shape holds the height and the width of a block.
        - The padded height and width are multiples of those of a block.
        - No output is larger than an operand can be, whatever sizes the values ask for.
        """
        return self._one(
            OperationType.SPACE_TO_BATCH_ND,
            {
                "input": input,
                "block_shape": block_shape,
                "paddings": paddings,
                "nchw": nchw,
            },
            Output(dimensions, name),
        )

    def transpose(
        self,
        input: Given,
        perm: Given | None = None,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation TRANSPOSE.

        output[i...] = input[j...] with j[perm[k]] = i[k]; perm is (1, 0) if omitted.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        perm: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: size i of the output is size perm[i] of
        the input.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 2.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: perm; omitted: False)
        - Every axis is named once.
        """
        return self._one(
            OperationType.TRANSPOSE,
            {
                "input": input,
                "perm": perm,
            },
            Output(dimensions, name),
        )

    def channel_shuffle(
        self,
        input: Given,
        num_groups: Int,
        axis: Int,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation CHANNEL_SHUFFLE.

        output[k * num_groups + g] = input[g * size / num_groups + k], along axis.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        num_groups: INT32.
        axis: INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: those of `input`.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - The axis lies in [-rank, rank) of the input.
        - These scalars are greater than 0. (names: num_groups)
        - The size along the axis is a multiple of num_groups.
        """
        return self._one(
            OperationType.CHANNEL_SHUFFLE,
            {
                "input": input,
                "num_groups": num_groups,
                "axis": axis,
            },
            Output(dimensions, name),
        )

    def reverse(
        self,
        input: Given,
        axis: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation REVERSE.

        output = input with the order of the elements along axis reversed.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED.
        axis: TENSOR_INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED). Dimensions: those of `input`.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: i32; name: input)
        Since feature level 7.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Quantized operands of these names have one scale and zero point. (names: input, output)
        - Known ranks of these operands are equal. (names: input, output)
        - Where the dimensions of the tensor of a value are known, they are these; 0 is any size.
          (name: axis; sizes: 1)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 8; names: input)
        - There is one axis, in [0, rank).
        """
        return self._one(
            OperationType.REVERSE,
            {
                "input": input,
                "axis": axis,
            },
            Output(dimensions, name),
        )
