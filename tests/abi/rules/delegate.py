"""The calls of an inference library that hands its graphs to NNAPI: no line for any of them.

`Api.ok` sees to that: a call that succeeds prints nothing, with the settings that programs start
with.
"""

import ctypes

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from tests.abi.rules.capi import channel_quant, operand_type, pointers
from tests.abi.rules.graph import Graph

PROT_READ, PROT_WRITE = 1, 2
IMAGE, RESULT = (1, 4, 4, 1), (1, 2, 2, 2)


@pytest.fixture(autouse=True)
def default_settings(monkeypatch):
    monkeypatch.delenv("NNAPI_SHIM_LOG", raising=False)


def quantized_network(api, weights):
    """A convolution with scales per channel, a pool, a softmax; filters in a memory."""
    graph = Graph(api)
    image = graph.operand(T.TENSOR_QUANT8_ASYMM_SIGNED, IMAGE, 0.5, 3)
    filters = graph.operand(T.TENSOR_QUANT8_SYMM_PER_CHANNEL, (2, 1, 1, 1))
    api.ok(
        "Model_setOperandSymmPerChannelQuantParams",
        graph.model,
        filters,
        channel_quant(0, [0.5, 0.25]),
    )
    api.ok("Model_setOperandValueFromMemory", graph.model, filters, weights, 0, 2)
    bias = graph.operand(T.TENSOR_INT32, (2,))
    api.ok("Model_setOperandValueFromMemory", graph.model, bias, weights, 64, 8)
    same, one, two, none = (graph.int32(value) for value in (1, 1, 2, 0))
    nhwc = graph.constant(ctypes.c_bool(False), T.BOOL)
    beta = graph.constant(ctypes.c_float(1), T.FLOAT32)
    convolved = graph.operand(T.TENSOR_QUANT8_ASYMM_SIGNED, (1, 4, 4, 2), 0.5, 0)
    pooled = graph.operand(T.TENSOR_QUANT8_ASYMM_SIGNED, RESULT, 0.5, 0)
    result = graph.operand(T.TENSOR_QUANT8_ASYMM_SIGNED, RESULT, 1 / 256, -128)
    graph.operation(O.CONV_2D, [image, filters, bias, same, one, one, none, nhwc], [convolved])
    graph.operation(O.MAX_POOL_2D, [convolved, same, two, two, two, two, none, nhwc], [pooled])
    graph.operation(O.SOFTMAX, [pooled, beta], [result])
    graph.arguments([image], [result])
    api.ok("Model_relaxComputationFloat32toFloat16", graph.model, True)
    return graph.finish()


def chosen(api, device, model):
    """Look at a device as a program does that chooses among them."""
    api.ok("Device_wait", device)
    for kind, name in ((ctypes.c_int32, "Type"), (ctypes.c_int64, "FeatureLevel")):
        api.get(kind, f"Device_get{name}", device)
    api.get(ctypes.c_char_p, "Device_getVersion", device)
    api.get(ctypes.c_bool, "Device_getExtensionSupport", device, b"com.example.none")
    supported = (ctypes.c_bool * 3)()
    name = "Model_getSupportedOperationsForDevices"
    api.ok(name, model, pointers(device), 1, supported)
    assert list(supported) == [True] * 3


def compiled(api, device, model, folder):
    name = "Compilation_createForDevices"
    compilation = api.make(name, model, pointers(device), 1)
    api.ok("Compilation_setCaching", compilation, str(folder).encode(), bytes(range(32)))
    api.ok("Compilation_setPreference", compilation, 1)
    api.ok("Compilation_setPriority", compilation, 100)
    api.ok("Compilation_setTimeout", compilation, 10**11)
    api.ok("Compilation_finish", compilation)
    for role in ("Input", "Output"):
        for what in ("Alignment", "Padding"):
            name = f"Compilation_getPreferredMemory{what}For{role}"
            api.get(ctypes.c_uint32, name, compilation, 0)
    return compilation


def memory(api, file, size, contents=b"", protection=PROT_READ):
    return api.make("Memory_createFromFd", size, protection, file(size, contents), 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("run", ["first", "with a full cache"])
def test_a_graph_of_another_library(api, file, folder, run):
    """Run in several ways, with shared memory and without."""
    device = api.devices()["nnapi-cpu"]
    weights = memory(api, file, 128, bytes([1, 255]).ljust(128, b"\0"))
    model = quantized_network(api, weights)
    chosen(api, device, model)
    compilation = compiled(api, device, model, folder)
    inputs = memory(api, file, 128, bytes(range(16)))
    taken = memory(api, file, 128, b"", PROT_READ | PROT_WRITE)
    burst = api.make("Burst_create", compilation)
    kind = operand_type(T.TENSOR_QUANT8_ASYMM_SIGNED, IMAGE, 0.5, 3)
    for is_shared in (True, False):
        execution = api.make("Execution_create", compilation)
        api.ok("Execution_setReusable", execution, True)
        api.ok("Execution_setMeasureTiming", execution, True)
        api.ok("Execution_setTimeout", execution, 10**11)
        api.ok("Execution_setLoopTimeout", execution, 10**9)
        api.ok("Execution_enableInputAndOutputPadding", execution, True)
        if is_shared:
            api.ok("Execution_setInputFromMemory", execution, 0, kind, inputs, 0, 64)
            api.ok("Execution_setOutputFromMemory", execution, 0, None, taken, 0, 64)
        else:
            buffers = (ctypes.c_int8 * 64)(*range(64)), (ctypes.c_int8 * 64)()
            api.ok("Execution_setInput", execution, 0, kind, buffers[0], 64)
            api.ok("Execution_setOutput", execution, 0, None, buffers[1], 64)
        for _ in range(3):
            api.ok("Execution_compute", execution)
            api.ok("Execution_burstCompute", execution, burst)
            for name, *arguments in (
                ("startCompute",),
                ("startComputeWithDependencies", None, 0, 10**11),
            ):
                event = api.make(f"Execution_{name}", execution, *arguments)
                api.ok("Event_wait", event)
                api.free(event)
            assert api.get(ctypes.c_uint32, "Execution_getOutputOperandRank", execution, 0) == 4
            sizes = (ctypes.c_uint32 * 4)()
            api.ok("Execution_getOutputOperandDimensions", execution, 0, sizes)
            assert tuple(sizes) == RESULT
            api.get(ctypes.c_uint64, "Execution_getDuration", execution, 1)
    assert list(folder.iterdir())
