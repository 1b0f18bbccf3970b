"""Messages on stderr. Nothing is ever written to stdout: it belongs to the program."""

import os

from nnapi_shim.settings import LOG

LEVELS = ("silent", "error", "warning", "debug")


def enabled(level: str) -> bool:
    """Whether messages of this level are shown."""
    chosen = LOG.get()
    return LEVELS.index(level) <= (LEVELS.index(chosen) if chosen in LEVELS else 1)


def write(level: str, message: str) -> None:
    """One line on stderr, in one write, so that lines of several threads do not mix."""
    if enabled(level):
        line = f"nnapi_shim {level}: {message}\n".encode(errors="replace")
        try:
            os.write(2, line)
        except OSError:
            pass  # a program may have closed its stderr


def error(message: str) -> None:
    """A refusal, shown by default."""
    write("error", message)


def warning(message: str) -> None:
    """Something unwise that is allowed all the same."""
    write("warning", message)
