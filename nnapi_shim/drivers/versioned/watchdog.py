"""Reports a driver that holds Python's lock. No Python code can run then, so the line is formatted
in advance, and a timer of the C library writes it on a thread without Python.
"""

from struct import pack
from typing import Any

from nnapi_shim import address, log
from nnapi_shim.settings import DRIVER_TIMEOUT

GRACE_S = 1.0
"""Time after the end of a wait; a wait that is still running then is blocked by the lock."""

_CLOCK_MONOTONIC, _SIGEV_THREAD = 1, 2

_functions: dict[str, Any] = {}
_texts: dict[tuple[str, float], address.Block] = {}
"""The lines. They are never freed, because a deleted timer may still write."""


class Watchdog:
    """Writes a line on stderr unless `stop` is called within the time limit plus GRACE_S."""

    __slots__ = ("_timer",)

    def __init__(self, what: str, seconds: float) -> None:
        """what: the awaited method, such as `my-device.prepareModel`."""
        self._timer = 0
        if not log.enabled("warning") or not _is_available():
            return
        timer, event, time = address.Block(8), address.Block(64), address.Block(32)
        text = _line(what, seconds + GRACE_S)
        print_line = address.of_function(_functions["warnx"][0])
        address.write(event.address, pack("<qiiq", text.address, 0, _SIGEV_THREAD, print_line))
        nanoseconds = int((seconds + GRACE_S) * 1e9)
        address.write(time.address, pack("<4q", 0, 0, *divmod(nanoseconds, 10**9)))
        create, start = _functions["timer_create"][0], _functions["timer_settime"][0]
        if create(_CLOCK_MONOTONIC, event.address, timer.address) == 0:
            (self._timer,) = address.words(timer.address, "uintptr_t", 1)
            start(self._timer, 0, time.address, 0)

    def stop(self) -> None:
        """Cancel the watchdog after the wait."""
        if self._timer:
            _functions["timer_delete"][0](self._timer)
            self._timer = 0


def _is_available() -> bool:
    """Whether the C functions exist; they are looked up once."""
    if not _functions:
        for name, signature in (
            ("timer_create", "int(*)(int, uintptr_t, uintptr_t)"),
            ("timer_settime", "int(*)(uintptr_t, int, uintptr_t, uintptr_t)"),
            ("timer_delete", "int(*)(uintptr_t)"),
            ("warnx", "void(*)(uintptr_t)"),
        ):
            function = address.loaded_function(name, signature, ("librt.so.1", "libc.so.6"))
            if function is None:
                return False
            _functions[name] = function
    return "warnx" in _functions


def _line(what: str, seconds: float) -> address.Block:
    """The text for warnx(), which adds a newline and interprets % as printf() does."""
    line = _texts.get((what, seconds))
    if line is None:
        name = "".join([c if c.isprintable() else "?" for c in what])
        data = (
            f"nnapi_shim warning: {name} has not answered for {seconds:g} s, and Python's lock is "
            f"held all the time: the driver does not let it go, and no limit can end the call, "
            f"{DRIVER_TIMEOUT.name} included"
        )
        raw = data.replace("%", "%%").encode(errors="replace")
        line = _texts[what, seconds] = address.Block(len(raw) + 1)
        address.write(line.address, raw)
    return line
