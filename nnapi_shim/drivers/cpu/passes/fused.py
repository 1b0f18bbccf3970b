"""Fused operations: each replaces several operations, and NNAPI has no equivalent."""

from nnapi_shim.drivers.cpu.program.record import Alias, Step
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hints import Callable, NamedTuple, Sequence
from nnapi_shim.operations.declare import BoundOperand


class Fused(NamedTuple):
    """A fused operation of this device; all its operands are declared.

    type, number: the operation that messages and profiles name for it.
    lower: lowers inputs and outputs to steps.
    """

    type: OperationType
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    number: int
    lower: Callable[[Sequence[BoundOperand], Sequence[BoundOperand]], list[Step | Alias]]
