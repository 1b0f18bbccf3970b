"""Run with a DEBUG_NN_ENABLED_DEVICES that no device matches."""

import ctypes

from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.graph import add_graph


def test_no_devices(api):
    assert api.devices() == {}
    api.refuse(ResultCode.BAD_DATA, "_getDevice", 0, ctypes.c_uint64())


def test_compilation_for_any_device(api):
    """No device runs the first operation (3).

    api-semantics 3: "(or no device at all)"
    """
    compilation = api.make("Compilation_create", add_graph(api).finish())
    api.refuse(ResultCode.BAD_DATA, "Compilation_finish", compilation, saying="ADD (operation 0)")
    assert "DEBUG_NN_ENABLED_DEVICES is 'nnapi'" in api.last_error()
    api.make_none(ResultCode.BAD_STATE, "Execution_create", compilation)
