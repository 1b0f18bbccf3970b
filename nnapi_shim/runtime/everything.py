"""Loads all modules, devices and libraries, for programs that drop privileges afterwards."""

from pkgutil import iter_modules

from nnapi_shim.hints import Iterable
from nnapi_shim.modules import import_module
from nnapi_shim.process import load_numpy
from nnapi_shim.runtime import program_constants
from nnapi_shim.runtime.device_manager import devices
from nnapi_shim.settings import ENGINES

PARTS = ("hal", "operations", "drivers", "runtime", "abi")
"""The packages that a C program may use."""

COMPILER = tuple(f"nnapi_shim.drivers.cpu.{room}" for room in ("kernels", "codegen", "toolchain"))
"""The kernel compiler, which a sandboxed program without file access cannot use."""

ENGINES_PACKAGE = "nnapi_shim.drivers.engines"
"""Devices on engines: its modules need packages that may be missing, and the setting."""

LATER = ("json", "select", "signal")
"""Modules of the standard library that functions import on demand."""


def load_everything() -> None:
    """Import all modules that later calls may need, and create the devices.

    Raises ImportError for a missing module, such as numpy.
    """
    program_constants.stop()
    load_numpy()
    for name in LATER:
        import_module(name)
    for part in PARTS:
        package = f"nnapi_shim.{part}"
        _load(package, import_module(package).__path__)
    for device in devices():
        device.wait()
    if ENGINES.get():
        from nnapi_shim.drivers import engine_devices

        engine_devices.load_writer()


def _load(package: str, path: Iterable[str]) -> None:
    for module in iter_modules(path, f"{package}."):
        if module.name not in COMPILER and module.name != ENGINES_PACKAGE:
            loaded = import_module(module.name)
            if module.ispkg:
                _load(module.name, loaded.__path__)
