"""ANeuralNetworksMemory_*: memory shared with the program, and memory of devices."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import not_null, store_handle
from nnapi_shim.abi.tables import memories, memory_descs
from nnapi_shim.runtime.memory import FdMemory, HardwareBufferMemory, copy


@exported
def ANeuralNetworksMemory_createFromFd(size, protect, fd, offset, memory):
    """Create a memory of a file, which is mapped at its first use."""
    not_null(memory=memory)
    store_handle(memory, 0)
    store_handle(memory, memories.add(FdMemory(size, protect, fd, offset)))
    return NO_ERROR


@exported
def ANeuralNetworksMemory_createFromAHardwareBuffer(ahwb, memory):
    """Create a memory of a hardware buffer, which the program keeps alive."""
    not_null(memory=memory)
    store_handle(memory, 0)
    not_null(ahwb=ahwb)
    store_handle(memory, memories.add(HardwareBufferMemory(ahwb)))
    return NO_ERROR


@exported
def ANeuralNetworksMemory_createFromDesc(desc, memory):
    """Create a device memory for the roles of a finished descriptor."""
    not_null(memory=memory)
    store_handle(memory, 0)
    store_handle(memory, memories.add(memory_descs[desc].create_memory()))
    return NO_ERROR


@exported
def ANeuralNetworksMemory_copy(src, dst):
    """Copy the contents of one memory to another."""
    not_null(src=src, dst=dst)
    copy(memories[src], memories[dst])
    return NO_ERROR


@exported
def ANeuralNetworksMemory_free(memory):
    """Free a memory; it stays mapped while executions use it."""
    memories.remove(memory)
