"""LOGICAL_AND LOGICAL_OR LOGICAL_NOT as steps."""

from nnapi_shim.drivers.cpu.lowering.broadcasting import WALK_FIELDS, pairwise
from nnapi_shim.drivers.cpu.lowering.elements import MAP, element_wise
from nnapi_shim.drivers.cpu.program.record import INT64, Space, Step, record
from nnapi_shim.operations.declare import BoundOperation

LOGICAL = record(Space.PAIRS, **WALK_FIELDS, flip=INT64)
"""flip: XOR mask of the bytes before and after the maximum."""


def lower_logical_and(op: BoundOperation) -> list[Step]:
    """The minimum of two bytes is not 0; computed as a maximum of complements."""
    return pairwise(LOGICAL, "logical_b8", op.input0, op.input1, op.output, flip=0xFF)


def lower_logical_or(op: BoundOperation) -> list[Step]:
    """The maximum of two bytes is not 0."""
    return pairwise(LOGICAL, "logical_b8", op.input0, op.input1, op.output, flip=0)


def lower_logical_not(op: BoundOperation) -> list[Step]:
    """The byte is 0."""
    return [element_wise(MAP, "logical_not_u8_b8", op)]
