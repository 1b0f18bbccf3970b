"""`nnapi-shim calibrate`."""

from typing import TYPE_CHECKING, Annotated

import typer

from nnapi_shim.cli.arguments import Devices, Force, names
from nnapi_shim.cli.output import AsJson, present, progress, require_json, write, write_table
from nnapi_shim.units import duration, number, size

if TYPE_CHECKING:
    from nnapi_shim.tools.calibrate import Calibrated


def calibrate(
    devices: Devices = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            min=0.1,
            help="Wall-clock time; slow compilations get twice as much beside it.",
        ),
    ] = 45.0,
    show: Annotated[
        bool, typer.Option("--show", help="Show the calibration that is kept, instead.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Remove the calibration that is kept, instead.")
    ] = False,
    as_json: AsJson = None,
    force: Force = False,
) -> None:
    """Measure the devices of this machine, so that models are divided by times (docs/engines.md).

    The result is kept for this user. Compilations that name no device, or several, use it if
    devices of others are listed. By default all devices but nnapi-reference are measured.

    Example: NNAPI_SHIM_ENGINES=all nnapi-shim calibrate
    """
    require_json(as_json, force)
    from nnapi_shim.tools import calibrate as tool

    if forget:
        write(tool.forget())
    elif show:
        present(tool.shown(), as_json, force, _show)
    else:
        with progress() as tell:
            report = tool.calibrate(names(devices), seconds=seconds, progress=tell)
        present(report, as_json, force, _show)


def _show(report: "Calibrated") -> None:
    made = report.calibration
    took = "" if report.seconds is None else f", measured in {duration(report.seconds)}"
    write(f"{report.path}{took}")
    write(f"{made.processor}, {made.threads} threads; nnapi_shim {made.library}; {made.made}")
    if report.problem:
        write(f"not used: {report.problem}")
    write()
    write_table(
        ("device", "version", "process", ">call", ">handing over, per MB"),
        [
            (
                device.name,
                device.version,
                "its own" if device.is_isolated else "the program's",
                duration(device.call),
                ", ".join(
                    f"{type} {duration(seconds * 1e6)}"
                    for type, seconds in device.handing_over.items()
                ),
            )
            for device in made.devices
        ],
    )
    write(f"a step of several takes {duration(made.step)} more")
    for change in made.changes:
        write(f"a change between {change.one} and {change.other} takes {duration(change.seconds)}")
    write()
    write_table(
        ("work", "type", ">small, large", *(f">{device.name}" for device in made.devices)),
        list(_rows(report)),
    )


def _rows(report: "Calibrated") -> list[tuple[str, ...]]:
    """The times of each kind of work and type on all devices; "-" where there are none."""
    from nnapi_shim.runtime.work_kinds import ARITHMETIC, KINDS, TYPES

    rows = []
    devices = report.calibration.devices
    for kind in KINDS:
        for type in TYPES:
            found = [device.times.get(kind, {}).get(type) for device in devices]
            points = next((each for each in found if each is not None), None)
            if points is None:
                continue
            is_counted = kind in ARITHMETIC
            amounts = [
                f"{number(point.amount / 1e6, 3)} MOP" if is_counted else size(int(point.amount))
                for point in points
            ]
            cells = [
                "-" if each is None else ", ".join(duration(point.seconds) for point in each)
                for each in found
            ]
            rows.append((kind, type, ", ".join(amounts), *cells))
    return rows
