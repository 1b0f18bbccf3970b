"""Says which driver holds Python's lock. Nothing in Python can say it then: the line is made
beforehand, and a timer of the C library writes it, on a thread that needs no Python.
"""

from struct import pack
from typing import Any

from nnapi_shim import address, log
from nnapi_shim.settings import DRIVER_TIMEOUT

GRACE_S = 1.0
"""Behind the end of a wait: a wait that has not ended by then is kept from it."""

_CLOCK_MONOTONIC, _SIGEV_THREAD = 1, 2

_functions: dict[str, Any] = {}
_texts: dict[tuple[str, float], address.Block] = {}
"""The lines. They stay: a timer that is deleted may be about to write."""


class Watchdog:
    """Writes a line on stderr unless `stop` comes within some seconds and GRACE_S."""

    __slots__ = ("_timer",)

    def __init__(self, what: str, seconds: float) -> None:
        """what: the method that is waited for, such as `my-device.prepareModel`."""
        self._timer = 0
        if not log.enabled("warning") or not _found():
            return
        timer, event, time = address.Block(8), address.Block(64), address.Block(32)
        text = _line(what, seconds + GRACE_S)
        print_line = address.of_function(_functions["warnx"][0])
        _store(event, pack("<qiiq", text.address, 0, _SIGEV_THREAD, print_line))
        nanoseconds = int((seconds + GRACE_S) * 1e9)
        _store(time, pack("<4q", 0, 0, *divmod(nanoseconds, 10**9)))
        create, start = _functions["timer_create"][0], _functions["timer_settime"][0]
        if create(_CLOCK_MONOTONIC, event.address, timer.address) == 0:
            (self._timer,) = address.words(timer.address, "uintptr_t", 1)
            start(self._timer, 0, time.address, 0)

    def stop(self) -> None:
        """The wait has ended."""
        if self._timer:
            _functions["timer_delete"][0](self._timer)
            self._timer = 0


def _found() -> bool:
    """Whether the functions are there; they are looked up once."""
    if not _functions:
        for name, signature in (
            ("timer_create", "int(*)(int, uintptr_t, uintptr_t)"),
            ("timer_settime", "int(*)(uintptr_t, int, uintptr_t, uintptr_t)"),
            ("timer_delete", "int(*)(uintptr_t)"),
            ("warnx", "void(*)(uintptr_t)"),
        ):
            found = address.loaded_function(name, signature, ("librt.so.1", "libc.so.6"))
            if found is None:
                return False
            _functions[name] = found
    return "warnx" in _functions


def _line(what: str, seconds: float) -> address.Block:
    """The text for warnx(), which ends the line and takes % as printf() does."""
    found = _texts.get((what, seconds))
    if found is None:
        name = "".join([c if c.isprintable() else "?" for c in what])
        data = (
            f"nnapi_shim warning: {name} has not answered for {seconds:g} s, and Python's lock is "
            f"held all the time: the driver does not let it go, and no limit can end the call, "
            f"{DRIVER_TIMEOUT.name} included"
        )
        raw = data.replace("%", "%%").encode(errors="replace")
        found = _texts[what, seconds] = address.Block(len(raw) + 1)
        _store(found, raw)
    return found


def _store(block: address.Block, data: bytes) -> None:
    address.view(block.address, len(data))[:] = data
