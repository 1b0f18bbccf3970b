"""The typer application and its commands, one module each.

Every call imports all of these modules, so they import only typer at module level.
"""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from nnapi_shim.cli.bench import bench
from nnapi_shim.cli.calibrate import calibrate
from nnapi_shim.cli.config import config
from nnapi_shim.cli.convert import convert
from nnapi_shim.cli.diff import diff
from nnapi_shim.cli.exec import exec_
from nnapi_shim.cli.explain import explain
from nnapi_shim.cli.graph import graph
from nnapi_shim.cli.info import info
from nnapi_shim.cli.lint import lint
from nnapi_shim.cli.plain import version_text
from nnapi_shim.cli.profile import profile
from nnapi_shim.cli.profiles import profiles
from nnapi_shim.cli.replay import replay
from nnapi_shim.cli.run import run
from nnapi_shim.cli.unused import require_used

COMMANDS = (
    info,
    run,
    bench,
    profile,
    explain,
    diff,
    calibrate,
    graph,
    lint,
    convert,
    exec_,
    replay,
    profiles,
    config,
)
"""The commands, in the order of the help text."""

_WHOLE = 1000
"""Length limit of a sentence in the help text."""


class _Command(TyperCommand):
    """It refuses options without effect."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        require_used(ctx)
        return super().invoke(ctx)


class _Commands(TyperGroup):
    """Its help shows the whole first sentence of each command."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands; long lines wrap."""
        rows = [
            (name, command.get_short_help_str(_WHOLE)) for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    cls=_Commands,
    help="Android's Neural Networks API on desktop Linux: models, devices, times and reasons.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in COMMANDS:
    app.command(_command.__name__.rstrip("_"), cls=_Command)(_command)


def _version(is_asked: bool) -> None:
    if is_asked:
        print(version_text())
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The options of all commands."""
