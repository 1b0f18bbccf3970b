"""Devices of the engines that NNAPI_SHIM_ENGINES names (docs/engines.md)."""

from functools import partial
from importlib import import_module
from importlib.util import find_spec

from nnapi_shim import log, savers
from nnapi_shim.drivers.adoption import ENGINE, Found, adopted
from nnapi_shim.drivers.engines import PACKAGES
from nnapi_shim.drivers.engines.limited import limited
from nnapi_shim.errors import NnapiError, last_line, op_failed
from nnapi_shim.extras import install_command
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import Any, Container, Sequence
from nnapi_shim.process import load_numpy
from nnapi_shim.settings import DRIVER_LOAD_TIMEOUT, ENGINES, ISOLATE

ALL = "all"


def load_writer() -> None:
    """Import what writes models for engines, which else the first compilation does."""
    for suffix in savers.exchange_modules:
        savers.exchange(suffix)


def of_engines(names: str, isolated: Container[str] = ()) -> list[Found]:
    """The devices of the engines with these names, separated by commas; "all": the installed ones.

    isolated: the engines that run in processes of their own, and are not imported here. An engine
    that is unknown, missing or broken is reported on stderr and left out.
    """
    devices: list[Found] = []
    for name in chosen(names):
        try:
            devices += of_isolated_engine(name) if name in isolated else of_engine(name)
        except NnapiError as error:
            log.error(f"{ENGINES.name}: {name} is left out: {error.message}")
    return devices


def of_engine(name: str) -> list[Found]:
    """The devices of an engine. Raises OP_FAILED if it is missing or broken."""
    engine, targets = limited(
        "its package is imported and lists its devices",
        partial(_engine_and_targets, name),
        None,
        setting=DRIVER_LOAD_TIMEOUT,
    )
    return [
        Found(target.name, ENGINES.name, name, partial(_made, engine, target), (ENGINE, name))
        for target in targets
    ]


def of_isolated_engine(name: str) -> list[Found]:
    """The devices of an engine, each in a process of its own. Raises OP_FAILED as of_engine."""
    require_packages(name)
    from nnapi_shim.drivers.isolated.device import devices_of

    return devices_of(name, ENGINES.name, (ENGINE, name))


def to_isolate(names: Sequence[str]) -> Container[str]:
    """The engines among the names of NNAPI_SHIM_ISOLATE, and those that always are alone."""
    alone = [name for name, package in PACKAGES.items() if package.is_alone]
    return [*PACKAGES] if ALL in names else [*names, *alone]


def listed_by(device: str) -> str:
    """What lists the device of this name, if its engine is not on; "" for any other name."""
    engine = device.partition("-")[0]
    if engine not in PACKAGES or engine in chosen(ENGINES.get()):
        return ""
    return f"{ENGINES.name}={engine} lists the devices of {engine}"


def names_of_devices(engine: str) -> tuple[str, ...]:
    """The devices that an installed engine gives, whether it is on or not. Raises OP_FAILED.

    An engine that runs in a process of its own is asked there. What it says of devices that it does
    not give is for programs that turn it on.
    """
    write = log.write_with(lambda line: None)
    try:
        if engine in to_isolate(ISOLATE.words()):
            return tuple(entry.name for entry in of_isolated_engine(engine))
        return tuple(target.name for target in loaded_engine(engine).targets())
    finally:
        log.write_with(write)


def chosen(names: str) -> list[str]:
    """The engines that a value of the setting names, each once."""
    engines: list[str] = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        if name == ALL:
            engines += [engine for engine in PACKAGES if not missing_packages(engine)]
        elif name in PACKAGES:
            engines.append(name)
        else:
            ENGINES.refuse(name, f"engines are {', '.join([*PACKAGES, ALL])}")
    return [*dict.fromkeys(engines)]


def missing_packages(engine: str) -> list[str]:
    """The packages that an engine needs and that are not installed."""
    package = PACKAGES[engine]
    return [name for name in (*package.modules, "numpy", *package.writing) if _is_missing(name)]


def _is_missing(module: str) -> bool:
    try:
        return find_spec(module) is None
    except ModuleNotFoundError:  # of the package that it is in
        return True


def loaded_engine(name: str) -> Any:
    """An engine, as drivers/engines/engine.py describes it. Raises OP_FAILED if its package is
    missing or cannot be imported.
    """
    require_packages(name)
    load_numpy()
    try:
        module = import_module(f"{__package__}.engines.{name}")
    except (ImportError, OSError, AttributeError) as error:
        raise op_failed(f"it cannot be imported: {last_line(error)}", "engine.import") from None
    return module.Engine()


def require_packages(name: str) -> None:
    """Raise OP_FAILED, with a command that installs them, if an engine's packages are missing."""
    missing = missing_packages(name)
    if missing:
        raise op_failed(
            f"{' and '.join(missing)} cannot be found; "
            f"`{install_command(PACKAGES[name].extra)}` installs it",
            "engine.missing",
        )


def _engine_and_targets(name: str) -> tuple[Any, list[Any]]:
    engine = loaded_engine(name)
    return engine, engine.targets()


def _made(engine: Any, target: Any) -> IDevice:
    from nnapi_shim.drivers.engines.device import EngineDevice

    return adopted(EngineDevice(engine, target), target.name)
