"""Inputs and outputs of compiled models."""

from nnapi_shim.api.fields import with_fields
from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.types import Dimensions, Operand
from nnapi_shim.hints import NamedTuple


@with_fields
class Argument(NamedTuple):
    """An input or output of a compiled model.

    type: its operand type.
    dimensions: its sizes; 0 for an unknown one.
    scale: the scale of a quantized type, otherwise 0.
    zero_point: the zero point of a quantized type, otherwise 0.
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
