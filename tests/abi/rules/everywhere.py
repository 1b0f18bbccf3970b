"""Rules that hold in every function (API semantics 0), and threads (13)."""

import ctypes
import os
import threading
import time

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, operand_type, pointers, uint32s
from tests.abi.rules.graph import Graph, Run, add_graph, descriptor, set_arguments

BAD_DATA, BAD_STATE, OP_FAILED = ResultCode.BAD_DATA, ResultCode.BAD_STATE, ResultCode.OP_FAILED
NULL = ResultCode.UNEXPECTED_NULL
F32 = T.TENSOR_FLOAT32
FENCED = "Execution_startComputeWithDependencies"


def completed(run):
    """An execution that has run."""
    run.another()
    set_arguments(run)
    run.ok("compute")
    return run.execution


# NULL and lengths


def test_null_with_a_length(api, run):
    """Found before the state; a buffer of length 0 is found after it.

    api-semantics 0: "A null buffer together with a non-zero length is UNEXPECTED_NULL"
    """
    finished, building = add_graph(api).finish(), Graph(api)
    operand = building.operand(F32, (1,))
    done = completed(run)
    fresh = run.another()
    attribute = (b"com.example.extension", 0)
    data = floats(1, 2)
    for name, right, wrong, arguments, empty in (
        ("Model_setOperandValue", building.model, finished, (operand,), BAD_DATA),
        ("Model_setOperandExtensionData", building.model, finished, (operand,), BAD_DATA),
        ("Execution_setInput", fresh, done, (0, None), BAD_DATA),
        ("Execution_setOutput", fresh, done, (0, None), BAD_DATA),
        ("Execution_addExtensionAttribute", fresh, done, attribute, None),
    ):
        for handle in (wrong, right):
            api.refuse(NULL, name, handle, *arguments, None, 4)
            api.refuse(NULL, name, handle, *arguments, None, 1 << 63)
        api.refuse(BAD_STATE, name, wrong, *arguments, data, 0)
        if empty is not None:
            api.refuse(empty, name, right, *arguments, data, 0)
    api.refuse(NULL, "Compilation_addExtensionAttribute", run.compilation, *attribute, None, 4)
    api.refuse(BAD_STATE, "Compilation_addExtensionAttribute", run.compilation, *attribute, data, 4)


def test_null_with_a_count(api, run, device):
    """The same for lists. A list of devices or operands with a count of 0 is refused, too.

    api-semantics 0: "The same asymmetry holds for (count, array) pairs"
    """
    finished, building = add_graph(api).finish(), Graph(api)
    closed = descriptor(api, (run.compilation, "Input", 0))
    some = uint32s([0])
    for model in (finished, building.model):
        for name, *type in (("Model_addOperation", O.RELU), ("Model_identifyInputsAndOutputs",)):
            api.refuse(NULL, name, model, *type, 1, None, 1, some)
            api.refuse(NULL, name, model, *type, 1, some, 1, None)
            code = BAD_STATE if model == finished else BAD_DATA
            api.refuse(code, name, model, *type, 0, some, 1, some)
            api.refuse(code, name, model, *type, 1, some, 0, some)
        api.make_none(NULL, "Compilation_createForDevices", model, None, 1)
        api.make_none(BAD_DATA, "Compilation_createForDevices", model, pointers(device), 0)
    for desc in (closed, api.make("MemoryDesc_create")):
        api.refuse(NULL, "MemoryDesc_setDimensions", desc, 1, None)
    api.refuse(BAD_STATE, "MemoryDesc_setDimensions", closed, 0, some)
    api.make_none(NULL, FENCED, completed(run), None, 1, 0)
    supported = (ctypes.c_uint8 * 8)()
    name = "Model_getSupportedOperationsForDevices"
    for model in (finished, building.model):
        api.refuse(NULL, name, model, None, 1, supported)
        api.refuse(BAD_DATA, name, model, pointers(device), 0, supported)


@pytest.mark.parametrize(
    ("count", "dimensions"), [(0, (2,)), (1, None), (0xFFFFFFFF, None)], ids=["0", "1", "many"]
)
def test_count_of_dimensions(api, file, run, count, dimensions):
    """In each function that takes an operand type.

    api-semantics 0: "(0, non-null) and (n, NULL) are BAD_DATA in every call"
    """
    type = operand_type(F32)
    type.dimensionCount = count
    type.dimensions = None if dimensions is None else uint32s(dimensions)
    api.refuse(BAD_DATA, "Model_addOperand", Graph(api).model, type, saying="dimensionCount")
    refused_with_an_argument(api, run, file, type, "dimensionCount")


