"""The limit of time holds while a model is lowered: in front of each operation, and of each tile of
what is packed once. `late` makes lowering an operation take as long as the limit.
"""

import time

import numpy as np
import pytest

from nnapi_shim import limits
from nnapi_shim.drivers.cpu.compile import graph_lowering, packing
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference, Priority, ResultCode
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import Request, RequestArgument
from tests.runtime.hal_models import Builder

LIMIT_NS = 10**9
LATE = ResultCode.MISSED_DEADLINE_TRANSIENT


class Clock:
    """The time that the lowering sees: it stands still but for what tests add."""

    def __init__(self):
        self.now = time.monotonic_ns()

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    actual = Clock()
    monkeypatch.setattr(limits, "monotonic_ns", actual)
    return actual


@pytest.fixture
def late(monkeypatch, clock):
    """The types of the operations that are lowered, each of which takes LIMIT_NS."""
    lowered, lower = [], graph_lowering.lowering.lower

    def slow(op):
        lowered.append(op.match.operation.type)
        clock.now += LIMIT_NS
        return lower(op)

    monkeypatch.setattr(graph_lowering.lowering, "lower", slow)
    return lowered


def prepared(model, deadline_ns=None):
    how = ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM
    return CpuDevice().prepareModel(model, *how, deadline_ns, None)


def doubled(size):
    """X -> 4 x, in two operations."""
    graph = Builder()
    x = graph.input((size,))
    twice = graph.binary("ADD", x, x)
    return graph, x, graph.binary("ADD", twice, twice)


def execute(model, deadline_ns, *arrays):
    result = np.zeros(2, np.float32)
    request = Request(
        tuple([RequestArgument(a.ctypes.data, a.nbytes, a.shape) for a in arrays]),
        (RequestArgument(result.ctypes.data, result.nbytes, (2,)),),
    )
    model.execute(request, False, deadline_ns, LIMIT_NS)
    return result.tolist()


def test_finish(late, clock):
    graph, x, result = doubled(2)
    with pytest.raises(NnapiError) as caught:
        prepared(graph.model([x], [result]), clock.now + LIMIT_NS)
    assert caught.value.code is LATE and "ADD (operation 1)" in caught.value.message
    assert late == [O.ADD]


def test_a_run_that_lowers(late, clock):
    graph, x, result = doubled(0)
    model = prepared(graph.model([x], [result]))
    ones = np.ones(2, np.float32)
    for _ in range(2):
        with pytest.raises(NnapiError) as caught:
            execute(model, clock.now + LIMIT_NS, ones)
        assert caught.value.code is LATE
    assert late == [O.ADD] * 2
    assert execute(model, None, ones) == [4, 4]
    assert execute(model, clock.now + LIMIT_NS, ones) == [4, 4]  # nothing to lower any more


def test_what_follows_a_value_of_the_run(late, clock):
    graph = Builder()
    x, axis = graph.input((2,)), graph.input((1,), T.TENSOR_INT32)
    shape = graph.binary("ADD", axis, axis)
    reshaped = graph.temporary((2,))
    graph.operation(O.RESHAPE, [x, shape], [reshaped])
    result = graph.binary("ADD", reshaped, reshaped)
    model = prepared(graph.model([x, axis], [result]))
    arguments = np.ones(2, np.float32), np.ones(1, np.int32)
    with pytest.raises(NnapiError) as caught:
        execute(model, clock.now + LIMIT_NS, *arguments)
    assert caught.value.code is LATE and "ADD (operation 2)" in caught.value.message
    assert execute(model, None, *arguments) == [2, 2]


@pytest.mark.parametrize("type", [O.IF, O.WHILE])
def test_graphs_that_become_part_of_a_program(late, clock, type):
    graph, test, body = Builder(), Builder(), Builder()
    test.values = body.values = graph.values
    condition, x, result = graph.input((1,), T.TENSOR_BOOL8), graph.input(), graph.temporary()
    y = body.input()
    twice = body.binary("ADD", y, y)
    second = body.binary("ADD", twice, twice)
    if type is O.IF:
        graphs = [graph.graph(body, [y], [second])] * 2
        inputs = [condition, *graphs, x]
    else:
        z = test.input()
        less, goes_on = (test.temporary(size, T.TENSOR_BOOL8) for size in ((2,), (1,)))
        test.operation(O.LESS, [z, test.constant([9], T.TENSOR_FLOAT32)], [less])
        axis, keep = test.constant([0], T.TENSOR_INT32), test.constant(True, T.BOOL)
        test.operation(O.REDUCE_ALL, [less, axis, keep], [goes_on])
        inputs = [graph.graph(test, [z], [goes_on]), graph.graph(body, [y], [second]), x]
    graph.operation(type, inputs, [result])
    model = graph.model([condition, x], [result])
    with pytest.raises(NnapiError) as caught:
        prepared(model, clock.now + LIMIT_NS)
    assert caught.value.code is LATE and "operation 1" in caught.value.message
    assert late == ([O.ADD] if type is O.IF else [O.LESS])
    assert execute(prepared(model), None, np.ones(1, np.bool_), np.ones(2, np.float32))[0] >= 4


def test_what_is_packed_once(monkeypatch, clock):
    graph = Builder()
    x, result = graph.input((9, 32, 4)), graph.temporary((9, 32, 64))
    weights = graph.constant(np.ones((9, 4, 64)), T.TENSOR_FLOAT32)
    no = graph.constant(False, T.BOOL)
    graph.operation(O.BATCH_MATMUL, [x, weights, no, no], [result])
    model, run, limits = graph.model([x], [result]), packing.StepsInOrder, []

    def late(library, steps, deadline_ns, crew):
        assert any(kernel.startswith("pack") for kernel, _, _ in steps)
        limits.append(deadline_ns)
        return run(library, steps, 1, crew)  # it has passed

    with monkeypatch.context() as patch:
        patch.setattr(packing, "StepsInOrder", late)
        with pytest.raises(NnapiError) as caught:
            prepared(model, clock.now + LIMIT_NS)
    assert caught.value.code is LATE and "BATCH_MATMUL (operation 0)" in caught.value.message
    assert limits == [clock.now + LIMIT_NS]
    prepared(model)


def folded(times=1):
    """Sums of constants, which are computed when the model is compiled."""
    graph = Builder()
    x, ones = graph.input((2,)), graph.constant(np.ones(2), T.TENSOR_FLOAT32)
    total = ones
    for _ in range(times):
        total = graph.binary("ADD", total, ones)
    return graph.model([x], [graph.binary("ADD", x, total)])


def test_constants_that_are_lowered(late, clock):
    with pytest.raises(NnapiError) as caught:
        prepared(folded(times=2), clock.now + LIMIT_NS)
    assert caught.value.code is LATE and "ADD (operation 1)" in caught.value.message
    assert late == [O.ADD]


def test_constants_that_are_computed(clock):
    """The clock of the lowering stands still, that of the run does not."""
    clock.now = 0
    with pytest.raises(NnapiError) as caught:
        prepared(folded(), 1)
    assert caught.value.code is LATE and "ADD (operation 0)" in caught.value.message
    assert execute(prepared(folded()), None, np.ones(2, np.float32)) == [3, 3]
