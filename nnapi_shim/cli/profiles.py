"""`nnapi-shim profiles`."""

from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli import completion
from nnapi_shim.cli.arguments import Force
from nnapi_shim.cli.output import AsJson, present, require_json, write, write_table
from nnapi_shim.units import count

if TYPE_CHECKING:
    from nnapi_shim.tools.profiles import CheckedProfile, Phone, Phones

ACTIONS = ("list", "show", "check", "new")
PROBLEMS = 1
"""Exit code of `check` if there are problems."""


def profiles(
    action: Annotated[
        str,
        typer.Argument(
            metavar="list|show|check|new", autocompletion=completion.among(ACTIONS), help="What."
        ),
    ],
    profile: Annotated[
        str | None,
        typer.Argument(metavar="NAME|FILE.json", help="A profile; with `new`, its name."),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="NAME|FILE",
            help="With `new`: a profile, or a capture with devices, to begin with.",
        ),
    ] = "android-15",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE.json", help="With `new`: default NAME.json."),
    ] = None,
    as_json: AsJson = None,
    force: Force = False,
) -> None:
    """List, show, check or make profiles of phones (docs/testing.md).

    `check` prints all problems of a file; exit code 1 if there are any.

    Example: nnapi-shim profiles show android-10-dsp
    """
    if action not in ACTIONS:
        raise typer.BadParameter(f"there is no {action!r}; there are {', '.join(ACTIONS)}")
    require_json(as_json, force)
    from nnapi_shim.tools import profiles as tool

    if action == "list":
        present(tool.list_profiles(), as_json, force, _list)
        return
    if profile is None:
        raise typer.BadParameter(f"{action} needs a profile")
    if action == "show":
        present(tool.show_profile(profile), as_json, force, _show)
    elif action == "check":
        report = tool.check_profile(profile)
        present(report, as_json, force, _check)
        if report.problems:
            raise typer.Exit(PROBLEMS)
    else:
        file = output or f"{profile}.json"
        tool.new_profile(profile, file, source, force)
        write(f"{file}: try it with `nnapi-shim exec --profile ./{file} -- PROGRAM`")


def _list(report: "Phones") -> None:
    rows = [
        (it.name, it.android, it.feature_level, ", ".join(device.name for device in it.devices))
        for it in report.phones
    ]
    write_table(("profile", ">Android", ">feature level", "devices"), rows)


def _show(report: "Phone") -> None:
    write(f"{report.name}: {report.description}")
    write(
        f"Android {report.android}, API level {report.api_level}, feature level "
        f"{report.feature_level}, {report.functions} functions"
    )
    if report.library is not None:
        write(f"library with these functions alone: {report.library}")
    for device in report.devices:
        text = (
            f"{device.name} {device.version}: {device.type}, feature level {device.feature_level}"
        )
        if device.cache_files is not None:
            model, data = device.cache_files
            text += f", compiled models in {count(model + data, 'file')}"
            text += f" ({model} for code, {data} for data)" if data else ""
        write(text)
        for rule in device.operations:
            write(f"  {rule}")


def _check(report: "CheckedProfile") -> None:
    for rule, message in report.problems:
        write(f"{message} [{rule}]")
    write(f"{report.profile}: {count(len(report.problems), 'problem')}")
