"""What passes put in place of operations that NNAPI has no single operation for."""

from collections.abc import Callable, Sequence

from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hints import NamedTuple
from nnapi_shim.operations.declare import BoundOperand


class Fused(NamedTuple):
    """An operation of one's own, of operands that are all declared.

    type, number: of the operation that it is told of as. lower: from its operands to its steps.
    """

    type: OperationType
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    number: int
    lower: Callable[[Sequence[BoundOperand], Sequence[BoundOperand]], list[Step | Alias]]


MOVED = b"moved"
"""Extension data of an activation that a pass has made of an operation RELU, RELU1 or RELU6."""


class MovedActivation(int):
    """The FuseCode of such an activation. NaN stays NaN in a fused one, and is the lower bound in
    the operation, which also gives a zero the sign of that bound.
    """
