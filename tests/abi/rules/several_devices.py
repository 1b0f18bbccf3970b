"""Models that are split over devices, through the C API."""

import ctypes

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType, ResultCode
from nnapi_shim.runtime import device_manager
from tests.abi.rules.capi import floats, operand_type, pointers, uint32s
from tests.abi.rules.graph import Buffer, Graph, descriptor
from tests.runtime.partial_devices import PartialDevice

ADDS, MULS = PartialDevice("adds", "ADD"), PartialDevice("muls", "MUL")


@pytest.fixture(scope="module", autouse=True)
def _registered():
    for device in (ADDS, MULS):
        device_manager.register_driver(device.name, device)


def add_mul(api, dimensions=(2,)):
    """Outputs a + b and (a + b) * c; inputs a, b, c."""
    graph = Graph(api)
    a, b, c = (graph.operand(T.TENSOR_FLOAT32, dimensions) for _ in range(3))
    none = graph.int32(0)
    total, product = (graph.operand(T.TENSOR_FLOAT32, dimensions) for _ in range(2))
    graph.operation(OperationType.ADD, [a, b, none], [total])
    graph.operation(OperationType.MUL, [total, c, none], [product])
    graph.arguments([a, b, c], [total, product])
    return graph.finish()


def compiled(api, model, *names):
    devices = pointers(*(api.devices()[name] for name in names))
    compilation = api.make("Compilation_createForDevices", model, devices, len(names))
    api.ok("Compilation_finish", compilation)
    return compilation


def execution(api, compilation, inputs, lengths=(8, 8), type=None):
    made = api.make("Execution_create", compilation)
    for index, value in enumerate(inputs):
        size = ctypes.sizeof(value)
        api.ok("Execution_setInput", made, index, type, value, size)
    buffers = [Buffer(length) for length in lengths]
    for index, buffer in enumerate(buffers):
        api.ok("Execution_setOutput", made, index, None, buffer.address, buffer.length)
    return made, buffers


INPUTS = floats(1, 2), floats(10, 20), floats(3, 5)


@pytest.mark.parametrize(
    "names", [("adds", "muls"), ("muls", "adds"), ("muls", "nnapi-cpu", "adds")]
)
def test_results(api, names):
    compilation = compiled(api, add_mul(api), *names)
    made, (total, product) = execution(api, compilation, INPUTS)
    api.ok("Execution_compute", made)
    assert (total.floats(), product.floats()) == ([11, 22], [33, 110])


@pytest.mark.parametrize("start", ["compute", "event", "burst"])
def test_reusable(api, start):
    compilation = compiled(api, add_mul(api), "adds", "muls")
    value = floats(1, 2)
    made, (_, product) = execution(api, compilation, (value, *INPUTS[1:]))
    api.ok("Execution_setReusable", made, True)
    burst = api.make("Burst_create", compilation)
    for first in (1, 7):
        value[0] = first
        if start == "compute":
            api.ok("Execution_compute", made)
        elif start == "burst":
            api.ok("Execution_burstCompute", made, burst)
        else:
            event = api.make("Execution_startCompute", made)
            api.ok("Event_wait", event)
        assert product.floats() == [(first + 10) * 3, 110]


def test_the_dimensions_of_outputs(api):
    compilation = compiled(api, add_mul(api, (0,)), "adds", "muls")
    type = operand_type(T.TENSOR_FLOAT32, (2,))
    made, (total, _) = execution(api, compilation, INPUTS, (4, 8), type)
    code = ResultCode.OUTPUT_INSUFFICIENT_SIZE
    api.refuse(code, "Execution_compute", made, saying="output 0 has dimensions [2]")
    assert total.is_untouched
    size = uint32s([9])
    name = "Execution_getOutputOperandDimensions"
    assert api.result(name, made, 0, size) == code
    assert list(size) == [2]
    api.ok(name, made, 1, size)
    assert list(size) == [2]
    made, (_, product) = execution(api, compilation, INPUTS, (8, 12), type)
    api.ok("Execution_compute", made)
    assert product.contents[:8] == bytes(floats(33, 110))


def test_what_takes_one_device(api):
    model = add_mul(api)
    devices = pointers(*(api.devices()[name] for name in ("adds", "muls")))
    compilation = api.make("Compilation_createForDevices", model, devices, 2)
    api.refuse(ResultCode.BAD_DATA, "Compilation_setTimeout", compilation, 1)
    api.ok("Compilation_finish", compilation)
    made = api.make("Execution_create", compilation)
    api.refuse(ResultCode.BAD_DATA, "Execution_setMeasureTiming", made, True)
    api.refuse(ResultCode.BAD_DATA, "Execution_setTimeout", made, 1)


def test_an_operation_without_a_device(api):
    model = add_mul(api)
    compilation = api.make(
        "Compilation_createForDevices", model, pointers(api.devices()["adds"]), 1
    )
    saying = "MUL (operation 1) is supported by no device of: adds"
    api.refuse(ResultCode.BAD_DATA, "Compilation_finish", compilation, saying=saying)


def test_supported_operations(api):
    model = add_mul(api)
    for names, expected in ((["adds"], [1, 0]), (["muls"], [0, 1]), (["adds", "muls"], [1, 1])):
        flags = (ctypes.c_bool * 2)()
        devices = pointers(*(api.devices()[name] for name in names))
        name = "Model_getSupportedOperationsForDevices"
        api.ok(name, model, devices, len(names), flags)
        assert list(flags) == expected


def test_memory_of_one_device(api):
    """Inputs 0 and 1 are read by one device, input 2 by the other; output 1 written by that."""
    compilation = compiled(api, add_mul(api), "adds", "muls")
    api.make("Memory_createFromDesc", descriptor(api, *[(compilation, "Input", i) for i in (0, 1)]))
    roles = (compilation, "Input", 2), (compilation, "Output", 1)
    memory = api.make("Memory_createFromDesc", descriptor(api, *roles))
    made, (total,) = execution(api, compilation, INPUTS, (8,))
    api.ok("Execution_setOutputFromMemory", made, 1, None, memory, 0, 0)
    api.ok("Execution_compute", made)
    assert total.floats() == [11, 22]
    made, (_, product) = execution(api, compilation, INPUTS[:2])
    api.ok("Execution_setInputFromMemory", made, 2, None, memory, 0, 0)
    api.ok("Execution_compute", made)
    assert product.floats() == [11 * 33, 22 * 110]


@pytest.mark.parametrize(
    "roles",
    [
        (("Input", 0), ("Input", 2)),
        (("Output", 0),),  # one device writes it, the other reads it
    ],
)
def test_memory_of_several_devices(api, roles):
    compilation = compiled(api, add_mul(api), "adds", "muls")
    desc = descriptor(api, *[(compilation, *role) for role in roles])
    saying = "different devices"
    api.make_none(ResultCode.OP_FAILED, "Memory_createFromDesc", desc, saying=saying)
