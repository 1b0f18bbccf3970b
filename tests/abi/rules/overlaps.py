"""Outputs that share bytes with inputs, or with each other (misuse that is allowed)."""

import ctypes
import os

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, int32s, operand_type
from tests.abi.rules.graph import Graph, Run, add_graph, device_memory

F32 = T.TENSOR_FLOAT32
WARNING = "nnapi_shim warning: "
START, FENCED = "Execution_startCompute", "Execution_startComputeWithDependencies"


@pytest.fixture(autouse=True)
def warnings(monkeypatch):
    """By default."""
    monkeypatch.delenv("NNAPI_SHIM_LOG", raising=False)


def reversing(api, device, count):
    """An execution of b = REVERSE(a), which no kernel can compute in place."""
    graph = Graph(api)
    a, b = graph.operand(F32, (count,)), graph.operand(F32, (count,))
    axis = graph.constant(int32s(0), T.TENSOR_INT32, (1,))
    graph.operation(O.REVERSE, [a, axis], [b])
    graph.arguments([a], [b])
    return Run(api, device, graph.finish())


def compute(run, way):
    """Run it in some way; what was written to stderr."""
    api = run.api
    if way == "compute":
        return api.ok_saying("Execution_compute", run.execution)
    if way == "burst":
        burst = api.make("Burst_create", run.compilation)
        return api.ok_saying("Execution_burstCompute", run.execution, burst)
    event = ctypes.c_uint64()
    arguments = () if way == "start" else (None, 0, 0)
    said = api.ok_saying(START if way == "start" else FENCED, run.execution, *arguments, event)
    said += api.ok_saying("Event_wait", event.value)
    api.ok("Event_free", event.value)
    return said


@pytest.mark.parametrize("way", ["compute", "burst", "start", "fenced"])
@pytest.mark.parametrize("distance", [0, 4, -4, 40, -12])
def test_an_output_over_its_input(api, device, way, distance):
    """In any way to run, at any distance: as if the output had a buffer of its own."""
    run = reversing(api, device, 16)
    buffer = (ctypes.c_float * 48)(*range(48))
    expected = list(range(48))
    first = 16 + distance // 4
    expected[first : first + 16] = range(31, 15, -1)
    where = ctypes.addressof(buffer)
    run.ok("setInput", 0, None, where + 64, 64)
    run.ok("setOutput", 0, None, where + 64 + distance, 64)
    said = compute(run, way)
    assert list(buffer) == expected
    assert said.startswith(WARNING)
    assert said.count("\n") == 1


def test_beside_each_other(api, device):
    """Buffers that only touch are no overlap: nothing is said."""
    for position in (0, 128):
        run = reversing(api, device, 16)
        buffer = (ctypes.c_float * 48)(*range(48))
        where = ctypes.addressof(buffer)
        run.ok("setInput", 0, None, where + 64, 64)
        run.ok("setOutput", 0, None, where + position, 64)
        run.ok("compute")
        first = position // 4
        assert list(buffer)[first : first + 16] == list(range(31, 15, -1))


def test_once_for_a_compilation(api, device):
    """Said once, done each time; a reusable execution reads its inputs anew."""
    run = reversing(api, device, 2)
    said = ""
    for _ in range(3):
        run.another()
        run.ok("setReusable", True)
        buffer = floats(1, 2)
        run.ok("setInput", 0, None, buffer, 8)
        run.ok("setOutput", 0, None, buffer, 8)
        for reference in ([2, 1], [1, 2], [2, 1]):
            said += compute(run, "compute")
            assert list(buffer) == reference
    assert said.count(WARNING) == 1


def test_outputs_over_each_other(api, device):
    """The one that is set last is seen; what only the other one has is right, too."""
    graph = Graph(api)
    a, b, c = (graph.operand(F32, (2,)) for _ in range(3))
    graph.operation(O.ABS, [a], [b])
    graph.operation(O.NEG, [a], [c])
    graph.arguments([a], [b, c])
    run = Run(api, device, graph.finish())
    buffer = floats(7, 7, 7, 7)
    run.input(0, floats(1, 2))
    where = ctypes.addressof(buffer)
    run.ok("setOutput", 0, None, where, 8)
    run.ok("setOutput", 1, None, where + 4, 8)
    assert WARNING in compute(run, "compute")
    assert list(buffer) == [1, -1, -2, 7]


