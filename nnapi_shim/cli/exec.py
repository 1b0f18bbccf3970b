"""`nnapi-shim exec`."""

from typing import Annotated

import typer

from nnapi_shim.cli.arguments import Force


def exec_(
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- PROGRAM [ARGUMENT]...", help="The program and its arguments."),
    ],
    trace: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a trace (docs/trace.md).")
    ] = None,
    capture: Annotated[
        str | None, typer.Option(metavar="FILE", help="Record every call (docs/capture.md).")
    ] = None,
    lint: Annotated[
        bool, typer.Option("--lint", help="Report all errors of a model at once.")
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="List only devices whose whole name matches."),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Log level: silent, error, warning, debug; json."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--settings", metavar="PROFILE", help="Profile of the settings file (docs/settings.md)."
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Run an unmodified C program with this library; exit code and signals are the program's.

    `%p` in the name of a file is replaced with the process id.

    Example: nnapi-shim exec --trace trace.json --capture capture.zip -- ./program input.bin
    """
    from nnapi_shim import settings
    from nnapi_shim.tools.execute import environment, execute

    variables = environment(
        settings.environment(),
        trace=trace,
        capture=capture,
        lint=lint,
        device=device,
        log=log,
        profile=profile,
        overwrite=force,
    )
    execute(command, variables)
