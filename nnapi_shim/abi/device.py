"""ANeuralNetworksDevice_*: properties of a device."""

from nnapi_shim.abi.boundary import NO_ERROR, exported
from nnapi_shim.abi.cdata import (
    constant_string,
    not_null,
    pointer_of,
    store,
    store_handle,
    string,
)
from nnapi_shim.abi.tables import devices
from nnapi_shim.hints import Any
from nnapi_shim.runtime import extension

_strings: dict[str, Any] = {}


def _store_string(target: int, text: str) -> None:
    """A pointer to a string that lives as long as the process."""
    store_handle(target, pointer_of(_strings.setdefault(text, constant_string(text))))


@exported
def ANeuralNetworksDevice_getName(device, name):
    """The device's name, unique among the devices."""
    not_null(device=device, name=name)
    _store_string(name, devices[device].name)
    return NO_ERROR


@exported
def ANeuralNetworksDevice_getType(device, type):
    """A DeviceTypeCode."""
    not_null(device=device, type=type)
    store("int32_t *", type, devices[device].type)
    return NO_ERROR


@exported
def ANeuralNetworksDevice_getVersion(device, version):
    """The version of the device's implementation."""
    not_null(device=device, version=version)
    _store_string(version, devices[device].version)
    return NO_ERROR


@exported
def ANeuralNetworksDevice_getFeatureLevel(device, featureLevel):
    """The feature level that the device supports."""
    not_null(device=device, featureLevel=featureLevel)
    store("int64_t *", featureLevel, devices[device].feature_level)
    return NO_ERROR


@exported
def ANeuralNetworksDevice_wait(device):
    """Wait until the device is ready."""
    devices[device].wait()
    return NO_ERROR


@exported
def ANeuralNetworksDevice_getExtensionSupport(device, extensionName, isExtensionSupported):
    """Whether the device supports an extension."""
    not_null(device=device, extensionName=extensionName, isExtensionSupported=isExtensionSupported)
    supported = extension.is_supported(devices[device], string(extensionName))
    store("_Bool *", isExtensionSupported, supported)
    return NO_ERROR
