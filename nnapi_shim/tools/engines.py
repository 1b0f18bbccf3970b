"""The engines that devices can be made of: installed ones, their devices, how to turn them on."""

from dataclasses import dataclass
from importlib import metadata

from nnapi_shim.drivers import engine_devices
from nnapi_shim.drivers.engines import PACKAGES, Package
from nnapi_shim.errors import NnapiError
from nnapi_shim.extras import install_command
from nnapi_shim.settings import ENGINES


@dataclass(frozen=True)
class EngineInfo:
    """An engine. version: of its package, or of one in its place such as onnxruntime-gpu; None if
    it is not installed. devices: those that it gives. is_on: whether NNAPI_SHIM_ENGINES names it.
    next_step: what turns it on, a command or a setting; "" if it is on. problem: why it gives no
    devices, or "".
    """

    name: str
    version: str | None
    devices: tuple[str, ...]
    is_on: bool
    next_step: str
    problem: str


def engines() -> tuple[EngineInfo, ...]:
    """All engines. Imports those that are installed."""
    on = engine_devices.chosen(ENGINES.get())
    return tuple(_info(name, name in on) for name in PACKAGES)


def _info(name: str, is_on: bool) -> EngineInfo:
    package = PACKAGES[name]
    version = _version(package)
    if engine_devices.missing_packages(name):
        return EngineInfo(name, version, (), is_on, install_command(package.extra), "")
    next_step = "" if is_on else f"{ENGINES.name}={name}"
    try:
        devices = engine_devices.names_of_devices(name)
    except NnapiError as error:
        return EngineInfo(name, version, (), is_on, next_step, error.message)
    return EngineInfo(name, version, devices, is_on, next_step, "")


def _version(package: Package) -> str | None:
    try:
        return metadata.version(package.package)
    except metadata.PackageNotFoundError:
        module = package.modules[0].partition(".")[0]
        owners = metadata.packages_distributions().get(module, ())
        return next(map(metadata.version, owners), None)
