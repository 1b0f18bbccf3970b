"""Inputs and outputs of compiled models."""

from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.types import Dimensions, Operand
from nnapi_shim.hints import NamedTuple


class Argument(NamedTuple):
    """An input or output of a compiled model; a 0 in `dimensions` is an unknown size.

    name: its name in the model, or "".
    """

    type: OperandType
    dimensions: Dimensions
    scale: float
    zero_point: int
    name: str = ""


def argument_of(operand: Operand, view: OperandView) -> Argument:
    """The Argument of an operand, with its name in the model."""
    return Argument(operand.type, operand.dimensions, operand.scale, operand.zero_point, view.name)
