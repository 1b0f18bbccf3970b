"""Bursts, and events of asynchronous executions (API semantics 5 to 7); fences.py has more."""

import ctypes
import os

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType, ResultCode
from tests.abi.rules.capi import floats, operand_type
from tests.abi.rules.graph import Graph, Run, add_graph, set_arguments

BAD_DATA, BAD_STATE, OP_FAILED = ResultCode.BAD_DATA, ResultCode.BAD_STATE, ResultCode.OP_FAILED
INSUFFICIENT = ResultCode.OUTPUT_INSUFFICIENT_SIZE


# Bursts


def test_burst_of_another_compilation(api, device, run):
    """It is refused without using the execution up.

    api-semantics 6: "burst and execution of different compilations -> BAD_DATA"
    """
    other = Run(api, device, add_graph(api).finish())
    burst = api.make("Burst_create", other.compilation)
    run.refuse(BAD_DATA, "burstCompute", burst, saying="different compilations")
    run.ok("burstCompute", api.make("Burst_create", run.compilation))
    assert run.result.floats() == [11, 22]


def test_two_bursts_of_one_compilation(api, run):
    bursts = [api.make("Burst_create", run.compilation) for _ in range(2)]
    for burst in (*bursts, *bursts):
        run.another()
        set_arguments(run)
        run.ok("burstCompute", burst)
        assert run.result.floats() == [11, 22]
    run.refuse(BAD_STATE, "burstCompute", bursts[0])


def test_failure_in_a_burst_does_not_last(api, run):
    burst = api.make("Burst_create", run.compilation)
    run.another()
    run.refuse(BAD_DATA, "burstCompute", burst, saying="is not set")
    run.another()
    set_arguments(run)
    run.ok("burstCompute", burst)


@pytest.mark.parametrize("first", ["memory", "burst"])
def test_memory_of_a_burst_is_freed(api, run, first):
    """Before the burst or after it; other executions of the burst do not need the memory.

    api-semantics 6: "Burst_free before or after Memory_free"
    """
    burst = api.make("Burst_create", run.compilation)
    descriptor = os.memfd_create("input")
    os.write(descriptor, floats(5, 6))
    memory = api.make("Memory_createFromFd", 8, 3, descriptor, 0)
    os.close(descriptor)
    run.another()
    run.ok("setInputFromMemory", 0, None, memory, 0, 8)
    run.input(1, floats(10, 20))
    result = run.output(0, 8)
    run.ok("burstCompute", burst)
    assert result.floats() == [15, 26]
    if first == "memory":
        api.free(memory)
        run.another()
        set_arguments(run)
        run.ok("burstCompute", burst)
        api.free(burst)
    else:
        api.free(burst)
        api.free(memory)


# Events


def test_waiting_again(api, run):
    event = api.make("Execution_startCompute", run.execution)
    for _ in range(3):
        api.ok("Event_wait", event)
    assert run.result.floats() == [11, 22]


def failing_run(api, device, a_count, b_count, length):
    """An execution of a + b, of unknown dimensions in the model."""
    graph = Graph(api)
    a, b, c = (graph.operand(T.TENSOR_FLOAT32) for _ in range(3))
    graph.operation(OperationType.ADD, [a, b, graph.int32(0)], [c])
    graph.arguments([a, b], [c])
    run = Run(api, device, graph.finish())
    for index, count in enumerate((a_count, b_count)):
        run.input(index, floats(*range(count)), operand_type(T.TENSOR_FLOAT32, (count,)))
    run.output(0, length)
    return run


@pytest.mark.parametrize(
    ("counts", "length", "code"), [((2, 3), 64, OP_FAILED), ((4, 4), 8, INSUFFICIENT)]
)
def test_failures_come_from_the_event(api, device, counts, length, code):
    """The same each time. Freeing the event without a wait, or after one, says nothing."""
    run = failing_run(api, device, *counts, length)
    event = api.make("Execution_startCompute", run.execution)
    for _ in range(3):
        api.refuse(code, "Event_wait", event)
    run.refuse(BAD_STATE, "compute")
    second = failing_run(api, device, *counts, length)
    api.free(api.make("Execution_startCompute", second.execution))


def test_unmappable_output_comes_from_the_event_or_the_start(api, run):
    """As OP_FAILED from the event, or as UNMAPPABLE before there is one."""
    memory = api.make("Memory_createFromFd", 8, 1, 0, 0)
    run.another()
    run.input(0, floats(1, 2))
    run.input(1, floats(1, 2))
    run.ok("setOutputFromMemory", 0, None, memory, 0, 8)
    event = ctypes.c_uint64(1)
    code = api.result("Execution_startCompute", run.execution, event)
    if code == ResultCode.NO_ERROR:
        api.refuse(OP_FAILED, "Event_wait", event.value)
        api.ok("Event_free", event.value)
    else:
        assert (code, event.value) == (ResultCode.UNMAPPABLE, 0)


def test_events_of_executions_have_no_fence(api, run):
    """api-semantics 7: "startCompute events have no fd"."""
    event = api.make("Execution_startCompute", run.execution)
    descriptor = ctypes.c_int(77)
    api.refuse(BAD_DATA, "Event_getSyncFenceFd", event, descriptor)
    assert descriptor.value == -1
    descriptor.value = 77
    api.refuse(ResultCode.UNEXPECTED_NULL, "Event_getSyncFenceFd", None, descriptor)
    assert descriptor.value == -1
    api.ok("Event_wait", event)
