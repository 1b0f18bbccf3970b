"""Suspensions of a lowering at dynamic shapes: the segment ends, and the run computes them."""

from nnapi_shim.drivers.cpu.program.record import Deferred
from nnapi_shim.errors import Where
from nnapi_shim.hal.types import Operation
from nnapi_shim.operations.declare import BoundOperation


class Suspension(Exception):  # noqa: N818 (not an error)
    """The lowering can continue only after the steps so far have run."""


class NeedsValue(Suspension):
    """An operation needs the run-time contents of an operand."""

    def __init__(self, operand: int) -> None:
        super().__init__(operand)
        self.operand = operand


class NeedsCounts(Suspension):
    """An operation has output sizes that depend on the data."""

    def __init__(self, deferred: Deferred, op: BoundOperation, where: Where) -> None:
        super().__init__(where)
        self.deferred, self.op, self.where = deferred, op, where


class NeedsControl(Suspension):
    """An IF or WHILE that is not inlined."""

    def __init__(self, item: Operation) -> None:
        super().__init__(item)
        self.item = item
