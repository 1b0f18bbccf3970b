"""Operations of the family comparison; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class ComparisonMethods(Calling):
    """EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL."""

    def equal(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation EQUAL.

        output = input0 == input1; TENSOR_BOOL8 is compared as bytes.

        input0: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: aligned at the end, each pair of sizes equal or one
        of them 1; 0 wins over 1.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.EQUAL,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name),
        )

    def greater(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation GREATER.

        output = input0 > input1; TENSOR_BOOL8 is compared as bytes.

        input0: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: aligned at the end, each pair of sizes equal or one
        of them 1; 0 wins over 1.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.GREATER,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name),
        )

    def greater_equal(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation GREATER_EQUAL.

        output = input0 >= input1; TENSOR_BOOL8 is compared as bytes.

        input0: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: aligned at the end, each pair of sizes equal or one
        of them 1; 0 wins over 1.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.GREATER_EQUAL,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name),
        )

    def less(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LESS.

        output = input0 < input1; TENSOR_BOOL8 is compared as bytes.

        input0: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: aligned at the end, each pair of sizes equal or one
        of them 1; 0 wins over 1.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.LESS,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name),
        )

    def less_equal(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LESS_EQUAL.

        output = input0 <= input1; TENSOR_BOOL8 is compared as bytes.

        input0: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: aligned at the end, each pair of sizes equal or one
        of them 1; 0 wins over 1.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.LESS_EQUAL,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name),
        )

    def not_equal(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation NOT_EQUAL.

        output = input0 != input1; TENSOR_BOOL8 is compared as bytes.

        input0: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        input1: TENSOR_BOOL8, TENSOR_FLOAT16, TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM,
            TENSOR_QUANT8_ASYMM_SIGNED (level 4).
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: aligned at the end, each pair of sizes equal or one
        of them 1; 0 wins over 1.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.NOT_EQUAL,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name),
        )
