"""Executions and bursts on the fast path, without Python: all rules of the API hold."""

import ctypes

import pytest

from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.enums import ResultCode
from tests.abi.rules.capi import floats, int32s
from tests.abi.rules.graph import Graph, Run, device_memory

BAD_DATA, BAD_STATE, OP_FAILED = ResultCode.BAD_DATA, ResultCode.BAD_STATE, ResultCode.OP_FAILED

ENTRIES = 256
"""Those of native/fast_path.c, by handles."""


class Rows(Run):
    """Two of four rows, chosen by the second input; run three times."""

    def __init__(self, api, device, compute=lambda run: run.ok("compute"), reusable=True):
        graph = Graph(api)
        values = graph.operand(T.TENSOR_FLOAT32, (4,))
        chosen, result = graph.operand(T.TENSOR_INT32, (2,)), graph.operand(T.TENSOR_FLOAT32, (2,))
        graph.operation(O.GATHER, [values, graph.int32(0), chosen], [result])
        graph.arguments([values, chosen], [result])
        super().__init__(api, device, graph.finish())
        self.burst = api.make("Burst_create", self.compilation)
        self.ok("setReusable", reusable)
        self.values, self.chosen = floats(1, 2, 3, 4), int32s(0, 3)
        self.input(0, self.values)
        self.input(1, self.chosen)
        self.result = self.output(0, 8)
        for _ in range(3 if reusable else 1):
            compute(self)

    def is_lent(self):
        from nnapi_shim.abi.tables import executions

        return executions[self.execution]._slot is not None


def in_a_burst(run):
    run.ok("burstCompute", run.burst)


@pytest.fixture(params=[lambda run: run.ok("compute"), in_a_burst], ids=["compute", "burst"])
def compute(request):
    return request.param


@pytest.fixture
def run(api, device, compute):
    made = Rows(api, device, compute)
    assert made.is_lent() == (device == api.devices().get("nnapi-cpu"))
    return made


def test_inputs_are_read_anew(run, compute):
    """api-semantics 4: "a reusable execution reads their current contents on every run"."""
    run.values[3], run.chosen[:] = 40, (3, 1)
    compute(run)
    assert run.result.floats() == [40, 2]


def test_it_is_completed(run, compute):
    """api-semantics 5: "From the first start on, every setter"."""
    run.refuse(BAD_STATE, "setInput", 0, None, run.values, 16, saying="completed")
    run.refuse(BAD_STATE, "setReusable", False, saying="completed")
    rank, duration = ctypes.c_uint32(), ctypes.c_uint64()
    run.ok("getOutputOperandRank", 0, rank)
    assert rank.value == 1
    run.refuse(BAD_STATE, "getDuration", 0, duration)
    compute(run)
    assert run.result.floats() == [1, 4]


def test_a_run_that_fails(api, run, compute):
    """Its error is that of any run, and the next run is as good as any."""
    name, arguments = "compute", ()
    if compute is in_a_burst:
        name, arguments = "burstCompute", (run.burst,)
    run.chosen[1] = 4
    run.refuse(OP_FAILED, name, *arguments)
    while_lent = api.last_error()
    rank = ctypes.c_uint32()
    run.refuse(BAD_STATE, "getOutputOperandRank", 0, rank, saying="failed")
    run.refuse(OP_FAILED, name, *arguments)
    assert api.last_error() == while_lent
    run.chosen[1] = 2
    compute(run)
    run.values[2] = 30
    compute(run)
    assert run.result.floats() == [1, 30]
    run.ok("getOutputOperandRank", 0, rank)


def test_other_ways_to_run(api, run, compute):
    for _ in range(3):
        run.values[0] += 1
        api.ok("Event_wait", api.make("Execution_startCompute", run.execution))
        assert run.result.floats()[0] == run.values[0]
        run.values[0] += 1
        fenced = "Execution_startComputeWithDependencies"
        api.ok("Event_wait", api.make(fenced, run.execution, None, 0, 0))
        assert run.result.floats()[0] == run.values[0]
        for _ in range(2):
            run.values[0] += 1
            compute(run)
            assert run.result.floats()[0] == run.values[0]


def test_freed(api, run):
    execution, burst = run.execution, run.burst
    api.free(burst)
    run.refuse(BAD_DATA, "burstCompute", burst, saying="was freed")
    run.ok("compute")
    api.free(execution)
    for _ in range(2):
        run.refuse(BAD_DATA, "compute", saying="was freed")
        Rows(api, None).ok("compute")


def test_other_handles(api, run):
    """A slot of one kind is not used as the other, and belongs to its compilation."""
    execution, burst = run.execution, run.burst
    api.refuse(BAD_DATA, "Execution_compute", burst, saying="handle of a burst")
    api.refuse(BAD_DATA, "Execution_burstCompute", burst, execution, saying="handle of a")
    api.refuse(BAD_DATA, "Execution_burstCompute", execution, execution, saying="handle of a")
    api.refuse(ResultCode.UNEXPECTED_NULL, "Execution_burstCompute", execution, None)
    other = Rows(api, None, in_a_burst)
    run.ok("burstCompute", burst)
    run.refuse(BAD_DATA, "burstCompute", other.burst, saying="different compilations")
    run.values[0] = 7
    run.ok("burstCompute", burst)
    other.ok("burstCompute", other.burst)
    assert run.result.floats() == [7, 4]


def test_more_than_c_has_room_for(api, device):
    runs = [Rows(api, device) for _ in range(300)]
    for at, run in enumerate(runs):
        run.values[0] = at
        run.ok("compute")
    assert [run.result.floats()[0] for run in runs] == [*range(300)]


def test_what_is_not_lent(api, device):
    """One that is not reusable, that is measured, that has a time limit or a device's memory."""
    if device is None:
        return
    once = Rows(api, device, reusable=False)
    assert not once.is_lent()
    once.refuse(BAD_STATE, "compute", saying="not reusable")
    for name, argument in (("setMeasureTiming", True), ("setTimeout", 10**12)):
        run = Rows(api, device, reusable=False)
        run.another()
        run.ok("setReusable", True)
        run.ok(name, argument)
        run.input(0, run.values)
        run.input(1, run.chosen)
        run.output(0, 8)
        for _ in range(3):
            run.ok("compute")
        assert not run.is_lent()
    run.another()
    run.ok("setReusable", True)
    memory = device_memory(api, (run.compilation, "Input", 0))
    run.ok("setInputFromMemory", 0, None, memory, 0, 0)
    run.input(1, run.chosen)
    run.output(0, 8)
    run.refuse(OP_FAILED, "compute", saying="no contents")
    assert not run.is_lent()


def test_none_is_none_of_them(api, device):
    """api-semantics 6: "burstCompute: NULL"; although 0 is the state of an empty entry."""
    made, tries = Rows(api, device), 0
    while (made.execution ^ made.execution >> 50) % ENTRIES:
        made, before = Rows(api, device), made
        if (made.execution - before.execution) % 2 == 0:  # not each entry would have its turn
            api.make("Burst_create", made.compilation)
        tries += 1
        assert tries < 2 * ENTRIES
    api.free(made.execution)
    api.refuse(ResultCode.UNEXPECTED_NULL, "Execution_compute", None)
    api.refuse(ResultCode.UNEXPECTED_NULL, "Execution_burstCompute", None, made.burst)
