"""ANeuralNetworksMemory_*: memory shared with the program."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import not_null, store_handle
from nnapi_shim.abi.tables import memories, memory_descs
from nnapi_shim.errors import bad_state, op_failed
from nnapi_shim.runtime.memory import FdMemory


@exported
def ANeuralNetworksMemory_createFromFd(size, protect, fd, offset, memory):
    """Memory of a file; mapped when it is first used."""
    not_null(memory=memory)
    store_handle(memory, 0)
    store_handle(memory, memories.add(FdMemory(size, protect, fd, offset)))
    return NO_ERROR


@exported
def ANeuralNetworksMemory_createFromAHardwareBuffer(ahwb, memory):
    """Memory of an AHardwareBuffer."""
    not_null(memory=memory)
    store_handle(memory, 0)
    not_null(ahwb=ahwb)
    raise op_failed("memory of an AHardwareBuffer is not available in this version")


@exported
def ANeuralNetworksMemory_createFromDesc(desc, memory):
    """Memory of a device, for the roles of a descriptor."""
    not_null(memory=memory)
    store_handle(memory, 0)
    if not memory_descs[desc].finished:
        raise bad_state("the memory descriptor is not finished")
    raise op_failed("memory from descriptors is not available in this version")


@exported
def ANeuralNetworksMemory_copy(src, dst):
    """Copy the contents of one memory to another."""
    not_null(src=src, dst=dst)
    source, target = memories[src], memories[dst]
    if source is not target:
        raise op_failed("copying between memories is not available in this version")
    return NO_ERROR


@exported
def ANeuralNetworksMemory_free(memory):
    """Let a memory go; it stays mapped while executions use it."""
    memories.remove(memory)
