"""Operations of the family logical; `make docs` writes this file."""

from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class LogicalMethods(Calling):
    """LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR."""

    def logical_and(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LOGICAL_AND.

        output = input0 and input1.

        input0: TENSOR_BOOL8.
        input1: TENSOR_BOOL8.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: aligned at the end, each pair of sizes equal or one
        of them 1; 0 wins over 1.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.LOGICAL_AND,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name),
        )

    def logical_not(
        self,
        input: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LOGICAL_NOT.

        output = not input.

        input: TENSOR_BOOL8.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: those of `input`.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.LOGICAL_NOT,
            {
                "input": input,
            },
            Output(dimensions, name),
        )

    def logical_or(
        self,
        input0: Given,
        input1: Given,
        *,
        dimensions: Sizes = None,
        name: str = "",
    ) -> Operand:
        """The operation LOGICAL_OR.

        output = input0 or input1.

        input0: TENSOR_BOOL8.
        input1: TENSOR_BOOL8.
        dimensions: of the output, where more is known than follows.

        Gives output (TENSOR_BOOL8). Dimensions: aligned at the end, each pair of sizes equal or one
        of them 1; 0 wins over 1.
        Since feature level 3.

        Raises NnapiError: BAD_DATA for operands of other types.
        """
        return self._one(
            OperationType.LOGICAL_OR,
            {
                "input0": input0,
                "input1": input1,
            },
            Output(dimensions, name),
        )
