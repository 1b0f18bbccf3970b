"""Devices of phone profiles among the devices of this process: `PROFILE:DEVICE`."""

from collections.abc import Iterable

from nnapi_shim.errors import bad_data
from nnapi_shim.phones.files import read
from nnapi_shim.phones.whole_device import WholeDevice
from nnapi_shim.runtime.device_manager import register_driver


def list_devices_of_phones(names: Iterable[str]) -> None:
    """List the devices whose names have a colon, such as android-10-gpu:generic-gpu, under these
    names. Each runs whole models: what the device does not take computes as on the CPU.

    Raises BAD_DATA for a profile or a device that does not exist, BAD_STATE after the devices of
    this process have been listed.
    """
    for name in names:
        profile_name, colon, device_name = name.rpartition(":")
        if not colon:
            continue
        profile = read(profile_name)
        described = {device.name: device for device in profile.devices}
        if device_name not in described:
            message = f"{profile_name} has no device {device_name!r}; it has {', '.join(described)}"
            raise bad_data(message, "tool.phone-device")
        register_driver(name, WholeDevice(described[device_name], name))
