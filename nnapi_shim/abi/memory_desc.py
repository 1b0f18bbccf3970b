"""ANeuralNetworksMemoryDesc_*: descriptors of device memory."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import not_null, not_null_with_length, store_handle, uint32s
from nnapi_shim.abi.tables import compilations, memory_descs
from nnapi_shim.runtime.memory_desc import MemoryDesc


@exported
def ANeuralNetworksMemoryDesc_create(desc):
    """Create an empty memory descriptor."""
    not_null(desc=desc)
    store_handle(desc, 0)
    store_handle(desc, memory_descs.add(MemoryDesc()))
    return NO_ERROR


@exported
def ANeuralNetworksMemoryDesc_free(desc):
    """Free a memory descriptor; memories made from it stay."""
    memory_descs.remove(desc)


@exported
def ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, index, frequency):
    """Add a role: input of executions of this compilation; before finish."""
    not_null(desc=desc, compilation=compilation)
    memory_descs[desc].add_role(compilations[compilation], "input", index, frequency)
    return NO_ERROR


@exported
def ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, index, frequency):
    """Add a role: output of executions of this compilation; before finish."""
    not_null(desc=desc, compilation=compilation)
    memory_descs[desc].add_role(compilations[compilation], "output", index, frequency)
    return NO_ERROR


@exported
def ANeuralNetworksMemoryDesc_setDimensions(desc, rank, dimensions):
    """Set the dimensions of the contents; before finish."""
    not_null(desc=desc)
    not_null_with_length(dimensions, rank, "dimensions")
    item = memory_descs[desc]
    item.set_dimensions(
        tuple(iter(uint32s(dimensions, rank)))
    )  # iter: the array may be shorter than `rank`
    return NO_ERROR


@exported
def ANeuralNetworksMemoryDesc_finish(desc):
    """Close the descriptor; memories can be made from it afterwards."""
    memory_descs[desc].finish()
    return NO_ERROR
