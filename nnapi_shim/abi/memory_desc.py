"""ANeuralNetworksMemoryDesc_*: what memory of a device is for."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import not_null, store_handle
from nnapi_shim.abi.tables import compilations, memory_descs
from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.runtime.memory_desc import MemoryDesc


@exported
def ANeuralNetworksMemoryDesc_create(desc):
    """An empty memory descriptor."""
    not_null(desc=desc)
    store_handle(desc, 0)
    store_handle(desc, memory_descs.add(MemoryDesc()))
    return NO_ERROR


@exported
def ANeuralNetworksMemoryDesc_free(desc):
    """Let a memory descriptor go."""
    memory_descs.remove(desc)


def _add_role(desc: int, compilation: int, role: str, index: int, frequency: float) -> int:
    not_null(desc=desc, compilation=compilation)
    memory_descs[desc].require_open()
    item = compilations[compilation]
    if item.state != "finished":
        raise bad_data(f"the compilation is {item.state}; it must be finished")
    item.preferred_memory(role, index)
    if not 0 < frequency <= 1:
        raise bad_data(f"frequency is {frequency:g}; it must be above 0 and at most 1")
    raise op_failed("roles of device memory are not available in this version")


@exported
def ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, index, frequency):
    """The memory is to be an input of executions of this compilation."""
    return _add_role(desc, compilation, "input", index, frequency)


@exported
def ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, index, frequency):
    """The memory is to be an output of executions of this compilation."""
    return _add_role(desc, compilation, "output", index, frequency)


@exported
def ANeuralNetworksMemoryDesc_setDimensions(desc, rank, dimensions):
    """Dimensions of what the memory will hold."""
    not_null(desc=desc)
    if not dimensions and rank:
        raise NnapiError(ResultCode.UNEXPECTED_NULL, f"dimensions is NULL and rank {rank}")
    memory_descs[desc].require_open()
    raise op_failed("dimensions of device memory are not available in this version")


@exported
def ANeuralNetworksMemoryDesc_finish(desc):
    """Close the descriptor; memories can be made from it afterwards."""
    memory_descs[desc].finish()
    return NO_ERROR
