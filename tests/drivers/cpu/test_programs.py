"""How models become programs: memory that is shared, shapes and values that only a run knows."""

import time
from contextlib import suppress

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import (
    ErrorStatus,
    ExecutionPreference,
    OperandLifeTime,
    OperandType,
    OperationType,
    Priority,
    ResultCode,
)
from nnapi_shim.hal.types import (
    DataLocation,
    Model,
    Operand,
    Operation,
    Request,
    RequestArgument,
    Subgraph,
)

L, T, O = OperandLifeTime, OperandType, OperationType  # noqa: E741


class Graph:
    """Builds a model operand by operand, and runs it."""

    def __init__(self):
        self.operands, self.operations, self.constants = [], [], bytearray()
        self.inputs, self.outputs = [], []

    def add(self, type, dimensions, lifetime, location=None):
        where = location or DataLocation()
        self.operands.append(Operand(type, tuple(dimensions), 0.0, 0, lifetime, where))
        return len(self.operands) - 1

    def input(self, dimensions, type=T.TENSOR_FLOAT32):
        self.inputs.append(self.add(type, dimensions, L.SUBGRAPH_INPUT))
        return self.inputs[-1]

    def constant(self, array, type=T.TENSOR_FLOAT32):
        data = array.tobytes()
        self.constants += bytes(-len(self.constants) % 64)
        position = DataLocation(0, len(self.constants), len(data))
        self.constants += data
        return self.add(type, array.shape, L.CONSTANT_COPY, position)

    def none(self):
        return self.constant(np.int32(0), T.INT32)

    def operation(self, type, inputs, dimensions, kind=T.TENSOR_FLOAT32, output=False):
        lifetime = L.SUBGRAPH_OUTPUT if output else L.TEMPORARY_VARIABLE
        result = self.add(kind, dimensions, lifetime)
        if output:
            self.outputs.append(result)
        number = len(self.operations)
        self.operations.append(Operation(type, tuple(inputs), (result,), number))
        return result

    def model(self):
        graph = Subgraph(
            tuple(self.operands), tuple(self.operations), tuple(self.inputs), tuple(self.outputs)
        )
        return Model(graph, operand_values=bytes(self.constants))

    def prepare(self, device):
        return device.prepareModel(
            self.model(),
            ExecutionPreference.FAST_SINGLE_ANSWER,
            Priority.MEDIUM,
            None,
            None,
        )

    def request(self, arrays, buffers):
        return Request(
            tuple(RequestArgument(a.ctypes.data, a.nbytes, a.shape) for a in arrays),
            tuple(
                RequestArgument(b.ctypes.data, b.nbytes, self.operands[i].dimensions)
                for i, b in zip(self.outputs, buffers, strict=True)
            ),
        )


@pytest.fixture(params=[CpuDevice, ReferenceDevice], ids=["cpu", "reference"])
def device(request):
    return request.param()


@pytest.mark.parametrize("position", ["output", "temporary", "reshaped"])
def test_a_declared_size_wins_over_a_computed_0_and_there_is_no_data(device, position):
    graph = Graph()
    x = graph.input([1, 2, 2, 1])
    begin, size = (
        graph.constant(np.array(numbers, np.int32), T.TENSOR_INT32)
        for numbers in ([0, 0, 0, 0], [1, 2, 2, 0])
    )
    last = graph.operation(O.SLICE, [x, begin, size], [0, 2, 2, 1], output=position == "output")
    if position == "temporary":
        graph.operation(O.RELU, [last], [1, 2, 2, 1], output=True)
    if position == "reshaped":
        shape = graph.constant(np.array([4], np.int32), T.TENSOR_INT32)
        graph.operation(O.RESHAPE, [last, shape], [4], output=True)
    values, buffer = np.ones((1, 2, 2, 1), np.float32), np.full(4, 7, np.float32)
    result = graph.prepare(device).execute(graph.request([values], [buffer]), False, None, 0)
    assert result.output_shapes[0].dimensions == ((4,) if position == "reshaped" else (1, 2, 2, 1))
    np.testing.assert_array_equal(buffer, 0)


