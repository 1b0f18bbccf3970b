"""Fences, and executions that wait for events (API semantics 7)."""

import ctypes
import os
import threading
import time
from pathlib import Path

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, operand_type, pointers
from tests.abi.rules.graph import Graph, Run, add_graph, device_memory, set_arguments

BAD_DATA, BAD_STATE, OP_FAILED = ResultCode.BAD_DATA, ResultCode.BAD_STATE, ResultCode.OP_FAILED
NULL = ResultCode.UNEXPECTED_NULL
LATE = (ResultCode.MISSED_DEADLINE_TRANSIENT, ResultCode.MISSED_DEADLINE_PERSISTENT)
START = "Execution_startComputeWithDependencies"
FROM_FD, GET_FD = "Event_createFromSyncFenceFd", "Event_getSyncFenceFd"
F32 = T.TENSOR_FLOAT32
FOREVER = 2**64 - 1


@pytest.fixture
def pipe():
    """Makes pipes: a fence that is signalled by writing to it; (reader, writer)."""
    opened = []

    def make():
        ends = os.pipe()
        opened.extend(ends)
        return ends

    yield make
    for end in opened:
        os.close(end)


def start(run, *dependencies, duration=0):
    """The event of a start that succeeds."""
    listed = pointers(*dependencies) if dependencies else None
    return run.api.make(START, run.execution, listed, len(dependencies), duration)


def refuse_start(run, code, *dependencies, duration=0, saying=""):
    listed = pointers(*dependencies) if dependencies else None
    arguments = (run.execution, listed, len(dependencies), duration)
    run.api.make_none(code, START, *arguments, saying=saying)


def later(function, *arguments, seconds=0.05):
    """Calls a function a little later on another thread."""
    timer = threading.Timer(seconds, function, arguments)
    timer.start()
    return timer


# Fences


@pytest.mark.parametrize("descriptor", [0, -1, -(2**31)])
def test_fences_that_do_not_exist(api, descriptor):
    """A descriptor is above 0, and NULL is found first.

    api-semantics 7: "fd <= 0 -> BAD_DATA, *event = NULL"
    """
    api.make_none(BAD_DATA, FROM_FD, descriptor, saying="greater than 0")
    api.refuse(NULL, FROM_FD, descriptor, None)


def test_descriptors_that_are_not_open(api, pipe):
    closed = os.dup(pipe()[0])
    os.close(closed)
    for descriptor in (closed, 2**31 - 1):
        api.make_none(BAD_DATA, FROM_FD, descriptor, saying="cannot be duplicated")


def test_a_fence_is_waited_for(api, pipe):
    reader, writer = pipe()
    event = api.make(FROM_FD, reader)
    began = time.monotonic()
    timer = later(os.write, writer, b"x")
    api.ok("Event_wait", event)
    assert time.monotonic() - began > 0.04
    timer.join()


def test_any_descriptor_that_can_be_polled(api, file, pipe):
    """A file is always readable; a pipe also when nobody can write to it any more."""
    reader, writer = os.pipe()
    os.close(writer)
    for descriptor in (file(8), reader):
        event = api.make(FROM_FD, descriptor)
        for _ in range(2):
            api.ok("Event_wait", event)
    os.close(reader)


def test_a_fence_is_signalled_once(api, pipe):
    """It stays so, whatever is read from the descriptor."""
    reader, writer = pipe()
    event = api.make(FROM_FD, reader)
    os.write(writer, b"x")
    api.ok("Event_wait", event)
    os.read(reader, 1)
    api.ok("Event_wait", event)


def test_a_fence_in_an_error_state(api):
    """The writing end of a pipe that nobody reads. Every wait says the same."""
    reader, writer = os.pipe()
    event = api.make(FROM_FD, writer)
    os.close(reader)
    os.close(writer)
    for _ in range(2):
        api.refuse(OP_FAILED, "Event_wait", event, saying="error state")


def test_the_descriptor_may_be_closed_at_once(api, pipe):
    reader, writer = pipe()
    own = os.dup(reader)
    event = api.make(FROM_FD, own)
    os.close(own)
    os.write(writer, b"x")
    api.ok("Event_wait", event)


