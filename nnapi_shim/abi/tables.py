"""The handle tables of the C API, one for each kind of object."""

from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.handles import HandleTable
from nnapi_shim.runtime.burst import Burst
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.device_manager import devices as listed_devices
from nnapi_shim.runtime.event import Event
from nnapi_shim.runtime.execution import Execution
from nnapi_shim.runtime.memory import Memory
from nnapi_shim.runtime.memory_desc import MemoryDesc
from nnapi_shim.runtime.model import Model

models: HandleTable[Model] = HandleTable("model")
compilations: HandleTable[Compilation] = HandleTable("compilation")
executions: HandleTable[Execution] = HandleTable("execution")
bursts: HandleTable[Burst] = HandleTable("burst")
memories: HandleTable[Memory] = HandleTable("memory")
memory_descs: HandleTable[MemoryDesc] = HandleTable("memory descriptor")
events: HandleTable[Event] = HandleTable("event")
devices: HandleTable[IDevice] = HandleTable("device")

_device_handles: dict[str, list[int]] = {}


def device_handles() -> list[int]:
    """The handles of the listed devices, constant for the process."""
    handles = _device_handles.get("all")
    if handles is None:
        # If threads race for the first call, one wins; the others drop their handles.
        fresh = [devices.add(device) for device in listed_devices()]
        handles = _device_handles.setdefault("all", fresh)
        if handles is not fresh:
            for handle in fresh:
                devices.remove(handle)
    return handles
