"""Devices behind the canonical interface of hal/interfaces.py."""

from nnapi_shim.drivers.adoption import Found
from nnapi_shim.drivers.entry_point import installed
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.modules import import_module
from nnapi_shim.settings import DRIVERS, ENGINES, ISOLATE

_BUILT_IN = {
    "nnapi-cpu": ("cpu", "CpuDevice"),
    "nnapi-reference": ("reference", "ReferenceDevice"),
}


def is_built_in(name: str) -> bool:
    """Whether a name belongs to a device of this library."""
    return name in _BUILT_IN


def found_devices() -> list[Found]:
    """Third-party devices: those of manifests, of installed packages, of engines."""
    folders = DRIVERS.get()
    devices: list[Found] = []
    if folders:
        from nnapi_shim.drivers.manifest import in_folders

        devices += in_folders(folders)
    devices += installed()
    isolated = ISOLATE.words()
    engines = ENGINES.get()
    if engines:
        from nnapi_shim.drivers.engine_devices import of_engines, to_isolate

        devices += of_engines(engines, to_isolate(isolated))
    if isolated or any(entry.is_isolated for entry in devices):
        from nnapi_shim.drivers.isolated.choice import in_processes

        devices = in_processes(devices, isolated)
    return devices


def built_in_devices() -> list[Found]:
    """The devices of this library, in their listed order."""

    def entry(name: str, *where: str) -> Found:
        folder, class_name = where

        def make() -> IDevice:
            module = import_module(f"{__name__}.{folder}.device")
            return getattr(module, class_name)()  # type: ignore[no-any-return]

        return Found(name, "nnapi_shim", where[0], make)

    return [entry(name, *where) for name, where in _BUILT_IN.items()]
