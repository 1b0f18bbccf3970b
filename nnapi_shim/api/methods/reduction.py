"""Operations of the family reduction; `make docs` writes this file."""

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


class ReductionMethods(Calling):
    """MEAN, REDUCE_ALL, REDUCE_ANY, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_SUM."""

    def mean(
        self,
        input: Given,
        axes: Given,
        *,
        keep_dims: Int = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation MEAN.

        output = the mean along `axes`; of stored values, rounded toward zero, if quantized.

        input: TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        axes: TENSOR_INT32.
        keep_dims: INT32.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT32, TENSOR_FLOAT16 (level 3), TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: the axes are left out or, with keep_dims,
        1; [1] if nothing is left.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 2.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: axes; omitted: False)
        - At least one axis is given, an empty list being a zero-sized input; all are in range.
        """
        return self._one(
            OperationType.MEAN,
            {
                "input": input,
                "axes": axes,
                "keep_dims": keep_dims,
            },
            Output(dimensions, name),
        )

    def reduce_all(
        self,
        input: Given,
        axes: Given,
        *,
        keep_dims: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation REDUCE_ALL.

        output = whether all elements along `axes` are true.

        input: TENSOR_BOOL8.
        axes: TENSOR_INT32.
        keep_dims: BOOL.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: the axes are left out or, with keep_dims, 1; [1] if
        nothing is left.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: axes; omitted: False)
        - At least one axis is given, an empty list being a zero-sized input; all are in range.
        """
        return self._one(
            OperationType.REDUCE_ALL,
            {
                "input": input,
                "axes": axes,
                "keep_dims": keep_dims,
            },
            Output(dimensions, name),
        )

    def reduce_any(
        self,
        input: Given,
        axes: Given,
        *,
        keep_dims: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation REDUCE_ANY.

        output = whether any element along `axes` is true.

        input: TENSOR_BOOL8.
        axes: TENSOR_INT32.
        keep_dims: BOOL.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: the axes are left out or, with keep_dims, 1; [1] if
        nothing is left.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: axes; omitted: False)
        - At least one axis is given, an empty list being a zero-sized input; all are in range.
        """
        return self._one(
            OperationType.REDUCE_ANY,
            {
                "input": input,
                "axes": axes,
                "keep_dims": keep_dims,
            },
            Output(dimensions, name),
        )

    def reduce_max(
        self,
        input: Given,
        axes: Given,
        *,
        keep_dims: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation REDUCE_MAX.

        output = the maximum along `axes`.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        axes: TENSOR_INT32.
        keep_dims: BOOL.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: the axes are left out or, with keep_dims,
        1; [1] if nothing is left.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: axes; omitted: False)
        - At least one axis is given, an empty list being a zero-sized input; all are in range.
        """
        return self._one(
            OperationType.REDUCE_MAX,
            {
                "input": input,
                "axes": axes,
                "keep_dims": keep_dims,
            },
            Output(dimensions, name),
        )

    def reduce_min(
        self,
        input: Given,
        axes: Given,
        *,
        keep_dims: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation REDUCE_MIN.

        output = the minimum along `axes`.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_ASYMM_SIGNED
            (level 4).
        axes: TENSOR_INT32.
        keep_dims: BOOL.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM,
        TENSOR_QUANT8_ASYMM_SIGNED (level 4)). Dimensions: the axes are left out or, with keep_dims,
        1; [1] if nothing is left.
        Scale and zero point: every output has the scale and zero point of an input, the first one
        of that name. (but: ; name: input)
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: axes; omitted: False)
        - At least one axis is given, an empty list being a zero-sized input; all are in range.
        """
        return self._one(
            OperationType.REDUCE_MIN,
            {
                "input": input,
                "axes": axes,
                "keep_dims": keep_dims,
            },
            Output(dimensions, name),
        )

    def reduce_prod(
        self,
        input: Given,
        axes: Given,
        *,
        keep_dims: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation REDUCE_PROD.

        output = the product along `axes`.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32.
        axes: TENSOR_INT32.
        keep_dims: BOOL.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32). Dimensions: the axes are left out or, with
        keep_dims, 1; [1] if nothing is left.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: axes; omitted: False)
        - At least one axis is given, an empty list being a zero-sized input; all are in range.
        """
        return self._one(
            OperationType.REDUCE_PROD,
            {
                "input": input,
                "axes": axes,
                "keep_dims": keep_dims,
            },
            Output(dimensions, name),
        )

    def reduce_sum(
        self,
        input: Given,
        axes: Given,
        *,
        keep_dims: Bool = False,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation REDUCE_SUM.

        output = the sum along `axes`.

        input: TENSOR_FLOAT16, TENSOR_FLOAT32.
        axes: TENSOR_INT32.
        keep_dims: BOOL.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_FLOAT16, TENSOR_FLOAT32). Dimensions: the axes are left out or, with
        keep_dims, 1; [1] if nothing is left.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Known ranks of these operands are at most `limit`. (limit: 4; names: input)

        OP_FAILED, also of runs, unless:

        - At run time these operands have at most this rank. (limit: 4; names: input)
        - At run time the tensors of these values have one dimension. (names: axes; omitted: False)
        - At least one axis is given, an empty list being a zero-sized input; all are in range.
        """
        return self._one(
            OperationType.REDUCE_SUM,
            {
                "input": input,
                "axes": axes,
                "keep_dims": keep_dims,
            },
            Output(dimensions, name),
        )
