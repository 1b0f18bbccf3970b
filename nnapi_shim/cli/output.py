"""Output of commands: tables for people, JSON for programs, progress on a terminal's stderr.

If stdout is not a terminal, text is plain: no colours, no frames, no wrapped lines.
"""

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, TypeVar

import typer

from nnapi_shim.log import one_line
from nnapi_shim.tools.report import Progress, Report, untold
from nnapi_shim.units import number

R = TypeVar("R", bound=Report)

AsJson = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="[FILE.json]",
        help="Print JSON, or write it to a file whose name ends in .json.",
    ),
]
"""The option of all commands that print data; `with_json_values` completes it."""

JSON, STDOUT = "--json", "-"

_REDRAWN_S = 0.1
"""Shortest time between two updates of the progress bar, in seconds."""

_LONGEST_NAME = 48
"""Longest name in a table, in characters."""

_WIDE = 1 << 14
"""Line width of output that is not wrapped."""


class UnreadError(Exception):
    """Stdout is closed. Not an OSError, because typer would end the process."""


def write(text: str = "") -> None:
    """Write one or several lines to stdout, with control characters as escapes."""
    _put("\n".join(map(one_line, text.split("\n"))))


def _put(text: str) -> None:
    try:
        if sys.stdout is None:
            raise UnreadError
        sys.stdout.write(f"{text}\n")
    except BrokenPipeError:
        raise UnreadError from None


def with_json_values(arguments: Sequence[str]) -> list[str]:
    """Arguments in which each `--json` has a value: the next word if it ends in .json, else
    STDOUT.
    """
    result: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*result, word, *words]
        if word.endswith(".json") and result and result[-1] == f"{JSON}={STDOUT}":
            result[-1] = f"{JSON}={word}"
        else:
            result.append(f"{JSON}={STDOUT}" if word == JSON else word)
    return result


def require_suffix(path: Path | str | None, suffix: str) -> None:
    """Raise for a file whose name does not end in `suffix`; None is no file."""
    if path is not None and Path(path).suffix != suffix:
        raise typer.BadParameter(f"{path} does not end in {suffix}")


def require_json(file: str | None, force: bool) -> None:
    """Raise before the work if the file of --json cannot be written."""
    if file is not None and file != STDOUT:
        require_suffix(file, ".json")
        from nnapi_shim.formats.output_file import require_free

        require_free(file, force)


def write_json(report: Report, file: str, force: bool = False) -> None:
    """Write a report as JSON to stdout or to a file."""
    write_data(report.to_json(), file, force)


def present(report: R, file: str | None, force: bool, show: Callable[[R], object]) -> None:
    """Write a report as JSON if --json is given, else as `show` does."""
    if file:
        write_json(report, file, force)
    else:
        show(report)


def write_data(data: dict[str, Any], file: str, force: bool = False) -> None:
    """Write dictionaries, lists, strings and numbers as JSON to stdout or to a file."""
    text = json.dumps(data, indent=2)
    if file == STDOUT:
        write(text)
    else:
        from nnapi_shim.formats import output_file

        require_json(file, force)
        output_file.write(file, f"{text}\n".encode(), force)


def cell(value: Any) -> str:
    """A value as table text, without control characters."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    return one_line(str(value))


def shortened(name: str) -> str:
    """A name for a table; a long one, such as converters make of fused operations, is cut in the
    middle. JSON has the whole name.
    """
    if len(name) <= _LONGEST_NAME:
        return name
    half = _LONGEST_NAME // 2
    return f"{name[: half - 1]}...{name[2 - half :]}"


def spans(numbers: Sequence[int]) -> str:
    """Numbers with consecutive ones as ranges, such as `0-3, 7`."""
    parts: list[list[int]] = []
    for each in sorted(numbers):
        if parts and parts[-1][1] == each - 1:
            parts[-1][1] = each
        else:
            parts.append([each, each])
    return ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in parts)


def write_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    """Write a table to stdout. A column whose heading begins with `>` is right-aligned."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_terminal = sys.stdout.isatty()
    table = Table(
        box=box.SIMPLE_HEAD if is_terminal else None,
        pad_edge=False,
        padding=(0, 2, 0, 0) if not is_terminal else (0, 1),
        header_style="bold" if is_terminal else "",
    )
    for column in columns:
        table.add_column(
            Text(column.removeprefix(">")),
            justify="right" if column.startswith(">") else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*[Text(cell(value)) for value in row])
    text = io.StringIO()
    console = Console(
        file=text,
        width=None if is_terminal else _WIDE,
        force_terminal=is_terminal,
        color_system="auto" if is_terminal else None,
        highlight=False,
        legacy_windows=False,
    )
    console.print(table)
    lines = [line.rstrip() for line in text.getvalue().split("\n")]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    if title:
        lines = [title, *lines]
    _put("\n".join(lines))


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress bar on stderr; none if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield untold
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    # Callbacks draw the bar, because a drawing thread would disturb measurements.
    with Bar(console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=None)
        drawn = [0.0]

        def tell(done: int, total: int, what: str) -> None:
            now = monotonic()
            is_due = now - drawn[0] > _REDRAWN_S
            drawn[0] = now if is_due else drawn[0]
            text = one_line(what)
            bar.update(task, completed=done, total=total, description=text, refresh=is_due)

        yield tell
