"""ANeuralNetworks_*: the devices of this process.

The functions that return a plain value (feature level, loop timeouts) are constants in C, as an
error code would be taken for a level or a duration.
"""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import not_null, store, store_handle
from nnapi_shim.abi.tables import device_handles, devices
from nnapi_shim.errors import bad_data, unexpected_null
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import Sequence


@exported
def ANeuralNetworks_getDeviceCount(numDevices):
    """Number of devices."""
    not_null(numDevices=numDevices)
    store("uint32_t *", numDevices, len(device_handles()))
    return NO_ERROR


@exported
def ANeuralNetworks_getDevice(devIndex, device):
    """The device at an index; always the same handle."""
    not_null(device=device)
    handles = device_handles()
    if devIndex >= len(handles):
        raise bad_data(
            f"device {devIndex} does not exist; there are {len(handles)}", "device.index"
        )
    store_handle(device, handles[devIndex])
    return NO_ERROR


@exported
def nnapi_shim_loadEverything():
    """Load all modules and libraries that calls load on demand."""
    from nnapi_shim.runtime.everything import load_everything

    load_everything()
    return NO_ERROR


def listed_devices(handles: Sequence[int]) -> list[IDevice]:
    """The devices of a list of handles; UNEXPECTED_NULL for NULL, BAD_DATA for duplicates."""
    by_handle: dict[int, IDevice] = {}
    for position, handle in enumerate(handles):
        if not handle:
            raise unexpected_null(
                f"device {position} of the list is NULL; ANeuralNetworks_getDevice returns devices",
                "device.list.null",
            )
        if handle in by_handle:
            raise bad_data(f"device {position} is in the list twice", "device.list.twice")
        by_handle[handle] = devices[handle]
    return list(by_handle.values())