@pytest.mark.parametrize(
    "dimensions", [(1 << 30,), (1 << 15, 0, 1 << 15), (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF)]
)
def test_size_of_an_operand(api, file, run, dimensions):
    """In each function that takes an operand type.

    api-semantics 0: "element size times the product of the non-zero dimensions"
    """
    type = operand_type(F32, dimensions)
    api.refuse(BAD_DATA, "Model_addOperand", Graph(api).model, type, saying="4294967295 bytes")
    refused_with_an_argument(api, run, file, type, "4294967295 bytes")


def refused_with_an_argument(api, run, file, type, saying):
    memory = api.make("Memory_createFromFd", 64, 3, file(64), 0)
    run.another()
    for role in ("Input", "Output"):
        run.refuse(BAD_DATA, f"set{role}", 0, type, floats(1, 2), 8, saying=saying)
        run.refuse(BAD_DATA, f"set{role}", 0, type, None, 0, saying=saying)
        run.refuse(BAD_DATA, f"set{role}FromMemory", 0, type, memory, 0, 8, saying=saying)
    set_arguments(run)
    run.ok("compute")


# Life and death of objects


def test_constructors_that_fail_give_null(api, run, device):
    """Whatever the reason; the matching free then takes it.

    api-semantics 0: "Constructors clear the out-pointer on failure"
    """
    unfinished, open_desc = api.make("Model_create"), api.make("MemoryDesc_create")
    finished = add_graph(api).finish()
    not_compiled = api.make("Compilation_create", finished)
    done = completed(run)
    run.another()
    empty = run.execution
    for code, name, *arguments in (
        (BAD_STATE, "Compilation_create", unfinished),
        (NULL, "Compilation_create", None),
        (BAD_STATE, "Compilation_createForDevices", unfinished, pointers(device), 1),
        (BAD_DATA, "Compilation_createForDevices", finished, pointers(device), 0),
        (NULL, "Compilation_createForDevices", finished, None, 1),
        (BAD_STATE, "Burst_create", not_compiled),
        (NULL, "Burst_create", None),
        (BAD_STATE, "Execution_create", not_compiled),
        (NULL, "Execution_create", None),
        (OP_FAILED, "Memory_createFromFd", 8, 3, -1, 0),
        (NULL, "Memory_createFromAHardwareBuffer", None),
        (BAD_STATE, "Memory_createFromDesc", open_desc),
        (NULL, "Memory_createFromDesc", None),
        (BAD_STATE, "Execution_startCompute", done),
        (BAD_DATA, "Execution_startCompute", empty),
        (NULL, "Execution_startCompute", None),
        (BAD_STATE, FENCED, done, None, 0, 0),
        (BAD_DATA, FENCED, run.another(), None, 0, 0),
        (NULL, FENCED, done, None, 1, 0),
        (BAD_DATA, "Event_createFromSyncFenceFd", -1),
    ):
        api.make_none(code, name, *arguments)
    kinds = ("Burst", "Execution", "Compilation", "Memory", "MemoryDesc", "Event", "Model")
    for kind in kinds:
        api.ok(f"{kind}_free", None)
    for name in ("Model_create", "MemoryDesc_create"):
        api.refuse(NULL, name, None)


def test_objects_are_freed_in_any_state(api, run, device, file):
    """Used or not, finished or not.

    api-semantics 0: "Objects are freed in any state"
    """
    invalid = Graph(api)
    invalid.refuse_finish(BAD_DATA)
    building = Graph(api)
    building.operand(F32, (2,))
    model = add_graph(api).finish()
    oem = Graph(api)
    a, b = oem.operand(F32, (2,)), oem.operand(F32, (2,))
    oem.operation(O.OEM_OPERATION, [a], [b])
    oem.arguments([a], [b])
    failed = api.make("Compilation_create", oem.finish())
    api.refuse(BAD_DATA, "Compilation_finish", failed)
    done = completed(run)
    run.another()
    half_set = run.execution
    run.input(0, floats(1, 2))
    closed = descriptor(api, (run.compilation, "Input", 0))
    run.another()
    run.refuse(BAD_DATA, "compute")
    for handle in (
        api.make("Model_create"),
        building.model,
        invalid.model,
        failed,
        api.make("Compilation_create", model),
        api.make("Compilation_createForDevices", model, pointers(device), 1),
        model,
        run.execution,
        half_set,
        done,
        api.make("Execution_create", run.compilation),
        api.make("Burst_create", run.compilation),
        api.make("MemoryDesc_create"),
        api.make("Memory_createFromDesc", closed),
        closed,
        api.make("Memory_createFromFd", 8, 3, file(8), 0),
    ):
        api.free(handle)


