"""`nnapi-shim info`."""

from nnapi_shim.cli.output import AsJson, write, write_json, write_table
from nnapi_shim.tools.info import Info


def info(as_json: AsJson = False) -> None:
    """Devices, processor, versions, settings in force and where they come from, folders.

    Example: nnapi-shim info --json
    """
    from nnapi_shim.tools.info import info as find

    found = find()
    if as_json:
        write_json(found)
    else:
        _show(found)


def _show(found: Info) -> None:
    own = found.processor
    write(f"nnapi_shim {found.version}, Python {found.python}, {found.system}")
    write()
    write_table(
        ("device", "type", "version", ">level", "written for", ">time", ">power", "extensions"),
        [
            (
                device.name,
                device.type.name,
                device.version,
                device.feature_level,
                f"HAL {device.hal}" if device.hal else "nnapi_shim",
                _range(device.exec_time),
                _range(device.power_usage),
                device.problem or ", ".join(device.extensions),
            )
            for device in found.devices
        ],
    )
    write()
    features = ", ".join(own.features)
    write(f"processor  {own.name} ({own.architecture}), {own.count} usable; {features}")
    if own.problem:
        write(f"kernels    none: {own.problem}")
    else:
        runs = ", ".join(own.tiers)
        write(f"kernels    tier {own.tier} of {runs}; {own.kernels or 'compiled when needed'}")
    for name, path in found.paths.items():
        write(f"{name:10} {path or 'not built'}")
    write()
    write_table(
        ("package", "version"),
        [(name, version or "not installed") for name, version in found.packages.items()],
    )
    write()
    write_table(
        ("setting", "value", "from"),
        [(setting.name, setting.value, setting.origin) for setting in found.settings],
    )


def _range(figures: dict[str, float]) -> str:
    """The figures of all types, which are the same one more often than not."""
    if not figures:
        return ""
    low, high = min(figures.values()), max(figures.values())
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
