"""LOGICAL_AND LOGICAL_OR LOGICAL_NOT as steps."""

from nnapi_shim.drivers.cpu.lowering.broadcasting import WALK_FIELDS, pairwise
from nnapi_shim.drivers.cpu.lowering.elements import MAP, element_wise
from nnapi_shim.drivers.cpu.program.record import INT64, Space, Step, record
from nnapi_shim.operations.declare import BoundOperation

LOGICAL = record(Space.PAIRS, **WALK_FIELDS, flip=INT64)
"""flip: bits to flip in a byte before and after the larger of two is taken."""


def lower_logical_and(op: BoundOperation) -> list[Step]:
    """The smaller of two bytes is not 0: the larger one of the opposite order."""
    return pairwise(LOGICAL, "logical_b8", op.input0, op.input1, op.output, flip=0xFF)


def lower_logical_or(op: BoundOperation) -> list[Step]:
    """The larger of two bytes is not 0."""
    return pairwise(LOGICAL, "logical_b8", op.input0, op.input1, op.output, flip=0)


def lower_logical_not(op: BoundOperation) -> list[Step]:
    """A byte is 0."""
    return [element_wise(MAP, "logical_not_u8_b8", op)]
