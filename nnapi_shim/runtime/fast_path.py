"""The fast path: a bound execution is re-run without entering Python.

Entering Python takes longer than running a small model. After the first run of a reusable
execution, Python publishes its compiled function and argument block in a slot, which the C API
uses for further runs (abi/fast_path.py). Python reclaims the slot before it reads or changes the
execution.
"""

from nnapi_shim.hints import Callable, NamedTuple, Protocol


class FastRun(NamedTuple):
    """The contents of a slot: `function(block, 0)` returns 0 or the code of a failure.

    function: 0 for a burst, which is used together with the slot of an execution.
    family: the same number for all executions and bursts of one compilation.
    """

    function: int
    block: int
    family: int


class Slot(Protocol):
    """The owner's handle of a published execution or burst."""

    def reclaim(self) -> int:
        """Empty the slot. Returns 0, -1 if a run is in progress, or the code of a run that failed
        on this thread; the caller reports that failure.
        """

    def is_running(self) -> bool:
        """Whether a run is in progress."""

    def release(self, item: object) -> None:
        """Empty the slot for good; `item` is kept alive until a run in progress ends."""


Publisher = Callable[[FastRun], Slot | None]
"""Publishes a run; None if no slot is free."""
