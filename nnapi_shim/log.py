"""Messages on stderr. Nothing is ever written to stdout: it belongs to the program.

NNAPI_SHIM_LOG says which: a level, and `json` for lines that programs read, such as `debug,json`.
"""

import os
from typing import Any

from nnapi_shim.settings import LOG

LEVELS = ("silent", "error", "warning", "debug")
JSON = "json"


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), 127) if chr(code) not in "\t\n"}
"""What might come from a driver and would do something to a terminal."""


def _words() -> list[str]:
    """The level first."""
    level, as_json = LOG.default, []
    for word in LOG.get().replace(",", " ").split():
        if word in LEVELS:
            level = word
        elif word == JSON:
            as_json = [JSON]
        else:
            LOG.refuse(word, f"allowed are {', '.join(LEVELS)}, and {JSON} beside one of them")
    return [level, *as_json]


def enabled(level: str) -> bool:
    """Whether messages of this level are shown."""
    return LEVELS.index(level) <= LEVELS.index(_words()[0])


def write(level: str, message: str, details: dict[str, Any] | None = None) -> None:
    """One line on stderr, in one write, so that lines of several threads do not mix.

    details: what a line of JSON says instead of the message.
    """
    if enabled(level):
        put(level, message, details)


def put(kind: str, message: str, details: dict[str, Any] | None = None) -> None:
    """One line on stderr, whatever the level: for what a program asked for in another way."""
    if JSON in _words():
        import json

        line = json.dumps({"level": kind, **(details or {"message": message})})
    else:
        line = f"nnapi_shim {kind}: {message.translate(_CONTROLS)}"
    try:
        os.write(2, f"{line}\n".encode(errors="replace"))
    except OSError:
        pass  # a program may have closed its stderr


def error(message: str, details: dict[str, Any] | None = None) -> None:
    """A refusal, shown by default."""
    write("error", message, details)


def warning(message: str, details: dict[str, Any] | None = None) -> None:
    """Something unwise or unexpected that is no refusal, shown by default: not for what a correct
    program does, nor again for each execution.
    """
    write("warning", message, details)


_noted: dict[object, object] = {}
"""What a warning has told of, where one is enough."""


def warning_once(about: object, message: str) -> None:
    """A warning, unless there was one about the same in this process."""
    mine = object()
    if _noted.setdefault(about, mine) is mine:  # one thread, once
        warning(message)


def trace(error: BaseException) -> None:
    """At `debug`, where an exception comes from: for what another level tells of in one line."""
    if enabled("debug"):
        from traceback import format_exception

        write("debug", "".join(format_exception(error)).rstrip())
