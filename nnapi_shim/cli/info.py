"""`nnapi-shim info`."""

from dataclasses import replace
from typing import Annotated

import typer

from nnapi_shim.cli import completion
from nnapi_shim.cli.arguments import Force
from nnapi_shim.cli.output import AsJson, present, write, write_table
from nnapi_shim.tools.info import Info, SettingInfo


def info(
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            metavar="NAME",
            autocompletion=completion.settings,
            help="Show the value, origin and meaning of this setting alone; repeat it for several.",
        ),
    ] = None,
    as_json: AsJson = None,
    force: Force = False,
) -> None:
    """Show devices, processor, versions, settings and their origin, folders.

    Example: nnapi-shim info --json
    """
    from nnapi_shim.tools.info import info as find

    report = find()
    if setting:
        report = replace(report, settings=_chosen(report, setting))
    present(report, as_json, force, _show_settings if setting else _show)


def _show_settings(report: Info) -> None:
    for item in report.settings:
        write(f"{item.name} = {item.value!r} ({item.origin})\n  {item.meaning}")


def _chosen(report: Info, names: list[str]) -> tuple[SettingInfo, ...]:
    from nnapi_shim.api.names import unknown

    by_name = {item.name: item for item in report.settings}
    for name in names:
        if name not in by_name:
            raise unknown("setting", name, list(by_name))
    return tuple(by_name[name] for name in names)


def _show(report: Info) -> None:
    cpu = report.processor
    write(f"nnapi_shim {report.version}, Python {report.python}, {report.system}")
    write()
    write_table(
        (
            *("device", "type", "version", ">level", "written for", "process"),
            *(">time", ">power", "extensions"),
        ),
        [
            (
                device.name,
                device.type.name,
                device.version,
                device.feature_level,
                f"HAL {device.hal}" if device.hal else "nnapi_shim",
                "its own" if device.is_isolated else "the program's",
                _range(device.exec_time),
                _range(device.power_usage),
                device.problem or ", ".join(device.extensions),
            )
            for device in report.devices
        ],
    )
    write()
    write_table(
        ("engine", "version", "devices", "to turn it on"),
        [
            (
                engine.name,
                engine.version or "not installed",
                engine.problem or ", ".join(engine.devices),
                engine.next_step or "it is on",
            )
            for engine in report.engines
        ],
    )
    write()
    features = ", ".join(cpu.features)
    write(f"processor  {cpu.name} ({cpu.architecture}), {cpu.count} usable; {features}")
    if cpu.problem:
        write(f"kernels    none: {cpu.problem}")
    else:
        runs = ", ".join(cpu.tiers)
        write(f"kernels    tier {cpu.tier} of {runs}; {cpu.kernels or 'compiled when needed'}")
    for name, path in report.paths.items():
        write(f"{name:10} {path or 'not built'}")
    write()
    write_table(
        ("package", "version"),
        [(name, version or "not installed") for name, version in report.packages.items()],
    )
    write()
    write_table(
        ("setting", "value", "from"),
        [(setting.name, setting.value, setting.origin) for setting in report.settings],
    )
    write("`nnapi-shim info --setting NAME` shows the meaning of a setting")


def _range(figures: dict[str, float]) -> str:
    """The range of the figures of all types."""
    if not figures:
        return ""
    low, high = min(figures.values()), max(figures.values())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
