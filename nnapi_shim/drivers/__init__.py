"""Devices: things that can run a model, behind the canonical interface of hal/interfaces.py."""

from collections.abc import Callable
from importlib import import_module

from nnapi_shim.hal.interfaces import IDevice

_BUILT_IN = {
    "nnapi-cpu": ("cpu", "CpuDevice"),
    "nnapi-reference": ("reference", "ReferenceDevice"),
}


def built_in_devices() -> list[tuple[str, Callable[[], IDevice]]]:
    """Name and maker of each built-in device, in the order in which they are listed."""

    def maker(folder: str, class_name: str) -> Callable[[], IDevice]:
        def make() -> IDevice:
            module = import_module(f"{__name__}.{folder}.device")
            return getattr(module, class_name)()  # type: ignore[no-any-return]

        return make

    return [(name, maker(*where)) for name, where in _BUILT_IN.items()]
