"""Run with a DEBUG_NN_ENABLED_DEVICES that is no regular expression."""

import ctypes

from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.graph import add_graph

SAYING = "DEBUG_NN_ENABLED_DEVICES is 'nnapi-(', not a regular expression"


def test_device_queries(api):
    """Refused each time, not only the first."""
    for _ in range(2):
        count, handle = ctypes.c_uint32(77), ctypes.c_uint64()
        api.refuse(ResultCode.BAD_DATA, "_getDeviceCount", count, saying=SAYING)
        assert count.value == 77
        api.refuse(ResultCode.BAD_DATA, "_getDevice", 0, handle, saying=SAYING)


def test_compilation(api):
    model = add_graph(api).finish()
    api.make_none(ResultCode.BAD_DATA, "Compilation_create", model, saying=SAYING)
