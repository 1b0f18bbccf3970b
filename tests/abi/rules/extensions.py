"""A device with an extension, used through the C API (API semantics 11).

Run with NNAPI_SHIM_DRIVERS naming the folder of the device, tests/abi/extension_driver.
"""

import ctypes

import pytest

from nnapi_shim.hal.enums import OperandType, OperationType, ResultCode
from tests.abi.rules.capi import operand_type
from tests.abi.rules.graph import Graph, Run

NAME = b"com.example.painting"
PIXELS, WEIGHT, MIX = 7, 8, 3
BAD_DATA = ResultCode.BAD_DATA


@pytest.fixture
def painter(api):
    return api.devices()["painter"]


@pytest.fixture
def graph(api):
    return Graph(api)


def extension_type(graph, kind, code, name=NAME):
    """The number of a type in this process; kind: "Operand" or "Operation"."""
    actual = ctypes.c_int32()
    function = f"Model_getExtension{kind}Type"
    graph.api.ok(function, graph.model, name, code, actual)
    return actual.value


def octets(*values):
    return (ctypes.c_uint8 * len(values))(*values)


def mixing(graph, data=None):
    """Not finished: mixes two pixels each with a weight of 51 of 255."""
    pixels, weight = (extension_type(graph, "Operand", code) for code in (PIXELS, WEIGHT))
    a, b = (graph.operand(pixels, [2]) for _ in range(2))
    share = graph.constant(octets(51), weight)
    mixed = graph.operand(pixels, [2])
    if data is not None:
        graph.api.ok("Model_setOperandExtensionData", graph.model, mixed, data, len(data))
    graph.operation(extension_type(graph, "Operation", MIX), [a, b, share], [mixed])
    graph.arguments([a, b], [mixed])
    return graph


def run(graph, device):
    run = Run(graph.api, device, graph.finish())
    run.input(0, octets(0, 10, 20, 30, 40, 50))
    run.input(1, octets(50, 40, 30, 20, 10, 0))
    return run, run.output(0, 6)


MIXED = [40, 34, 28, 22, 16, 10]


def test_support(api, painter):
    supported = ctypes.c_bool()
    for name, expected in ((NAME, True), (b"com.example.other", False)):
        api.ok("Device_getExtensionSupport", painter, name, supported)
        assert supported.value is expected
    api.ok("Device_getExtensionSupport", api.devices()["nnapi-cpu"], NAME, supported)
    assert not supported.value


def test_computation(graph, painter):
    execution, output = run(mixing(graph), painter)
    execution.ok("compute")
    assert list(output.contents) == MIXED


def test_computation_on_any_device(api, graph):
    """The runtime finds the device that knows the operation."""
    compilation = api.make("Compilation_create", mixing(graph).finish())
    api.ok("Compilation_finish", compilation)


def test_operand_data(api, graph, painter):
    """Data reaches the device; the last call counts, and (NULL, 0) clears."""
    mixing(graph, octets(1, 2))
    name = "Model_setOperandExtensionData"
    api.refuse(ResultCode.UNEXPECTED_NULL, name, graph.model, 3, None, 4)
    api.refuse(BAD_DATA, name, graph.model, 9, octets(1), 1)
    execution, output = run(graph, painter)
    api.refuse(ResultCode.BAD_STATE, name, graph.model, 3, octets(1), 1)
    execution.ok("compute")
    assert list(output.contents) == [value + 3 for value in MIXED]
    another = mixing(Graph(api), octets(1, 2))
    api.ok(name, another.model, 3, None, 0)
    execution, output = run(another, painter)
    execution.ok("compute")
    assert list(output.contents) == MIXED


def test_operand_data_of_other_types(api, graph):
    operand = graph.operand(OperandType.TENSOR_FLOAT32, [2])
    arguments = (graph.model, operand, octets(1), 1)
    api.refuse(BAD_DATA, "Model_setOperandExtensionData", *arguments, saying="only extension types")


