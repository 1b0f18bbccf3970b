"""Time limits of third-party code, from the settings."""

from nnapi_shim.settings import DRIVER_TIMEOUT, Setting


def time_limit_ns(setting: Setting = DRIVER_TIMEOUT) -> int | None:
    """The time limit of a driver's answer, from the settings; None for no limit."""
    text = setting.get()
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        setting.refuse(text, "allowed are numbers of seconds from 0")
        seconds = float(setting.default)
    return int(seconds * 1e9) if seconds else None
