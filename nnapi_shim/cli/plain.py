"""Parts of the command that need the standard library alone: errors, `--version`, `config`."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress

from nnapi_shim.log import one_line
from nnapi_shim.settings import environment
from nnapi_shim.tools.config import MEANINGS, config
from nnapi_shim.version import __version__

NAME = "nnapi-shim"

_RED, _PLAIN = "\x1b[31m", "\x1b[0m"


def print_error(message: str) -> None:
    """Print one line on stderr, in red on a terminal."""
    line = f"{NAME}: {one_line(' '.join(message.split()))}"
    with suppress(OSError, AttributeError):  # stderr may be closed, too
        print(f"{_RED}{line}{_PLAIN}" if _is_coloured() else line, file=sys.stderr)


def _is_coloured() -> bool:
    """Whether stderr is a terminal that shows colours (https://no-color.org)."""
    variables = environment()
    wanted = not variables.get("NO_COLOR") and variables.get("TERM") != "dumb"
    return wanted and sys.stderr.isatty()


def version_text() -> str:
    """The line of --version."""
    return f"{NAME} {__version__}"


def config_text(chosen: Sequence[str]) -> str:
    """The chosen values in one line, or all with their names."""
    values = config().to_json()
    if chosen:
        return " ".join(values[name] for name in chosen)
    return "\n".join(f"{name:12} {value}" for name, value in values.items())


def run(arguments: Sequence[str]) -> str | None:
    """The output of `--version` or `config`; None for other commands and options."""
    if list(arguments) == ["--version"]:
        return version_text()
    if not arguments or arguments[0] != "config":
        return None
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    for name in MEANINGS:
        parser.add_argument(f"--{name}", action="store_true")
    options, others = parser.parse_known_args(list(arguments[1:]))
    if others:
        return None
    return config_text([name for name in MEANINGS if getattr(options, name)])