def test_values_of_constants_are_not_looked_at(api, device):
    """Before the computation, which fails then.

    api-semantics 0: "No call looks at the values of constant operands before execution"
    """
    graph = Graph(api)
    a, b = graph.operand(F32, (2, 2)), graph.operand(F32, (2, 2))
    order = graph.constant((ctypes.c_int32 * 2)(1, 1), T.TENSOR_INT32, (2,))
    graph.operation(O.TRANSPOSE, [a, order], [b])
    graph.arguments([a], [b])
    run = Run(api, device, graph.finish())
    run.input(0, floats(1, 2, 3, 4))
    result = run.output(0, 16)
    run.refuse(OP_FAILED, "compute", saying="TRANSPOSE (operation 0)")
    assert result.is_untouched


# Threads


class OnThreads:
    """Makes each call of the API on a thread of its own."""

    def __init__(self, api, monkeypatch):
        self.called = set()
        self._call = api.call
        monkeypatch.setattr(api, "call", self)

    def __call__(self, name, *arguments):
        results = []
        thread = threading.Thread(target=lambda: results.append(self._call(name, *arguments)))
        thread.start()
        thread.join()
        self.called.add(name)
        return results[0]


def test_every_call_on_another_thread(api, device, file, monkeypatch):
    """Each object is used on other threads than the one that made it, and freed on another.

    api-semantics 13: "objects are created on one and used on others"
    """
    calls = OnThreads(api, monkeypatch)
    run = Run(api, device, add_graph(api).finish())
    descriptor_ = file(64, bytes(floats(1, 2)))
    memory = api.make("Memory_createFromFd", 64, 3, descriptor_, 0)
    device_desc = descriptor(api, (run.compilation, "Input", 1), dimensions=(2,))
    device_memory = api.make("Memory_createFromDesc", device_desc)
    small = api.make("Memory_createFromFd", 8, 3, descriptor_, 0)
    api.ok("Memory_copy", small, device_memory)
    burst = api.make("Burst_create", run.compilation)
    reader, writer = os.pipe()
    fence = api.make("Event_createFromSyncFenceFd", reader)
    os.write(writer, b"x")
    for name in ("compute", "burstCompute", "startCompute", "fenced"):
        run.another()
        run.ok("setMeasureTiming", True)
        run.ok("setLoopTimeout", 1)
        run.ok("setReusable", True)
        run.ok("enableInputAndOutputPadding", False)
        run.ok("setInputFromMemory", 0, None, memory, 0, 8)
        run.ok("setInputFromMemory", 1, None, device_memory, 0, 0)
        result = run.output(0, 8)
        for _ in range(2):
            if name == "fenced":
                event = api.make(FENCED, run.execution, pointers(fence), 1, 0)
                api.ok("Event_wait", event)
            elif name == "startCompute":
                api.ok("Event_wait", api.make("Execution_startCompute", run.execution))
            else:
                run.ok(name, *([burst] if name == "burstCompute" else []))
        assert result.floats() == [2, 4]
        run.ok("getOutputOperandRank", 0, ctypes.c_uint32())
        run.ok("getOutputOperandDimensions", 0, uint32s([0]))
        run.ok("getDuration", 0, ctypes.c_uint64())
    api.free_all()
    os.close(reader)
    os.close(writer)
    assert len(calls.called) > 35


def test_a_start_needs_nothing_more_from_its_thread(api, run, device):
    """The work is done while the thread that started it calls other functions, or none.

    api-semantics 13: "startCompute must not need the caller's thread to make progress"
    """
    event = api.make("Execution_startCompute", run.execution)
    for _ in range(20):
        graph = add_graph(api)
        graph.finish()
        api.free(graph.model)
    for thread in (threading.Thread(target=api.call, args=("Event_wait", event)) for _ in range(2)):
        thread.start()
        thread.join()
    assert run.result.floats() == [11, 22]


