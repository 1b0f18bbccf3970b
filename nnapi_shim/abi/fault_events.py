"""Events with injected faults: they signal an error, or never."""

import os

from nnapi_shim.abi import tables
from nnapi_shim.abi.cdata import handle_at
from nnapi_shim.errors import op_failed
from nnapi_shim.hints import Any
from nnapi_shim.runtime.event import Event, FenceEvent
from nnapi_shim.runtime.execution import Execution

NO_SIGNAL, ERROR_SIGNAL = "no-signal", "error-signal"


def spoil_event(name: str, arguments: tuple[Any, ...], deed: str) -> None:
    """Replace the event that a call of this function has made."""
    handle = handle_at(arguments[-1])
    execution = None if "Event_" in name else tables.executions[arguments[0]]
    tables.events[handle] = InjectedEvent(
        tables.events[handle], deed, execution, not name.endswith("_startCompute")
    )


class InjectedEvent(FenceEvent):
    """An event whose fence signals an error, or never."""

    def __init__(
        self, event: Event, deed: str, execution: Execution | None, has_descriptor: bool
    ) -> None:
        """event: the real one. execution: whose end it is; None for a fence of the program.
        has_descriptor: whether the program can get its fence.
        """
        reading, writing = os.pipe()
        self._event = event
        self._execution = execution
        self._has_descriptor = has_descriptor
        self._is_error = deed == ERROR_SIGNAL
        if self._is_error:
            # What poll() reports for the end of a pipe whose other end is closed: POLLERR.
            os.close(reading)
            fd, self._other = writing, -1
        else:
            fd, self._other = reading, writing
        super().__init__(fd)
        os.close(fd)
        # Executions wait for one with a fence; they ignore errors of the others, as without faults.
        self.has_fence = has_descriptor or not self._is_error

    def __del__(self) -> None:
        super().__del__()
        if self._other >= 0:
            os.close(self._other)

    def wait(self) -> None:
        """Raise OP_FAILED after the real end; or wait for ever."""
        if self._is_error:
            self.wait_for_end()
            raise op_failed("the event signals an error (injected)", "fault.error-signal")
        super().wait()

    def wait_for_end(self) -> None:
        """Wait for the real end, after which its memory is not used any more."""
        self._event.wait_for_end()
        if self._execution is not None:
            self._execution.lose_result()

    def duplicated_fence(self) -> int:
        """As Event."""
        return (
            super().duplicated_fence() if self._has_descriptor else self._event.duplicated_fence()
        )
