"""The typer application and its commands, one module each.

Every call imports all of these modules, so they import only typer at module level.
"""

from typing import Annotated

import typer

from nnapi_shim.cli.bench import bench
from nnapi_shim.cli.config import config
from nnapi_shim.cli.convert import convert
from nnapi_shim.cli.diff import diff
from nnapi_shim.cli.exec import exec_
from nnapi_shim.cli.explain import explain
from nnapi_shim.cli.graph import graph
from nnapi_shim.cli.info import info
from nnapi_shim.cli.lint import lint
from nnapi_shim.cli.profile import profile
from nnapi_shim.cli.replay import replay
from nnapi_shim.cli.run import run
from nnapi_shim.version import __version__

COMMANDS = (
    info,
    run,
    bench,
    profile,
    explain,
    diff,
    graph,
    lint,
    convert,
    exec_,
    replay,
    config,
)
"""The commands, in the order of the help text."""

app = typer.Typer(
    help="Android's Neural Networks API on desktop Linux: models, devices, times and reasons.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in COMMANDS:
    app.command(_command.__name__.rstrip("_"))(_command)


def _version(is_asked: bool) -> None:
    if is_asked:
        print(f"nnapi-shim {__version__}")
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The options of all commands."""
