"""Registry of devices that can run step by step; `observing.py` switches all of them.

It is separate from `observing.py` because devices import it at start-up, and must import little.
"""

from _thread import allocate_lock

from nnapi_shim.hints import Callable, Protocol


class Stepper(Protocol):
    """Switches the runs of a device; both functions are idempotent."""

    def begin(self) -> None:
        """Run step by step, and report each step, in runs that begin from now on."""

    def end(self) -> None:
        """Return to normal runs."""


Load = Callable[[], Stepper]
"""Imports the Stepper of a device."""

_loads: dict[str, Load] = {}
_is_stepping = [False]
_lock = allocate_lock()


def register(device: str, load: Load) -> None:
    """Register a device; it runs step by step at once if stepping is on."""
    with _lock:
        if device not in _loads:
            _loads[device] = load
            if _is_stepping[0]:
                load().begin()


def begin() -> None:
    """Make all devices run step by step."""
    with _lock:
        _is_stepping[0] = True
        for load in _loads.values():
            load().begin()


def end() -> None:
    """Make all devices run normally."""
    with _lock:
        _is_stepping[0] = False
        for load in _loads.values():
            load().end()
