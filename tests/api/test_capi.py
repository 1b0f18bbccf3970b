"""The C API from Python: the same functions, constants and handles as in C."""

import importlib
import sys
import threading
from typing import Any

import pytest

import nnapi_shim
from nnapi_shim import capi
from nnapi_shim.abi import tables
from nnapi_shim.hal import enums

ffi = capi.ffi


def check(code: int) -> None:
    """Fail with the library's own words unless a call succeeded."""
    assert code == capi.ANEURALNETWORKS_NO_ERROR, last_error()


def last_error() -> str:
    """What C programs get from nnapi_shim_getLastError."""
    return ffi.string(capi.nnapi_shim_getLastError()).decode()


def created(constructor: Any, kind: str, *arguments: Any) -> Any:
    """The object that a function stores through its last parameter."""
    target = ffi.new(f"{kind} **")
    check(constructor(*arguments, target))
    return target[0]


def number(handle: Any) -> int:
    """A handle as the tables know it."""
    return int(ffi.cast("uintptr_t", handle))


def find_device(expected: str) -> Any:
    """A device by its name."""
    count, name = ffi.new("uint32_t *"), ffi.new("const char **")
    check(capi.ANeuralNetworks_getDeviceCount(count))
    for index in range(count[0]):
        device = created(capi.ANeuralNetworks_getDevice, "ANeuralNetworksDevice", index)
        check(capi.ANeuralNetworksDevice_getName(device, name))
        if ffi.string(name[0]).decode() == expected:
            return device
    raise AssertionError(f"there is no {expected}")


def relu(size: int) -> Any:
    """A finished model."""
    model = created(capi.ANeuralNetworksModel_create, "ANeuralNetworksModel")
    dimensions = ffi.new("uint32_t[]", [size])
    tensor = ffi.new("ANeuralNetworksOperandType *")
    tensor.type = capi.ANEURALNETWORKS_TENSOR_FLOAT32
    tensor.dimensionCount, tensor.dimensions = 1, dimensions
    for _ in range(2):
        check(capi.ANeuralNetworksModel_addOperand(model, tensor))
    check(capi.ANeuralNetworksModel_addOperation(model, capi.ANEURALNETWORKS_RELU, 1, [0], 1, [1]))
    check(capi.ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, [0], 1, [1]))
    check(capi.ANeuralNetworksModel_finish(model))
    return model


def test_handles_are_those_of_the_tables() -> None:
    model = relu(3)
    result = tables.models[number(model)]
    assert result.hal is not None and result.hal.main.operands[0].dimensions == (3,)
    capi.ANeuralNetworksModel_free(model)
    assert number(model) not in tables.models


def test_a_computation(device: str) -> None:
    model = relu(3)
    compilation = created(
        capi.ANeuralNetworksCompilation_createForDevices,
        "ANeuralNetworksCompilation",
        model,
        [find_device(device)],
        1,
    )
    check(capi.ANeuralNetworksCompilation_finish(compilation))
    execution = created(
        capi.ANeuralNetworksExecution_create, "ANeuralNetworksExecution", compilation
    )
    x, y = ffi.new("float[]", [-1, 0, 2]), ffi.new("float[3]")
    size = ffi.sizeof(x)
    check(capi.ANeuralNetworksExecution_setInput(execution, 0, ffi.NULL, x, size))
    check(capi.ANeuralNetworksExecution_setOutput(execution, 0, ffi.NULL, y, size))
    check(capi.ANeuralNetworksExecution_compute(execution))
    assert list(y) == [0, 0, 2]
    capi.ANeuralNetworksExecution_free(execution)
    capi.ANeuralNetworksCompilation_free(compilation)
    capi.ANeuralNetworksModel_free(model)


def test_last_error_is_the_same_in_c_and_python() -> None:
    model = created(capi.ANeuralNetworksModel_create, "ANeuralNetworksModel")
    code = capi.ANeuralNetworksModel_setOperandValue(model, 7, ffi.NULL, 0)
    error = nnapi_shim.last_error()
    assert error is not None
    assert code == error.code == capi.ANEURALNETWORKS_BAD_DATA
    assert "operand 7 does not exist" in error.message
    assert last_error() == f"ANeuralNetworksModel_setOperandValue: {error} [{error.rule}]"

    assert capi.ANeuralNetworksModel_create(ffi.NULL) == capi.ANEURALNETWORKS_UNEXPECTED_NULL
    error = nnapi_shim.last_error()
    assert error is not None and error.code is nnapi_shim.ResultCode.UNEXPECTED_NULL
    assert last_error().endswith(f"{error} [{error.rule}]")
    capi.ANeuralNetworksModel_free(model)


def test_every_thread_has_its_own_last_error() -> None:
    assert capi.ANeuralNetworksModel_create(ffi.NULL) != 0
    elsewhere = []
    thread = threading.Thread(
        target=lambda: elsewhere.append((nnapi_shim.last_error(), last_error()))
    )
    thread.start()
    thread.join()
    assert elsewhere == [(None, "")]
    assert "model" in last_error()


@pytest.mark.parametrize("kind", [enums.OperandType, enums.OperationType, enums.ResultCode])
def test_constants(kind: Any) -> None:
    for member in kind:
        if "OEM" not in member.name:
            assert getattr(capi, f"ANEURALNETWORKS_{member.name}") == member


def test_plain_values() -> None:
    assert capi.ANeuralNetworks_getRuntimeFeatureLevel() == enums.RUNTIME_LEVEL
    assert ffi.string(capi.nnapi_shim_getVersion()).decode() == nnapi_shim.__version__


def test_names() -> None:
    names = dir(capi)
    assert "ANeuralNetworksModel_create" in names and "ANEURALNETWORKS_RELU" in names
    assert sum(name.startswith("ANeuralNetworks") for name in names) == 75
    with pytest.raises(AttributeError, match="the C API of NNAPI has no ANeuralNetworksModle"):
        _ = capi.ANeuralNetworksModle


def test_a_library_that_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnapi_shim.folders.library_folders", lambda: ["/nowhere"])
    monkeypatch.delitem(sys.modules, "nnapi_shim.capi")
    with pytest.raises(
        ImportError, match=r"libneuralnetworks\.so is in none of /nowhere; run `make`"
    ):
        importlib.import_module("nnapi_shim.capi")
