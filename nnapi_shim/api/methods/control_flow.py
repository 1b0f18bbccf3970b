"""Operations of the family control_flow; `make docs` writes this file."""

from collections.abc import Sequence

from nnapi_shim.api.base_model import WholeModel
from nnapi_shim.api.methods.calling import (
    Calling,
    Given,
    Output,
    Sizes,
)
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperationType


class ControlFlowMethods(Calling):
    """IF, WHILE."""

    def if_(
        self,
        condition: Given,
        then_model: WholeModel,
        else_model: WholeModel,
        inputs: Sequence[Given] = (),
        *,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, ...]:
        """The operation IF.

        outputs = then_model(inputs) if condition else else_model(inputs).

        condition: TENSOR_BOOL8.
        then_model: MODEL.
        else_model: MODEL.
        dimensions: of the output, where more is known than follows.

        Gives outputs. Dimensions: decided by the run.
        Since feature level 4.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - The condition is one TENSOR_BOOL8, and both graphs take and give the operands of the IF.
        """
        return self._several(
            OperationType.IF,
            {
                "condition": condition,
                "then_model": then_model,
                "else_model": else_model,
                "inputs": inputs,
            },
            Output(dimensions, name),
            None,
        )

    def while_(
        self,
        condition_model: WholeModel,
        body_model: WholeModel,
        inputs: Sequence[Given] = (),
        *,
        output_count: int | None = None,
        dimensions: Sizes = None,
        name: str | Sequence[str] = "",
    ) -> tuple[Operand, ...]:
        """The operation WHILE.

        while condition_model(inputs): inputs[:k] = body_model(inputs); outputs = inputs[:m].

        condition_model: MODEL.
        body_model: MODEL.
        output_count: how many outputs; None for as few as there can be.
        dimensions: of the output, where more is known than follows.

        Gives outputs. Dimensions: decided by the run.
        Since feature level 4.

        Raises NnapiError: BAD_DATA for operands of other types.

        BAD_DATA, unless:

        - Both graphs take the inputs of the WHILE; the body gives what it carries to the next
          round.
        """
        return self._several(
            OperationType.WHILE,
            {
                "condition_model": condition_model,
                "body_model": body_model,
                "inputs": inputs,
            },
            Output(dimensions, name),
            output_count,
        )
