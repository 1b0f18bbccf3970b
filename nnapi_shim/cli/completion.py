"""Values that a shell completes: devices, peers, choices."""

from collections.abc import Callable, Iterable

COLOURS = ("device", "partition", "time", "error", "none")
PREFERENCES = ("FAST_SINGLE_ANSWER", "SUSTAINED_SPEED", "LOW_POWER")

Completion = Callable[[str], list[str]]


def among(values: Iterable[str]) -> Completion:
    """A completion of fixed values."""
    fixed = tuple(values)

    def complete(incomplete: str) -> list[str]:
        return [value for value in fixed if value.startswith(incomplete)]

    return complete


def devices(incomplete: str) -> list[str]:
    """Names of devices; after a comma, of those that are not named yet."""
    from nnapi_shim.runtime import device_manager

    before, comma, last = incomplete.rpartition(",")
    named = before.split(",")
    names = [device.name for device in device_manager.devices()]
    return [
        f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in named
    ]


def peers(incomplete: str) -> list[str]:
    """Names of other runtimes, and of devices."""
    from nnapi_shim.tools.runtimes import RUNTIMES

    return [*among(RUNTIMES)(incomplete), *devices(incomplete)]


def log_levels(incomplete: str) -> list[str]:
    """Levels of NNAPI_SHIM_LOG."""
    from nnapi_shim.log import JSON, LEVELS

    return among((*LEVELS, *(f"{level},{JSON}" for level in LEVELS)))(incomplete)


def settings(incomplete: str) -> list[str]:
    """Names of environment variables of the library."""
    from nnapi_shim.settings import SETTINGS

    return among(setting.name for setting in SETTINGS)(incomplete)