def test_the_descriptor_of_a_fence(api, pipe):
    """Each time a new one, which lives on without the event.

    api-semantics 7: "With a fd the caller gets a duplicate to close"
    """
    reader, writer = pipe()
    event = api.make(FROM_FD, reader)
    made = [api.get(ctypes.c_int, GET_FD, event) for _ in range(2)]
    assert len({reader, *made}) == 3
    os.write(writer, b"xy")
    api.free(event)
    for descriptor in made:
        assert os.read(descriptor, 1) in b"xy"
        os.close(descriptor)


def test_events_without_a_fence(api, run):
    """Events of executions of either kind.

    api-semantics 7: "GPU-side real fences are optional"
    """
    events = [api.make("Execution_startCompute", run.execution)]
    run.another()
    set_arguments(run)
    events.append(start(run))
    for event in events:
        descriptor = ctypes.c_int(77)
        api.refuse(BAD_DATA, GET_FD, event, descriptor, saying="no fence")
        assert descriptor.value == -1
        api.refuse(NULL, GET_FD, event, None)
        api.ok("Event_wait", event)


def test_freeing_a_fence_waits_for_it(api, pipe):
    """As freeing any event does. It takes no descriptor with it but its own."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    reader, writer = pipe()
    event = api.make(FROM_FD, reader)
    began = time.monotonic()
    timer = later(os.write, writer, b"x")
    api.free(event)
    assert time.monotonic() - began > 0.04
    timer.join()
    assert os.read(reader, 1) == b"x"
    assert len(list(Path("/proc/self/fd").iterdir())) == before + 2


# Starting with dependencies


def test_null_pointers(api, run):
    """A list without a length needs to be none; all else that is NULL is found first.

    api-semantics 7: "NULL list with n > 0, NULL execution, NULL element"
    """
    event = api.make("Execution_startCompute", run.execution)
    run.another()
    api.make_none(NULL, START, run.execution, None, 1, 0)
    api.make_none(NULL, START, run.execution, pointers(event, None), 2, 0, saying="dependency 1")
    api.make_none(NULL, START, None, pointers(event), 1, 0)
    api.refuse(NULL, START, run.execution, pointers(event), 1, 0, None)
    set_arguments(run)  # it was not started
    start(run)


def test_without_dependencies(api, run):
    """api-semantics 7: "n == 0 with NULL list is fine"."""
    event = start(run)
    assert run.result.floats() == [11, 22]
    for _ in range(3):
        api.ok("Event_wait", event)
    run.refuse(BAD_STATE, "compute")


def test_no_dependencies_of_a_list(api, run):
    api.make(START, run.execution, pointers(None), 0, 0)
    assert run.result.floats() == [11, 22]


@pytest.mark.parametrize("reusable", [False, True])
@pytest.mark.parametrize("end", ["Event_wait", "Event_free"])
def test_completed_by_the_wait(api, run, reusable, end):
    """Though it has been computed, it is in computation until then.

    api-semantics 5: "or of any execution that is in computation -> BAD_STATE"
    """
    run.another()
    run.ok("setReusable", reusable)
    run.ok("setMeasureTiming", True)
    set_arguments(run)
    event = start(run)
    assert run.result.floats() == [11, 22]
    run.refuse(BAD_STATE, "getOutputOperandRank", 0, ctypes.c_uint32())
    run.refuse(BAD_STATE, "getOutputOperandDimensions", 0, (ctypes.c_uint32 * 1)())
    run.refuse(BAD_STATE, "getDuration", 0, ctypes.c_uint64())
    run.refuse(BAD_STATE, "compute", saying="in computation")
    refuse_start(run, BAD_STATE)
    run.refuse(BAD_STATE, "setLoopTimeout", 1)
    if end == "Event_wait":
        api.ok("Event_wait", event)
    else:
        api.free(event)
    run.ok("getOutputOperandRank", 0, ctypes.c_uint32())
    for code in range(4):
        run.ok("getDuration", code, ctypes.c_uint64())
    if reusable:
        run.ok("compute")
    else:
        run.refuse(BAD_STATE, "compute", saying="not reusable")


def test_an_old_event_completes_nothing(api, run):
    """A second wait for the event of an earlier run leaves the one that is under way alone."""
    run.another()
    run.ok("setReusable", True)
    set_arguments(run)
    first = start(run)
    api.ok("Event_wait", first)
    second = start(run)
    api.ok("Event_wait", first)
    run.refuse(BAD_STATE, "compute", saying="in computation")
    api.ok("Event_wait", second)
    run.ok("compute")


def test_the_execution_is_freed_before_its_event(api, run):
    event = start(run)
    api.free(run.execution)
    api.ok("Event_wait", event)


@pytest.mark.parametrize("missing", ["input", "output"])
def test_missing_arguments(run, missing):
    """Refused by the call, which uses the execution up.

    api-semantics 7: "then BAD_STATE / BAD_DATA as in section 5"
    """
    run.another()
    run.input(0, floats(1, 2))
    if missing != "input":
        run.input(1, floats(1, 2))
    if missing != "output":
        run.output(0, 8)
    refuse_start(run, BAD_DATA, saying="is not set")
    run.refuse(BAD_STATE, "compute")


def test_durations_need_one_named_device(api):
    """Any but 0; the execution is used up.

    api-semantics 3: "non-zero duration in startComputeWithDependencies"
    """
    compilation = api.make("Compilation_create", add_graph(api).finish())
    api.ok("Compilation_finish", compilation)
    for duration in (1, FOREVER):
        execution = api.make("Execution_create", compilation)
        for name, *arguments in (
            ("setInput", 0, None, floats(1, 2), 8),
            ("setInput", 1, None, floats(1, 2), 8),
            ("setOutput", 0, None, floats(1, 2), 8),
        ):
            api.ok(f"Execution_{name}", execution, *arguments)
        saying = "exactly one device"
        api.make_none(BAD_DATA, START, execution, None, 0, duration, saying=saying)
        api.refuse(BAD_STATE, "Execution_compute", execution)


def test_durations(api, run):
    """A nanosecond is over before the run begins; the longest duration there is is met."""
    event = ctypes.c_uint64(1)
    assert api.result(START, run.execution, None, 0, 1, event) in LATE
    assert event.value == 0
    assert run.result.is_untouched
    run.refuse(BAD_STATE, "compute")
    for duration, timeout in ((FOREVER, 0), (FOREVER, FOREVER), (0, FOREVER)):
        run.another()
        run.ok("setTimeout", timeout)
        set_arguments(run)
        start(run, duration=duration)


def test_the_duration_counts_from_the_last_dependency(api, run, pipe):
    reader, writer = pipe()
    fence = api.make(FROM_FD, reader)
    timer = later(os.write, writer, b"x", seconds=1.2)
    start(run, fence, duration=10**9)
    timer.join()
    assert run.result.floats() == [11, 22]


def test_the_timeout_counts_from_the_start(api, run, pipe):
    """The timeout of the execution does not wait for fences."""
    reader, writer = pipe()
    fence = api.make(FROM_FD, reader)
    run.ok("setTimeout", 1_000_000)
    timer = later(os.write, writer, b"x", seconds=1.0)
    event = ctypes.c_uint64(1)
    assert api.result(START, run.execution, pointers(fence), 1, FOREVER, event) in LATE
    assert event.value == 0
    timer.join()


@pytest.mark.parametrize("type", [None, operand_type(F32, (0,)), operand_type(F32, (2,))])
def test_outputs_are_fully_specified(api, device, type):
    """By the model and the type; else the call is refused, and the execution used up."""
    graph = Graph(api)
    a, b = graph.operand(F32, (2,)), graph.operand(F32, (0,) if type else ())
    graph.operation(O.RELU, [a], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, floats(-1, 3))
    result = run.output(0, 8, type)
    if type is not None and type.dimensions[0]:
        start(run)
        assert result.floats() == [0, 3]
        return
    refuse_start(run, BAD_DATA, saying="unknown dimensions")
    assert result.is_untouched
    run.refuse(BAD_STATE, "compute")


def failing(api, device):
    """An execution that fails when it runs."""
    graph = Graph(api)
    a, b = graph.operand(F32, (2,)), graph.operand(F32, (2,))
    graph.operation(O.ADD, [a, a, graph.int32(999)], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, floats(1, 2))
    run.output(0, 8)
    return run


def test_failures_come_from_the_call(api, device):
    """There is no event then, and the execution is completed."""
    run = failing(api, device)
    refuse_start(run, OP_FAILED, saying="(operation 0)")
    run.refuse(BAD_STATE, "compute")
    run.refuse(BAD_STATE, "getOutputOperandRank", 0, ctypes.c_uint32())
    run.refuse(BAD_STATE, "getDuration", 0, ctypes.c_uint64())


# Dependencies


def test_a_fence_as_a_dependency(api, run, pipe):
    """The run begins when it is signalled; what was written to the inputs by then is used."""
    run.another()
    values = floats(0, 0)
    run.input(0, values)
    run.input(1, floats(10, 20))
    result = run.output(0, 8)
    reader, writer = pipe()
    fence = api.make(FROM_FD, reader)

    def signal():
        values[:] = [5, 6]
        os.write(writer, b"x")

    timer = later(signal)
    start(run, fence)
    timer.join()
    assert result.floats() == [15, 26]


def test_all_dependencies_are_waited_for(api, run, pipe):
    ends = [pipe() for _ in range(3)]
    fences = [api.make(FROM_FD, reader) for reader, _ in ends]
    timers = [later(os.write, writer, b"x") for _, writer in reversed(ends)]
    start(run, *fences, fences[0])
    for reader, _ in ends:
        assert os.read(reader, 1) == b"x"
    for timer in timers:
        timer.join()
    assert run.result.floats() == [11, 22]


def test_a_fence_that_failed(api, run, pipe):
    """The run is not begun; the execution is used up."""
    reader, writer = os.pipe()
    fence = api.make(FROM_FD, writer)
    os.close(reader)
    os.close(writer)
    good_reader, good_writer = pipe()
    os.write(good_writer, b"x")
    good = api.make(FROM_FD, good_reader)
    refuse_start(run, OP_FAILED, good, fence, saying="error state")
    assert run.result.is_untouched
    run.refuse(BAD_STATE, "compute")
    api.refuse(OP_FAILED, "Event_wait", fence)


def test_executions_as_dependencies(api, device, run):
    """Of both kinds; that they failed does not matter."""
    failed = failing(api, device)
    failed_event = api.make("Execution_startCompute", failed.execution)
    chain = [api.make("Execution_startCompute", run.execution)]
    previous = run.result
    for number in range(4):
        run.another()
        run.ok("setInput", 0, None, previous.address, 8)
        run.input(1, floats(1, 1))
        previous = run.output(0, 8)
        chain.append(start(run, failed_event, *chain))
        assert previous.floats() == [12 + number, 23 + number]
    api.refuse(OP_FAILED, "Event_wait", failed_event)


def test_a_dependency_is_completed(api, run):
    """Waiting for an event of an execution on behalf of another one completes the first."""
    run.another()
    run.ok("setReusable", True)
    set_arguments(run)
    first = run.execution
    event = start(run)
    run.another()
    set_arguments(run)
    start(run, event)
    api.ok("Execution_compute", first)


def test_waiting_for_itself(api, run):
    """A reusable execution may depend on its own last event."""
    run.another()
    run.ok("setReusable", True)
    set_arguments(run)
    event = start(run)
    for _ in range(3):
        event = start(run, event)
    api.ok("Event_wait", event)


def test_dependencies_before_the_state(api, run, pipe):
    """Executions are waited for even if the call is refused then; fences are not."""
    reader, _ = pipe()
    fence = api.make(FROM_FD, reader)
    before = start(run)
    finished = run.execution
    api.ok("Event_wait", before)
    refuse_start(run, BAD_STATE, fence)
    run.another()
    run.ok("setReusable", True)
    set_arguments(run)
    event = start(run)
    api.make_none(BAD_STATE, START, finished, pointers(fence, event), 2, 0)
    run.ok("compute")
    with open(reader, "rb", closefd=False), open(_, "wb", closefd=False) as signal:
        signal.write(b"x")  # or freeing the fence would wait for ever


def test_device_memory_between_executions(api, run):
    """The first run's output has contents when its event was waited for, as a dependency does."""
    roles = ((run.compilation, "Output", 0), (run.compilation, "Input", 0))
    memory = device_memory(api, *roles)
    executions = []
    for argument in ("Output", "Input"):
        run.another()
        if argument == "Output":
            run.input(0, floats(1, 2))
        run.input(1, floats(10, 20))
        run.ok(f"set{argument}FromMemory", 0, None, memory, 0, 0)
        if argument == "Input":
            result = run.output(0, 8)
        executions.append(run.execution)
    first = api.make(START, executions[0], None, 0, 0)
    api.make(START, executions[1], pointers(first), 1, 0)
    assert result.floats() == [21, 42]
