"""Devices that can run step by step register here; `observing.py` switches all of them.

This is apart from `observing.py` because devices import it at start, when hardly anything else is.
"""

from _thread import allocate_lock
from collections.abc import Callable

from nnapi_shim.hints import Protocol


class Stepper(Protocol):
    """Switches the runs of a device; both functions may be called several times."""

    def begin(self) -> None:
        """Let runs that begin from now on run step by step, and report each step."""

    def end(self) -> None:
        """Let runs be as usual again."""


Load = Callable[[], Stepper]
"""Imports what switches the runs of a device."""

_loads: dict[str, Load] = {}
_is_stepping = [False]
_lock = allocate_lock()


def register(device: str, load: Load) -> None:
    """Register a device; its runs are step by step at once if those of all devices are."""
    with _lock:
        if device not in _loads:
            _loads[device] = load
            if _is_stepping[0]:
                load().begin()


def begin() -> None:
    """Let all devices run step by step."""
    with _lock:
        _is_stepping[0] = True
        for load in _loads.values():
            load().begin()


def end() -> None:
    """Let all devices run as usual."""
    with _lock:
        _is_stepping[0] = False
        for load in _loads.values():
            load().end()
