"""Devices of the engines that NNAPI_SHIM_ENGINES names (docs/engines.md)."""

from functools import partial
from importlib import import_module
from importlib.util import find_spec

from nnapi_shim import log, savers
from nnapi_shim.drivers.adoption import Found, adopted
from nnapi_shim.drivers.engines import PACKAGES
from nnapi_shim.drivers.engines.limited import limited
from nnapi_shim.errors import NnapiError, last_line, op_failed
from nnapi_shim.extras import install_command
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import Any
from nnapi_shim.process import load_numpy
from nnapi_shim.settings import DRIVER_LOAD_TIMEOUT, ENGINES

ALL = "all"


def load_writer() -> None:
    """Import what writes models for engines, which else the first compilation does."""
    savers.exchange()


def of_engines(names: str) -> list[Found]:
    """The devices of the engines with these names, separated by commas; "all": the installed ones.

    An engine that is unknown, missing or broken is reported on stderr and left out.
    """
    devices: list[Found] = []
    for name in chosen(names):
        try:
            engine, targets = limited(
                "its package is imported and lists its devices",
                partial(_engine_and_targets, name),
                None,
                setting=DRIVER_LOAD_TIMEOUT,
            )
        except NnapiError as error:
            log.error(f"{ENGINES.name}: {name} is left out: {error.message}")
            continue
        devices += [
            Found(target.name, ENGINES.name, name, partial(_made, engine, target))
            for target in targets
        ]
    return devices


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
    return [name for name in (PACKAGES[engine].module, "numpy", "onnx") if find_spec(name) is None]


def loaded_engine(name: str) -> Any:
    """An engine, as drivers/engines/engine.py describes it. Raises OP_FAILED if its package is
    missing or cannot be imported.
    """
    missing = missing_packages(name)
    if missing:
        raise op_failed(
            f"{' and '.join(missing)} cannot be found; "
            f"`{install_command(PACKAGES[name].extra)}` installs it",
            "engine.missing",
        )
    load_numpy()
    try:
        module = import_module(f"{__package__}.engines.{name}")
    except (ImportError, OSError, AttributeError) as error:
        raise op_failed(f"it cannot be imported: {last_line(error)}", "engine.import") from None
    return module.Engine()


def _engine_and_targets(name: str) -> tuple[Any, list[Any]]:
    engine = loaded_engine(name)
    return engine, engine.targets()


def _made(engine: Any, target: Any) -> IDevice:
    from nnapi_shim.drivers.engines.device import EngineDevice

    return adopted(EngineDevice(engine, target), target.name)
