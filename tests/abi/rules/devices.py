"""Devices, and what they say of themselves (API semantics 1 and 11)."""

import ctypes

import pytest

from nnapi_shim.hal.enums import DeviceType, ResultCode

RUNTIME_LEVEL = 1000008


def test_devices(api):
    """api-semantics 1: "Devices listed: drivers first"
    api-semantics 1: "look up a device with exactly this name".
    """
    names = list(api.devices())
    assert names == ["nnapi-cpu", "nnapi-reference"]
    assert api.devices() == api.devices()


@pytest.mark.parametrize("index", [2, 3, 2**32 - 1])
def test_devices_that_do_not_exist(api, index):
    handle = ctypes.c_uint64(77)
    api.refuse(ResultCode.BAD_DATA, "_getDevice", index, handle)
    assert handle.value == 77
    api.refuse(ResultCode.UNEXPECTED_NULL, "_getDevice", index, None)


def test_properties(api):
    """api-semantics 1: "Device feature level = min(runtime level, device level)"
    api-semantics 1: "Device_wait: NO_ERROR for a healthy device".
    """
    for device in api.devices().values():
        assert api.get(ctypes.c_int32, "Device_getType", device) == DeviceType.CPU
        level = api.get(ctypes.c_int64, "Device_getFeatureLevel", device)
        assert 27 <= level <= api.call("_getRuntimeFeatureLevel")
        assert api.get(ctypes.c_char_p, "Device_getVersion", device)
        api.ok("Device_wait", device)


@pytest.mark.parametrize("name", ["Device_getName", "Device_getVersion"])
def test_strings_live_on(api, name):
    """The same pointer each time."""
    for device in api.devices().values():
        first, second = (api.get(ctypes.c_uint64, name, device) for _ in range(2))
        assert first == second


def test_constants(api):
    """api-semantics 1: "Default/maximum loop timeout: exactly 2 s and 15 s"."""
    assert api.call("_getRuntimeFeatureLevel") == RUNTIME_LEVEL
    assert api.call("_getDefaultLoopTimeout") == 2 * 10**9
    assert api.call("_getMaximumLoopTimeout") == 15 * 10**9


def test_no_device_has_an_extension(api):
    """api-semantics 11: "Device_getExtensionSupport: NO_ERROR with false"."""
    for device in api.devices().values():
        supported = (ctypes.c_uint8 * 2)(77, 77)
        api.ok("Device_getExtensionSupport", device, b"com.example.extension", supported)
        assert list(supported) == [0, 77]


def test_last_error_is_kept_until_the_next(api):
    api.refuse(ResultCode.BAD_DATA, "_getDevice", 7, ctypes.c_uint64())
    message = api.last_error()
    api.devices()
    assert api.last_error() == message
