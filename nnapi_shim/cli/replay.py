"""`nnapi-shim replay`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli import completion
from nnapi_shim.cli.arguments import Force
from nnapi_shim.cli.output import (
    AsJson,
    present,
    progress,
    require_json,
    require_suffix,
    write,
    write_table,
)
from nnapi_shim.units import count

if TYPE_CHECKING:
    from nnapi_shim.tools.replay import Replay

DIFFERENT = 1
"""Exit code if results differ."""


def replay(
    capture: Annotated[Path, typer.Argument(metavar="CAPTURE", help="A capture file.")],
    device: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            autocompletion=completion.devices,
            help="Run everything on the first device that matches.",
        ),
    ] = None,
    last: Annotated[
        bool, typer.Option("--last", help="Also repeat the call in which the program died.")
    ] = False,
    to_c: Annotated[
        Path | None,
        typer.Option("--to-c", metavar="FILE", help="Write the calls as a C program and exit."),
    ] = None,
    to_python: Annotated[
        Path | None,
        typer.Option(
            "--to-python", metavar="FILE", help="Write the calls as a Python program and exit."
        ),
    ] = None,
    faults: Annotated[
        bool,
        typer.Option("--faults", help="Also repeat the injected faults of the capture."),
    ] = False,
    force: Force = False,
    as_json: AsJson = None,
) -> None:
    """Repeat the calls of a program and compare results; exit code 1 if they differ, or if no call
    can be repeated.

    Example: nnapi-shim replay capture.zip --device nnapi-reference
    """
    from nnapi_shim.tools.replay import replay as repeat
    from nnapi_shim.tools.replay import write_reproducer

    sources = [path for path in (to_c, to_python) if path is not None]
    require_suffix(to_c, ".c")
    require_suffix(to_python, ".py")
    for path in sources:
        for written in write_reproducer(capture, path, overwrite=force):
            write(str(written))
    if sources:
        return
    require_json(as_json, force)
    with progress() as tell:
        report = repeat(capture, device, last=last, faults=faults, progress=tell)
    present(report, as_json, force, lambda report: _show(report, last))
    if report.differences or (report.calls and not report.repeated):
        raise typer.Exit(DIFFERENT)


def _show(report: "Replay", last: bool) -> None:
    if report.differences:
        write_table(
            (">call", "function", "what", "was", "is", ">of", ">differ", ">largest"),
            [
                (
                    item.call,
                    item.function,
                    item.what,
                    item.expected,
                    item.found,
                    item.elements or None,
                    item.differing or None,
                    item.largest,
                )
                for item in report.differences
            ],
        )
    for line in report.skipped:
        write(f"not repeated: {line}")
    if not report.is_complete:
        write("the capture has no end: the program was stopped, or the file was cut")
    if report.died_in:
        write(f"the program ended in {report.died_in}{'' if last else ', which is not repeated'}")
    if report.recorded_faults is not None:
        write(f"{report.faults} of {count(report.recorded_faults, 'injected fault')} repeated")
    where = f" on {report.device}" if report.device else ""
    write(
        f"{count(report.repeated, 'call')} of {report.calls} repeated{where}: "
        f"{count(report.executions, 'computation')}, {count(report.outputs, 'output')} compared, "
        f"{count(len(report.differences), 'difference')}"
    )
