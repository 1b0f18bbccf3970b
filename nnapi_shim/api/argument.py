"""Inputs and outputs of compiled models."""

from typing import NamedTuple

from nnapi_shim.api.view import OperandView
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hal.types import Dimensions, Operand


class Argument(NamedTuple):
    """An input or output of a compiled model; a 0 in `dimensions` is an unknown one.

    name: what the model calls it, or "".
    """

    type: OperandType
    dimensions: Dimensions
    scale: float
    zero_point: int
    name: str = ""


def argument_of(operand: Operand, view: OperandView) -> Argument:
    """The argument that an operand is, with the name that its model has for it."""
    return Argument(operand.type, operand.dimensions, operand.scale, operand.zero_point, view.name)
