"""What lowering waits for: reasons why a segment ends."""

from nnapi_shim.drivers.cpu.program.record import Deferred
from nnapi_shim.errors import Where
from nnapi_shim.hal.types import Operation
from nnapi_shim.operations.declare import BoundOperation


class Wait(Exception):  # noqa: N818 (not an error)
    """Lowering has come to what it cannot know before the steps so far have run."""


class NeedsValue(Wait):
    """An operation waits for the contents of an operand."""

    def __init__(self, operand: int) -> None:
        super().__init__(operand)
        self.operand = operand


class NeedsCounts(Wait):
    """An operation waits for the sizes of its own outputs."""

    def __init__(self, deferred: Deferred, op: BoundOperation, place: Where) -> None:
        super().__init__(place)
        self.deferred, self.op, self.place = deferred, op, place


class NeedsControl(Wait):
    """An IF or WHILE whose shapes depend on which way the run goes."""

    def __init__(self, item: Operation) -> None:
        super().__init__(item)
        self.item = item