def test_attributes(api, graph, painter):
    """Of the compilation, and of the execution."""
    array = (ctypes.c_void_p * 1)(painter)
    compilation = api.make("Compilation_createForDevices", mixing(graph).finish(), array, 1)
    api.ok("Compilation_addExtensionAttribute", compilation, NAME, 1, octets(4), 1)
    api.ok("Compilation_addExtensionAttribute", compilation, b"com.example.other", 1, octets(9), 1)
    api.ok("Compilation_finish", compilation)
    for extra in (0, 2):
        execution = api.make("Execution_create", compilation)
        if extra:
            api.ok("Execution_addExtensionAttribute", execution, NAME, 2, octets(extra), 1)
        a, b, result = octets(*[0] * 6), octets(*[0] * 6), octets(*[0] * 6)
        for index, value in enumerate((a, b)):
            api.ok("Execution_setInput", execution, index, None, value, 6)
        api.ok("Execution_setOutput", execution, 0, None, result, 6)
        api.ok("Execution_compute", execution)
        assert list(result) == [4 + extra] * 6


def test_sizes(api, graph):
    """An element has as many bytes as the device says."""
    pixels, weight = (extension_type(graph, "Operand", code) for code in (PIXELS, WEIGHT))
    image = graph.operand(pixels, [2])
    for length, code in ((5, BAD_DATA), (7, BAD_DATA), (6, ResultCode.NO_ERROR)):
        arguments = (graph.model, image, octets(*[0] * length), length)
        if code:
            api.refuse(code, "Model_setOperandValue", *arguments, saying="it must be 6")
        else:
            api.ok("Model_setOperandValue", *arguments)
    add = "Model_addOperand"
    api.refuse(BAD_DATA, add, graph.model, operand_type(weight, [2]), saying="is a scalar")
    api.refuse(BAD_DATA, add, graph.model, operand_type(pixels, [2], 0.5), saying="must be 0")
    api.refuse(BAD_DATA, add, graph.model, operand_type(pixels, [1 << 31]), saying="bytes allowed")


def test_types_that_no_device_describes(api, graph):
    for name, code in ((NAME, 9), (b"com.example.other", PIXELS)):
        type = operand_type(extension_type(graph, "Operand", code, name), [2])
        api.refuse(BAD_DATA, "Model_addOperand", graph.model, type, saying="by no device")
    api.refuse(BAD_DATA, "Model_addOperand", graph.model, operand_type(-1, [2]))


def test_other_operations_take_no_such_types(graph):
    pixels = extension_type(graph, "Operand", PIXELS)
    a, b = (graph.operand(pixels, [2]) for _ in range(2))
    graph.refuse_operation(BAD_DATA, OperationType.RELU, [a], [b])


def test_operations_that_no_device_knows(api, graph):
    a, b = (graph.operand(OperandType.TENSOR_FLOAT32, [2]) for _ in range(2))
    graph.operation(extension_type(graph, "Operation", MIX + 1), [a], [b])
    graph.arguments([a], [b])
    compilation = api.make("Compilation_create", graph.finish())
    api.refuse(BAD_DATA, "Compilation_finish", compilation, saying="supported by no device")


def test_supported_operations(api, graph, painter):
    """An extension's operation beside one of the specification, in one model."""
    pixels, weight = (extension_type(graph, "Operand", code) for code in (PIXELS, WEIGHT))
    a, b, mixed = (graph.operand(pixels, [2]) for _ in range(3))
    share = graph.constant(octets(51), weight)
    x, y = (graph.operand(OperandType.TENSOR_FLOAT32, [2]) for _ in range(2))
    graph.operation(OperationType.RELU, [x], [y])
    graph.operation(extension_type(graph, "Operation", MIX), [a, b, share], [mixed])
    graph.arguments([a, b, x], [mixed, y])
    model = graph.finish()
    answers = (ctypes.c_bool * 2)()
    array = (ctypes.c_void_p * 1)(painter)
    api.ok("Model_getSupportedOperationsForDevices", model, array, 1, answers)
    assert list(answers) == [False, True]
    compilation = api.make("Compilation_create", model)
    api.ok("Compilation_finish", compilation)
    execution = api.make("Execution_create", compilation)
    inputs = [octets(*[255] * 6), octets(*[0] * 6), (ctypes.c_float * 2)(-1, 2)]
    results = [octets(*[0] * 6), (ctypes.c_float * 2)()]
    for index, value in enumerate(inputs):
        api.ok("Execution_setInput", execution, index, None, value, ctypes.sizeof(value))
    for index, value in enumerate(results):
        api.ok("Execution_setOutput", execution, index, None, value, ctypes.sizeof(value))
    api.ok("Execution_compute", execution)
    assert (list(results[0]), list(results[1])) == ([51] * 6, [0.0, 2.0])
