"""Copies of whole operands."""

from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Step, record
from nnapi_shim.hal.types import byte_size
from nnapi_shim.operations.declare import BoundOperand

COPY = record(input=ADDRESS, output=ADDRESS, bytes=INT64)


def copied_bytes(source: BoundOperand, target: BoundOperand) -> Step:
    """The step that copies an operand to another one of the same size."""
    return Step(COPY, "copy", input=source, output=target, bytes=byte_size(target))