def test_a_long_chain_in_place(device):
    graph = Graph()
    x, none = graph.input([4]), graph.none()
    last = x
    for step in range(30):
        last = graph.operation(O.ADD, [last, x, none], [4], output=step == 29)
    values, buffer = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    execution = graph.prepare(device).createReusableExecution(
        graph.request([values], [buffer]), False, 0
    )
    for _ in range(2):
        execution.compute(None)
        np.testing.assert_array_equal(buffer, values * 31)


def test_an_operand_that_is_read_again_is_not_overwritten(device):
    graph = Graph()
    x, none = graph.input([64]), graph.none()
    a = graph.operation(O.ADD, [x, x, none], [64])
    b = graph.operation(O.RELU, [a], [64])
    c = graph.operation(O.MUL, [b, b, none], [64])
    graph.operation(O.ADD, [c, a, none], [64], output=True)
    values, buffer = np.linspace(-3, 3, 64, dtype=np.float32), np.zeros(64, np.float32)
    graph.prepare(device).execute(graph.request([values], [buffer]), False, None, 0)
    a = values + values
    np.testing.assert_allclose(buffer, np.maximum(a, 0) ** 2 + a, rtol=1e-6)


def test_reshaped_memory_is_shared_and_not_overwritten(device):
    graph = Graph()
    x, none = graph.input([2, 6]), graph.none()
    shape = graph.constant(np.array([3, 4], np.int32), T.TENSOR_INT32)
    a = graph.operation(O.ADD, [x, x, none], [2, 6])
    flat = graph.operation(O.RESHAPE, [a, shape], [3, 4])
    graph.operation(O.RELU, [flat], [3, 4], output=True)
    graph.operation(O.ADD, [a, x, none], [2, 6], output=True)
    values = np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 6)
    buffers = [np.zeros((3, 4), np.float32), np.zeros((2, 6), np.float32)]
    graph.prepare(device).execute(graph.request([values], buffers), False, None, 0)
    np.testing.assert_allclose(buffers[0], np.maximum(2 * values, 0).reshape(3, 4))
    np.testing.assert_allclose(buffers[1], 3 * values)


def reshape_by_input():
    graph = Graph()
    x, shape = graph.input([12]), graph.input([2], T.TENSOR_INT32)
    y = graph.operation(O.RESHAPE, [x, shape], [])
    graph.operation(O.RELU, [y], [0, 0], output=True)
    return graph


def test_a_value_that_decides_a_shape_may_change_between_runs(device):
    graph = reshape_by_input()
    values, shape = np.arange(12, dtype=np.float32), np.array([3, 4], np.int32)
    buffer = np.zeros(12, np.float32)
    execution = graph.prepare(device).createReusableExecution(
        graph.request([values, shape], [buffer]), False, 0
    )
    for expected in ([3, 4], [2, 6], [12, 1], [3, 4]):
        shape[:] = expected
        buffer[:] = -1
        result = execution.compute(None)
        assert list(result.output_shapes[0].dimensions) == expected
        np.testing.assert_array_equal(buffer, values)


def test_a_bad_value_fails_the_run_and_not_the_preparation(device):
    graph = reshape_by_input()
    values, shape = np.arange(12, dtype=np.float32), np.array([5, 5], np.int32)
    buffer = np.full(12, 7, np.float32)
    prepared = graph.prepare(device)
    with pytest.raises(NnapiError, match=r"RESHAPE \(operation 0\)") as caught:
        prepared.execute(graph.request([values, shape], [buffer]), False, None, 0)
    assert caught.value.code is ResultCode.OP_FAILED
    assert (buffer == 7).all()


