"""ANeuralNetworksCompilation_*: compiles a model for devices."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import (
    data_at,
    not_null,
    pointers,
    store,
    store_handle,
    string,
)
from nnapi_shim.abi.global_ import listed_devices
from nnapi_shim.abi.tables import compilations, models
from nnapi_shim.address import read
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import BYTE_SIZE_OF_CACHE_TOKEN
from nnapi_shim.runtime.compilation import Compilation


@exported
def ANeuralNetworksCompilation_create(model, compilation):
    """Create a compilation of a finished model; the library chooses the devices."""
    not_null(compilation=compilation)
    store_handle(compilation, 0)
    store_handle(compilation, compilations.add(Compilation(models[model])))
    return NO_ERROR


@exported
def ANeuralNetworksCompilation_createForDevices(model, devices, numDevices, compilation):
    """Create a compilation of a finished model for these devices only."""
    not_null(compilation=compilation)
    store_handle(compilation, 0)
    not_null(model=model, devices=devices)
    if numDevices == 0:
        raise bad_data("numDevices is 0", "device.list.empty")
    chosen = listed_devices(pointers(devices, numDevices))
    store_handle(compilation, compilations.add(Compilation(models[model], chosen)))
    return NO_ERROR


@exported
def ANeuralNetworksCompilation_free(compilation):
    """Free a compilation."""
    compilations.remove(compilation)


@exported
def ANeuralNetworksCompilation_finish(compilation):
    """Compile; the compilation cannot be changed afterwards."""
    compilations[compilation].finish()
    return NO_ERROR


@exported
def ANeuralNetworksCompilation_setPreference(compilation, preference):
    """Set the execution preference."""
    compilations[compilation].set_preference(preference)
    return NO_ERROR


@exported
def ANeuralNetworksCompilation_setPriority(compilation, priority):
    """Set the priority among the compilations of this program."""
    compilations[compilation].set_priority(priority)
    return NO_ERROR


@exported
def ANeuralNetworksCompilation_setTimeout(compilation, duration):
    """Set the time limit of finish in ns."""
    compilations[compilation].set_timeout(duration)
    return NO_ERROR


@exported
def ANeuralNetworksCompilation_setCaching(compilation, cacheDir, token):
    """Set the cache folder, and the token that identifies the model."""
    not_null(compilation=compilation, cacheDir=cacheDir, token=token)
    compilations[compilation].set_caching(string(cacheDir), read(token, BYTE_SIZE_OF_CACHE_TOKEN))
    return NO_ERROR


@exported
def ANeuralNetworksCompilation_addExtensionAttribute(
    compilation, extensionName, attributeCodeWithinExtension, data, length
):
    """Pass an attribute of an extension to the device."""
    not_null(compilation=compilation, extensionName=extensionName)
    contents = data_at(data, length)
    compilations[compilation].add_extension_attribute(
        string(extensionName), attributeCodeWithinExtension, contents
    )
    return NO_ERROR


def _preferred(compilation: int, role: str, index: int, target: int) -> int:
    not_null(compilation=compilation, target=target)
    store("uint32_t *", target, compilations[compilation].preferred_memory(role, index))
    return NO_ERROR


@exported
def ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(compilation, index, alignment):
    """Preferred alignment of an input in bytes."""
    return _preferred(compilation, "input", index, alignment)


@exported
def ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(compilation, index, padding):
    """Preferred padding of an input in bytes: the buffer size is a multiple."""
    return _preferred(compilation, "input", index, padding)


@exported
def ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(compilation, index, alignment):
    """Preferred alignment of an output in bytes."""
    return _preferred(compilation, "output", index, alignment)


@exported
def ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(compilation, index, padding):
    """Preferred padding of an output in bytes: the buffer size is a multiple."""
    return _preferred(compilation, "output", index, padding)
