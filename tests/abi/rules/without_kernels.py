"""Run with no kernel library, and NNAPI_SHIM_JIT=off."""

import pytest

from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, pointers
from tests.abi.rules.graph import Run, add_graph


@pytest.mark.parametrize("names", [["nnapi-cpu"], ["nnapi-cpu", "nnapi-reference"]])
def test_named_devices(api, names):
    """The CPU device cannot compile anything, and says how to mend that. Nobody steps in.

    api-semantics 3: "An explicit device list switches CPU fallback off"
    """
    model = add_graph(api).finish()
    devices = pointers(*(api.devices()[name] for name in names))
    compilation = api.make("Compilation_createForDevices", model, devices, len(names))
    saying = "`make kernels` builds it"
    api.refuse(ResultCode.OP_FAILED, "Compilation_finish", compilation, saying=saying)
    api.make_none(ResultCode.BAD_STATE, "Execution_create", compilation)


def test_any_device(api):
    """The reference device steps in, and not in silence: it is slow."""
    model = add_graph(api).finish()
    compilation = api.make("Compilation_create", model)
    said = api.ok_saying("Compilation_finish", compilation)
    assert "nnapi-cpu is passed over" in said
    assert "`make kernels` builds it" in said
    assert said.count("\n") == 1
    execution = api.make("Execution_create", compilation)
    values = floats(1, 2), floats(10, 20), floats(0, 0)
    for index, value in enumerate(values[:2]):
        api.ok("Execution_setInput", execution, index, None, value, 8)
    api.ok("Execution_setOutput", execution, 0, None, values[2], 8)
    api.ok("Execution_compute", execution)
    assert list(values[2]) == [11, 22]


def test_reference_device(api):
    run = Run(api, api.devices()["nnapi-reference"], add_graph(api).finish())
    run.input(0, floats(1, 2))
    run.input(1, floats(10, 20))
    result = run.output(0, 8)
    run.ok("compute")
    assert result.floats() == [11, 22]
