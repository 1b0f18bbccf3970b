"""The devices of this process and their selection."""

from collections.abc import Iterable

from nnapi_shim.api.argument_types import listed, wrong_type
from nnapi_shim.api.fields import with_fields
from nnapi_shim.api.names import unknown
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import DeviceType, FeatureLevel
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import NamedTuple
from nnapi_shim.runtime import device_manager


@with_fields
class Device(NamedTuple):
    """The description of a device.

    name: its name, which no other device has.
    type: what kind of processor it is.
    version: the version of its driver.
    feature_level: the highest feature level that it supports completely.
    """

    name: str
    type: DeviceType
    version: str
    feature_level: FeatureLevel


Choice = str | Device | Iterable[str | Device]
"""A device or several, each by its name or as `devices()` lists it."""


def described(driver: IDevice) -> Device:
    """The description of a runtime device."""
    return Device(driver.name, driver.type, driver.version, driver.feature_level)


def devices() -> list[Device]:
    """The devices of this process, in the order of their NNAPI indices."""
    return [described(driver) for driver in device_manager.devices()]


def chosen(choice: Choice) -> list[IDevice]:
    """The selected devices of the runtime, in the given order.

    Raises BAD_DATA for an unknown name, a device that is given twice, and an empty list.
    """
    expected = "the name of a device, a Device, or a list of them"
    choice = [choice] if isinstance(choice, str | Device) else listed("devices", choice, expected)
    drivers = {driver.name: driver for driver in device_manager.devices()}
    selected: dict[str, IDevice] = {}
    for item in choice:
        if not isinstance(item, str | Device):
            raise wrong_type("a device", item, "a name or a Device")
        name = item if isinstance(item, str) else item.name
        if name not in drivers:
            raise unknown("device", name, list(drivers), hint=_of_engine(name))
        if name in selected:
            raise bad_data(f"device {name!r} is in the list twice", "device.list.twice")
        selected[name] = drivers[name]
    if not selected:
        raise bad_data(
            "the list of devices is empty; leave it out to allow every device", "device.list.empty"
        )
    return list(selected.values())


def _of_engine(name: str) -> str:
    """What lists a device of an engine that is not on; "" for any other name."""
    from nnapi_shim.drivers import engine_devices

    return engine_devices.listed_by(name)