class Waiting:
    """A call that waits for a fence on a thread of its own; `end` lets it go on."""

    def __init__(self, api, call):
        self._api = api
        self._reader, self._writer = os.pipe()
        self.fence = api.make("Event_createFromSyncFenceFd", self._reader)
        self.code = None
        self._thread = threading.Thread(target=self._call, args=(call,))
        self._entered = threading.Event()
        self._thread.start()
        self._entered.wait()
        time.sleep(0.02)  # now it waits, most likely; either way it must go well

    def _call(self, call):
        self._entered.set()
        self.code = call(self.fence)

    def end(self):
        os.write(self._writer, b"x")
        self._thread.join()
        os.close(self._reader)
        os.close(self._writer)
        return self.code


def test_everything_is_freed_in_flight(api, device, file):
    """All that an execution needs, and itself: it runs to its end, with the right result."""
    model = add_graph(api).finish()
    run = Run(api, device, model)
    descriptor_ = file(64, bytes(floats(1, 2, 10, 20)))
    shared = api.make("Memory_createFromFd", 64, 3, descriptor_, 0)
    desc = descriptor(api, (run.compilation, "Input", 0))
    made = api.make("Memory_createFromDesc", desc)
    small = api.make("Memory_createFromFd", 8, 3, descriptor_, 0)
    api.ok("Memory_copy", small, made)
    run.ok("setInputFromMemory", 0, None, made, 0, 0)
    run.ok("setInputFromMemory", 1, None, shared, 8, 8)
    run.ok("setOutputFromMemory", 0, None, shared, 16, 8)
    event = ctypes.c_uint64()
    waiting = Waiting(
        api,
        lambda fence: api.call(FENCED, run.execution, pointers(fence), 1, 0, ctypes.byref(event)),
    )
    for handle in (made, desc, small, shared, run.execution, run.compilation, model):
        api.free(handle)
    assert waiting.end() == ResultCode.NO_ERROR
    api.ok("Event_wait", event.value)
    api.ok("Event_free", event.value)
    assert memoryview(os.pread(descriptor_, 24, 0)).cast("f").tolist() == [1, 2, 10, 20, 11, 22]


def test_an_event_is_freed_while_others_wait(api):
    """Freeing it waits, too; it is no event any more, for all who come later."""
    waiting = Waiting(api, lambda fence: api.call("Event_wait", fence))
    freeing = threading.Thread(target=api.call, args=("Event_free", waiting.fence))
    freeing.start()
    assert waiting.end() == ResultCode.NO_ERROR
    freeing.join()
    api.refuse(BAD_DATA, "Event_wait", waiting.fence, saying="was freed")
    api.forget(waiting.fence)


def test_a_burst_is_freed_in_flight(api, device, monkeypatch):
    """With its compilation and its execution, while another thread computes with it."""
    monkeypatch.setenv("NNAPI_SHIM_LOG", "silent")
    count = 1 << 18
    model = add_graph(api, (count,)).finish()
    for _ in range(5):
        run = Run(api, device, model)
        a, b = ((ctypes.c_float * count)(*[value] * 4) for value in (1, 2))
        run.input(0, a)
        run.input(1, b)
        result = run.output(0, 4 * count)
        burst = api.make("Burst_create", run.compilation)
        codes = []

        def compute(execution=run.execution, burst=burst, codes=codes):
            codes.append(api.call("Execution_burstCompute", execution, burst))

        thread = threading.Thread(target=compute)
        thread.start()
        for handle in (burst, run.execution, run.compilation):
            api.free(handle)
        thread.join()
        # Freed before the call, or while it ran.
        assert codes in ([ResultCode.NO_ERROR], [BAD_DATA])
        if codes == [ResultCode.NO_ERROR]:
            assert result.floats()[:5] == [3, 3, 3, 3, 0]


def test_a_memory_is_freed_in_flight(api, device, file):
    """Its execution goes on with it.

    api-semantics 8: "Memory_free does not wait for executions"
    """
    run = Run(api, device, add_graph(api, (1 << 16,)).finish())
    descriptor_ = file(1 << 18)
    for _ in range(10):
        run.another()
        memory = api.make("Memory_createFromFd", 1 << 18, 3, descriptor_, 0)
        run.ok("setInputFromMemory", 0, None, memory, 0, 1 << 18)
        run.ok("setInputFromMemory", 1, None, memory, 0, 1 << 18)
        result = run.output(0, 1 << 18)
        event = api.make("Execution_startCompute", run.execution)
        api.free(memory)
        api.free(run.execution)
        api.ok("Event_wait", event)
        assert set(result.contents) == {0}