def test_two_memories_of_one_file(api, device, file):
    """They overlap in the file, though they are mapped at different addresses."""
    run = reversing(api, device, 16)
    descriptor = file(4096, bytes(floats(*range(20))))
    one = api.make("Memory_createFromFd", 64, 3, descriptor, 0)
    other = api.make("Memory_createFromFd", 64, 3, descriptor, 16)
    run.ok("setInputFromMemory", 0, None, one, 0, 64)
    run.ok("setOutputFromMemory", 0, None, other, 0, 64)
    assert WARNING in compute(run, "compute")
    target = api.make("Memory_createFromFd", 80, 3, file(80), 0)
    whole = api.make("Memory_createFromFd", 80, 3, descriptor, 0)
    api.ok("Memory_copy", whole, target)
    assert memoryview(os.pread(descriptor, 80, 0)).cast("f").tolist() == [
        0,
        1,
        2,
        3,
        *range(15, -1, -1),
    ]


def test_a_device_memory_as_input_and_output(api, device, file):
    """The state of a model may be replaced where it lies."""
    run = reversing(api, device, 4)
    memory = device_memory(api, (run.compilation, "Input", 0), (run.compilation, "Output", 0))
    descriptor = file(16, bytes(floats(1, 2, 3, 4)))
    shared = api.make("Memory_createFromFd", 16, 3, descriptor, 0)
    api.ok("Memory_copy", shared, memory)
    run.ok("setInputFromMemory", 0, None, memory, 0, 0)
    run.ok("setOutputFromMemory", 0, None, memory, 0, 0)
    assert WARNING in compute(run, "compute")
    api.ok("Memory_copy", memory, shared)
    assert memoryview(os.pread(descriptor, 16, 0)).cast("f").tolist() == [4, 3, 2, 1]


def test_what_is_not_needed_is_not_touched(api, device):
    """An output of unknown size whose buffer reaches over the input keeps what lies behind it."""
    graph = Graph(api)
    a, b = graph.operand(F32, (2,)), graph.operand(F32)
    graph.operation(O.NEG, [a], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    buffer = floats(9, 9, 9, 1, 2, 9)
    where = ctypes.addressof(buffer)
    run.ok("setInput", 0, None, where + 12, 8)
    run.ok("setOutput", 0, None, where, 24)
    assert WARNING in compute(run, "compute")
    assert list(buffer) == [-1, -2, 9, 1, 2, 9]


def test_a_run_that_fails_writes_nothing(api, device):
    graph = add_graph(api, activation=999)
    run = Run(api, device, graph.finish())
    buffer = floats(1, 2)
    run.ok("setInput", 0, None, buffer, 8)
    run.ok("setInput", 1, None, buffer, 8)
    run.ok("setOutput", 0, None, buffer, 8)
    assert run.api.result("Execution_compute", run.execution) == ResultCode.OP_FAILED
    assert list(buffer) == [1, 2]


def test_a_short_buffer(api, device):
    """The dimensions are told as ever."""
    graph = Graph(api)
    a, b = graph.operand(F32, (4,)), graph.operand(F32)
    graph.operation(O.NEG, [a], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    buffer = floats(1, 2, 3, 4)
    run.ok("setInput", 0, operand_type(F32, (4,)), buffer, 16)
    run.ok("setOutput", 0, None, buffer, 8)
    result = run.api.result("Execution_compute", run.execution)
    assert result == ResultCode.OUTPUT_INSUFFICIENT_SIZE
    assert list(buffer) == [1, 2, 3, 4]


@pytest.mark.parametrize("count", [8, 40])
def test_many_arguments(api, device, count):
    """One output of many lies over one input of many."""
    graph = Graph(api)
    inputs = [graph.operand(F32, (2,)) for _ in range(count)]
    outputs = [graph.operand(F32, (2,)) for _ in range(count)]
    axis = graph.constant(int32s(0), T.TENSOR_INT32, (1,))
    for a, b in zip(inputs, outputs, strict=True):
        graph.operation(O.REVERSE, [a, axis], [b])
    graph.arguments(inputs, outputs)
    run = Run(api, device, graph.finish())
    sources = [floats(n, n + 0.5) for n in range(count)]
    targets = [floats(-1, -1) for _ in range(count)]
    targets[count // 2] = sources[3]
    for index in range(count):
        run.ok("setInput", index, None, sources[index], 8)
        run.ok("setOutput", index, None, targets[index], 8)
    said = compute(run, "compute")
    assert f"output {count // 2}:" in said
    expected = [[n + 0.5, n] for n in range(count)]
    assert [list(target) for target in targets] == expected[: count // 2] + [
        [count // 2 + 0.5, count // 2]
    ] + expected[count // 2 + 1 :]