def computed_shape():
    """The shape is a sum that the model computes itself; `before` is read on both sides of it."""
    graph = Graph()
    x = graph.input([12])
    a, b = graph.input([2], T.TENSOR_INT32), graph.input([2], T.TENSOR_INT32)
    none = graph.none()
    before = graph.operation(O.ADD, [x, x, none], [12])
    shape = graph.operation(O.ADD, [a, b, none], [2], T.TENSOR_INT32)
    y = graph.operation(O.RESHAPE, [before, shape], [])
    graph.operation(O.RELU, [y], [0, 0], output=True)
    graph.operation(O.MUL, [before, x, none], [0], output=True)
    return graph


def test_a_shape_that_the_model_computes(device):
    graph = computed_shape()
    values = np.linspace(-2, 2, 12, dtype=np.float32)
    a, b = np.array([1, 2], np.int32), np.array([1, 4], np.int32)
    buffers = [np.zeros(12, np.float32), np.zeros(12, np.float32)]
    execution = graph.prepare(device).createReusableExecution(
        graph.request([values, a, b], buffers), False, 0
    )
    for first in (1, 2):
        a[0], b[1] = first, (4 if first == 1 else 2)
        b[0] = 1
        a[1] = 12 // (a[0] + b[0]) - b[1]
        result = execution.compute(None)
        assert result.output_shapes[0].dimensions == tuple(a + b)
        np.testing.assert_allclose(buffers[0], np.maximum(2 * values, 0))
        np.testing.assert_allclose(buffers[1], 2 * values * values)


def test_a_short_buffer_behind_a_computed_shape_is_not_written_past(device):
    graph = computed_shape()
    values = np.ones(12, np.float32)
    a, b = np.array([1, 2], np.int32), np.array([1, 4], np.int32)
    memory = np.full(24, 7, np.float32)
    buffers = [memory[:11], np.zeros(12, np.float32)]
    result = graph.prepare(device).execute(graph.request([values, a, b], buffers), False, None, 0)
    assert result.status is ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
    assert result.output_shapes[0].dimensions == (2, 6)
    assert not result.output_shapes[0].is_sufficient
    assert (memory[11:] == 7).all()


def test_programs_of_many_shapes(device):
    graph = Graph()
    x, none = graph.input([0]), graph.none()
    graph.operation(O.ADD, [x, x, none], [0], output=True)
    prepared = graph.prepare(device)
    for size in [*range(1, 40), *range(39, 0, -1)]:
        values, buffer = np.arange(size, dtype=np.float32), np.zeros(size, np.float32)
        prepared.execute(graph.request([values], [buffer]), False, None, 0)
        np.testing.assert_array_equal(buffer, 2 * values)


def test_a_shape_that_is_an_output_of_the_model(device):
    graph = Graph()
    x, a = graph.input([4]), graph.input([2], T.TENSOR_INT32)
    shape = graph.operation(O.ADD, [a, a, graph.none()], [2], T.TENSOR_INT32, output=True)
    graph.operation(O.RESHAPE, [x, shape], [], output=True)
    values, half = np.arange(4, dtype=np.float32), np.array([1, 1], np.int32)
    buffers = [np.zeros(2, np.int32), np.zeros(4, np.float32)]
    graph.prepare(device).execute(graph.request([values, half], buffers), False, None, 0)
    assert list(buffers[0]) == [2, 2]
    np.testing.assert_array_equal(buffers[1], values)


def test_the_deadline_of_a_run_is_not_that_of_the_next():
    graph = Graph()
    x = graph.input([4])
    graph.operation(O.RELU, [x], [4], output=True)
    model = graph.prepare(CpuDevice())
    values, buffer = np.ones(4, np.float32), np.zeros(4, np.float32)
    request = graph.request([values], [buffer])
    with suppress(NnapiError):  # the machine may be busy for so long
        model.execute(request, False, time.monotonic_ns() + 10**7, 0)
    time.sleep(0.02)
    model.execute(request, False, None, 0)
    np.testing.assert_array_equal(buffer, 1)
