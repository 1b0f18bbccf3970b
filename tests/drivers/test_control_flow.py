"""IF and WHILE on both devices: as part of a program, and where the run decides what follows."""

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
from nnapi_shim.hal.quantization import STRUCT_CODES
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
F32, I32, B8 = T.TENSOR_FLOAT32, T.TENSOR_INT32, T.TENSOR_BOOL8
SECOND = 10**9
STALE = 0xA5
"""Bytes of outputs before a run."""


class Models:
    """Graphs that refer to each other, and their constants."""

    def __init__(self):
        self.referenced, self.constants = [], bytearray()

    def graph(self):
        return Graph(self)


class Graph:
    """A graph while it is built; operands are numbers."""

    def __init__(self, models):
        self.models = models
        self.operands, self.operations, self.inputs, self.outputs = [], [], [], []

    def add(self, type, dimensions, lifetime, location=None):
        where = location or DataLocation()
        self.operands.append(Operand(type, tuple(dimensions), 0.0, 0, lifetime, where))
        return len(self.operands) - 1

    def input(self, type, dimensions):
        self.inputs.append(self.add(type, dimensions, L.SUBGRAPH_INPUT))
        return self.inputs[-1]

    def omitted(self, type):
        return self.add(type, (), L.NO_VALUE)

    def constant(self, value, type):
        array = np.array(value, STRUCT_CODES[type])
        constants = self.models.constants
        constants += bytes(-len(constants) % 64)
        position = DataLocation(0, len(constants), array.nbytes)
        constants += array.tobytes()
        return self.add(type, array.shape, L.CONSTANT_COPY, position)

    def model(self, graph):
        self.models.referenced.append(graph.built())
        return self.add(T.MODEL, (), L.SUBGRAPH, DataLocation(0, len(self.models.referenced) - 1))

    def run(self, type, inputs, *results):
        """An operation; results are (type, dimensions) of temporaries."""
        outputs = [self.add(*result, L.TEMPORARY_VARIABLE) for result in results]
        number = len(self.operations)
        self.operations.append(Operation(type, tuple(inputs), tuple(outputs), number))
        return outputs[0] if len(outputs) == 1 else outputs

    def binary(self, type, a, b, dimensions, kind=F32):
        return self.run(type, [a, b, self.constant(0, T.INT32)], (kind, dimensions))

    def give(self, *operands):
        for index in operands:
            self.operands[index] = self.operands[index]._replace(lifetime=L.SUBGRAPH_OUTPUT)
            self.outputs.append(index)
        return self

    def built(self):
        return Subgraph(
            tuple(self.operands), tuple(self.operations), tuple(self.inputs), tuple(self.outputs)
        )


def prepared(device, models, main):
    model = Model(main.built(), tuple(models.referenced), bytes(models.constants))
    return device.prepareModel(
        model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
    )


def computed(device, models, main, arrays, timeout=15 * SECOND, runs=2, room=4096):
    """The outputs, the same in every run."""
    model = prepared(device, models, main)
    return outputs_of(model, main, arrays, timeout, runs, room)


def outputs_of(model, main, arrays, timeout=15 * SECOND, runs=2, room=4096):
    sources = [np.ascontiguousarray(array) for array in arrays]
    targets = [np.full(room, STALE, np.uint8) for _ in main.outputs]
    request = Request(
        tuple(RequestArgument(a.ctypes.data, a.nbytes, a.shape) for a in sources),
        tuple(
            RequestArgument(t.ctypes.data, t.nbytes, main.operands[i].dimensions)
            for i, t in zip(main.outputs, targets, strict=True)
        ),
    )
    execution = model.createReusableExecution(request, False, timeout)
    for _ in range(runs):
        result = execution.compute(None)
        if result.status is not ErrorStatus.NONE:
            return result
        arrays = []
        for index, target, shape in zip(main.outputs, targets, result.output_shapes, strict=True):
            kind = np.dtype(STRUCT_CODES[main.operands[index].type])
            length = int(np.prod(shape.dimensions)) * kind.itemsize
            arrays.append(target[:length].view(kind).reshape(shape.dimensions).copy())
            target[:] = STALE
    return arrays


@pytest.fixture(params=[CpuDevice, ReferenceDevice], ids=["cpu", "reference"])
def device(request):
    return request.param()


def yes(value=True):
    return np.array([value], np.bool_)


def floats(*values):
    return np.array(values, np.float32)


def arithmetic(models, type, dimensions=(2,)):
    """A graph with two inputs and the result of a binary operation."""
    graph = models.graph()
    a, b = (graph.input(F32, dimensions) for _ in range(2))
    return graph.give(graph.binary(type, a, b, dimensions))


@pytest.mark.parametrize("dimensions", [(2,), (0,), ()], ids=["known", "size", "rank"])
def test_if_takes_the_branch_that_the_condition_says(device, dimensions):
    models = Models()
    main = models.graph()
    condition = main.input(B8, (1,))
    a, b = (main.input(F32, dimensions) for _ in range(2))
    branches = [main.model(arithmetic(models, kind, dimensions)) for kind in (O.ADD, O.SUB)]
    main.give(main.run(O.IF, [condition, *branches, a, b], (F32, dimensions)))
    arguments = [floats(1, 2), floats(10, 20)]
    (taken,) = computed(device, models, main, [yes(), *arguments])
    np.testing.assert_array_equal(taken, [11, 22])
    (taken,) = computed(device, models, main, [yes(False), *arguments])
    np.testing.assert_array_equal(taken, [-9, -18])
    one_model = prepared(device, models, main)
    for value, expected in [(True, [11, 22]), (False, [-9, -18]), (True, [11, 22])]:
        (taken,) = outputs_of(one_model, main, [yes(value), *arguments])
        np.testing.assert_array_equal(taken, expected)


def test_branches_of_different_sizes(device):
    models = Models()
    main = models.graph()
    condition, a = main.input(B8, (1,)), main.input(F32, (2,))
    short = models.graph()
    short.give(short.run(O.RELU, [short.input(F32, (2,))], (F32, ())))
    long = models.graph()
    x = long.input(F32, (2,))
    long.give(long.run(O.CONCATENATION, [x, x, long.constant(0, T.INT32)], (F32, ())))
    result = main.run(O.IF, [condition, main.model(short), main.model(long), a], (F32, ()))
    main.give(main.binary(O.ADD, result, main.constant([1], F32), ()))
    for value, expected in [(True, [1, 6]), (False, [0, 6, 0, 6])]:
        (taken,) = computed(device, models, main, [yes(value), floats(-1, 5)])
        np.testing.assert_array_equal(taken, expected)
    short_room = computed(device, models, main, [yes(False), floats(-1, 5)], room=12)
    assert short_room.status is ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
    assert short_room.output_shapes[0].dimensions in ((4,), ())


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("passed_on", [False, True])
def test_a_declared_size_wins_over_a_branch_without_data(device, value, passed_on):
    models = Models()
    main = models.graph()
    condition, a = main.input(B8, (1,)), main.input(F32, (2, 3))
    empty = models.graph()
    x = empty.input(F32, (2, 3))
    begin, size = empty.constant([0, 0], I32), empty.constant([2, 0], I32)
    empty.give(empty.run(O.SLICE, [x, begin, size], (F32, ())))
    whole = models.graph()
    whole.give(whole.run(O.RELU, [whole.input(F32, (2, 3))], (F32, ())))
    result = main.run(O.IF, [condition, main.model(empty), main.model(whole), a], (F32, (2, 3)))
    main.give(main.run(O.ABS, [result], (F32, (2, 3))) if passed_on else result)
    arguments = np.arange(6, dtype=np.float32).reshape(2, 3)
    (taken,) = computed(device, models, main, [yes(value), arguments])
    np.testing.assert_array_equal(taken, arguments * (not value))


def test_an_input_of_a_branch_may_be_empty(device):
    models = Models()
    main = models.graph()
    condition, a = main.input(B8, (1,)), main.input(F32, (2, 3))
    begin, size = main.constant([0, 0], I32), main.constant([0, 3], I32)
    empty = main.run(O.SLICE, [a, begin, size], (F32, ()))
    branches = []
    for kind in (O.ADD, O.SUB):
        branch = models.graph()
        x = branch.input(F32, (2, 3))
        branch.give(branch.binary(kind, x, x, ()))
        branches.append(main.model(branch))
    main.give(main.run(O.IF, [condition, *branches, empty], (F32, ())))
    (taken,) = computed(device, models, main, [yes(), np.ones((2, 3), np.float32)])
    assert taken.shape == (0, 3)


def failing(models):
    """A graph whose operation fails when it is reached: its activation does not exist."""
    graph = models.graph()
    a, b = (graph.input(F32, (2,)) for _ in range(2))
    return graph.give(graph.run(O.ADD, [a, b, graph.constant(99, T.INT32)], (F32, (2,))))


def test_a_branch_that_is_not_taken_does_not_fail(device):
    models = Models()
    main = models.graph()
    condition = main.input(B8, (1,))
    a, b = (main.input(F32, (2,)) for _ in range(2))
    branches = [main.model(failing(models)), main.model(arithmetic(models, O.SUB))]
    main.give(main.run(O.IF, [condition, *branches, a, b], (F32, (2,))))
    arguments = [floats(1, 2), floats(10, 20)]
    (taken,) = computed(device, models, main, [yes(False), *arguments])
    np.testing.assert_array_equal(taken, [-9, -18])
    with pytest.raises(NnapiError) as error:
        computed(device, models, main, [yes(), *arguments])
    assert error.value.code is ResultCode.OP_FAILED
    for word in ("IF (operation 0)", "then", "ADD (operation 0)", "99"):
        assert word in error.value.message
    assert error.value.message.count("IF (operation 0)") == 1


def test_a_constant_condition(device):
    models = Models()
    main = models.graph()
    a, b = (main.input(F32, (2,)) for _ in range(2))
    branches = [main.model(arithmetic(models, O.ADD)), main.model(failing(models))]
    condition = main.constant([1], B8)
    main.give(main.run(O.IF, [condition, *branches, a, b], (F32, (2,))))
    (taken,) = computed(device, models, main, [floats(1, 2), floats(10, 20)])
    np.testing.assert_array_equal(taken, [11, 22])


def counting(models, dimensions=(1,)):
    """Whether i < limit."""
    graph = models.graph()
    i, limit = graph.input(I32, (1,)), graph.input(I32, (1,))
    graph.input(F32, dimensions)
    return graph.give(graph.run(O.LESS, [i, limit], (B8, (1,))))


def powers(models, dimensions=(2,), grow=False):
    """i, limit, x -> i + 1, limit, 2 * x (or x twice, one behind the other)."""
    graph = models.graph()
    i, limit, x = (
        graph.input(I32, (1,)), graph.input(I32, (1,)), graph.input(F32, dimensions)
    )  # fmt: skip
    none = graph.constant(0, T.INT32)
    following = graph.run(O.ADD, [i, graph.constant([1], I32), none], (I32, (1,)))
    same = graph.run(O.ADD, [limit, graph.constant([0], I32), none], (I32, (1,)))
    if grow:
        doubled = graph.run(O.CONCATENATION, [x, x, none], (F32, dimensions))
    else:
        doubled = graph.binary(O.ADD, x, x, dimensions)
    return graph.give(following, same, doubled)


def loop(models, inner=(2,), outer=(2,), grow=False):
    main = models.graph()
    i, limit = main.input(I32, (1,)), main.input(I32, (1,))
    x = main.input(F32, (2,))
    graphs = [main.model(counting(models, inner)), main.model(powers(models, inner, grow))]
    results = main.run(
        O.WHILE, [*graphs, i, limit, x], (I32, (1,)), (I32, (1,)), (F32, outer)
    )  # fmt: skip
    return main.give(results[0], results[2]), results


def ints(*values):
    return np.array(values, np.int32)


@pytest.mark.parametrize("rounds", [0, 1, 2, 10])
@pytest.mark.parametrize("inner", [(2,), (0,), ()], ids=["known", "size", "rank"])
@pytest.mark.parametrize("outer", [(2,), (0,), ()], ids=["known", "size", "rank"])
def test_a_loop_of_fixed_shapes(device, rounds, inner, outer):
    models = Models()
    main, _ = loop(models, inner, outer)
    i, x = computed(device, models, main, [ints(0), ints(rounds), floats(1, -3)])
    assert i == max(rounds, 0)
    np.testing.assert_array_equal(x, floats(1, -3) * 2**rounds)


@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
@pytest.mark.parametrize("inner", [(0,), ()], ids=["size", "rank"])
def test_a_loop_whose_state_grows(device, rounds, inner):
    models = Models()
    main, _ = loop(models, inner, (), grow=True)
    i, x = computed(device, models, main, [ints(0), ints(rounds), floats(1, -3)])
    assert i == rounds
    np.testing.assert_array_equal(x, np.tile(floats(1, -3), 2**rounds))


def test_state_of_known_size_cannot_grow(device):
    models = Models()
    main, _ = loop(models, (2,), (2,), grow=True)
    arguments = [ints(0), ints(1), floats(1, 2)]
    with pytest.raises(NnapiError) as error:
        computed(device, models, main, arguments)
    assert error.value.code is ResultCode.OP_FAILED
    _, x = computed(device, models, main, [ints(0), ints(0), floats(1, 2)])
    np.testing.assert_array_equal(x, [1, 2])


def endless(models):
    graph = models.graph()
    x = graph.input(F32, (2,))
    return graph.give(graph.run(O.GREATER_EQUAL, [graph.constant([1], F32)] * 2, (B8, (1,)))), x


@pytest.mark.parametrize("dimensions", [(2,), ()], ids=["known", "unknown"])
@pytest.mark.parametrize("timeout", [0, SECOND // 100])
def test_a_loop_that_never_ends(device, dimensions, timeout):
    models = Models()
    main = models.graph()
    x = main.input(F32, (2,))
    body = models.graph()
    y = body.input(F32, dimensions)
    body.give(body.binary(O.MUL, y, y, dimensions))
    graphs = [main.model(endless(models)[0]), main.model(body)]
    main.give(main.run(O.WHILE, [*graphs, x], (F32, dimensions)))
    with pytest.raises(NnapiError) as error:
        computed(device, models, main, [floats(1, 1)], timeout)
    assert error.value.code is ResultCode.MISSED_DEADLINE_TRANSIENT
    assert "WHILE (operation 0)" in error.value.message


@pytest.mark.parametrize("sizes", [(2,), ()], ids=["known", "unknown"])
def test_loops_within_loops_and_branches(device, sizes):
    """Rounds i of 0, 1, 2, 3, each with i rounds of x += 1, or x -= 1 when x is above 2."""
    models = Models()
    inner = models.graph()
    j, i, x = inner.input(I32, (1,)), inner.input(I32, (1,)), inner.input(F32, sizes)
    none = inner.constant(0, T.INT32)
    following = inner.run(O.ADD, [j, inner.constant([1], I32), none], (I32, (1,)))
    same = inner.run(O.ADD, [i, inner.constant([0], I32), none], (I32, (1,)))
    first = inner.run(
        O.SLICE, [x, inner.constant([0], I32), inner.constant([1], I32)], (F32, (1,))
    )  # fmt: skip
    large = inner.run(O.GREATER, [first, inner.constant([2], F32)], (B8, (1,)))
    step = inner.constant([1], F32)
    branches = [inner.model(stepped(models, kind, sizes)) for kind in (O.SUB, O.ADD)]
    moved = inner.run(O.IF, [large, *branches, x, step], (F32, sizes))
    inner.give(following, same, moved)

    outer = models.graph()
    i, limit, x = outer.input(I32, (1,)), outer.input(I32, (1,)), outer.input(F32, sizes)
    none = outer.constant(0, T.INT32)
    graphs = [outer.model(counting(models, sizes)), outer.model(inner)]
    zero = outer.constant([0], I32)
    _, _, x = outer.run(
        O.WHILE, [*graphs, zero, i, x], (I32, (1,)), (I32, (1,)), (F32, sizes)
    )  # fmt: skip
    following = outer.run(O.ADD, [i, outer.constant([1], I32), none], (I32, (1,)))
    same = outer.run(O.ADD, [limit, zero, none], (I32, (1,)))
    outer.give(following, same, x)

    main = models.graph()
    i, limit, x = main.input(I32, (1,)), main.input(I32, (1,)), main.input(F32, (2,))
    graphs = [main.model(counting(models, sizes)), main.model(outer)]
    _, _, x = main.run(
        O.WHILE, [*graphs, i, limit, x], (I32, (1,)), (I32, (1,)), (F32, sizes)
    )  # fmt: skip
    main.give(x)
    expected, value = floats(0, 5), 0
    for i in range(4):
        for _ in range(i):
            step = -1 if value > 2 else 1
            value, expected = value + step, expected + step
    (x,) = computed(device, models, main, [ints(0), ints(4), floats(0, 5)])
    np.testing.assert_array_equal(x, expected)


def stepped(models, type, sizes):
    graph = models.graph()
    x, step = graph.input(F32, sizes), graph.input(F32, (1,))
    return graph.give(graph.binary(type, x, step, sizes))


def test_a_value_that_changes_shapes_in_a_loop(device):
    """Each round takes off the first element: SLICE with a size that the loop computes."""
    models = Models()
    condition = models.graph()
    n, zero = condition.input(I32, (1,)), condition.constant([1], I32)
    condition.input(F32, ())
    condition.give(condition.run(O.GREATER, [n, zero], (B8, (1,))))
    body = models.graph()
    n, x = body.input(I32, (1,)), body.input(F32, ())
    none, one = body.constant(0, T.INT32), body.constant([1], I32)
    shorter = body.run(O.SUB, [n, one, none], (I32, (1,)))
    rest = body.run(O.SLICE, [x, one, shorter], (F32, ()))
    body.give(shorter, rest)
    main = models.graph()
    n, x = main.input(I32, (1,)), main.input(F32, (5,))
    graphs = [main.model(condition), main.model(body)]
    _, x = main.run(O.WHILE, [*graphs, n, x], (I32, (1,)), (F32, ()))
    main.give(x)
    (left,) = computed(device, models, main, [ints(5), floats(1, 2, 3, 4, 5)])
    np.testing.assert_array_equal(left, [5])


def test_what_a_loop_reads_from_outside_survives_all_rounds(device):
    """A temporary computed before the loop is read in each round."""
    models = Models()
    main = models.graph()
    i, limit, x = main.input(I32, (1,)), main.input(I32, (1,)), main.input(F32, (64,))
    step = main.binary(O.MUL, x, x, (64,))
    condition = models.graph()
    c = condition.input(I32, (1,)), condition.input(F32, (64,)), condition.input(I32, (1,))
    condition.input(F32, (64,))
    condition.give(condition.run(O.LESS, [c[0], c[2]], (B8, (1,))))
    body = models.graph()
    j, y, _, s = (
        body.input(I32, (1,)), body.input(F32, (64,)),
        body.input(I32, (1,)), body.input(F32, (64,)),
    )  # fmt: skip
    following = body.run(
        O.ADD, [j, body.constant([1], I32), body.constant(0, T.INT32)], (I32, (1,))
    )  # fmt: skip
    part = body.binary(O.MUL, s, s, (64,))
    part = body.binary(O.SUB, part, s, (64,))
    body.give(following, body.binary(O.ADD, y, part, (64,)))
    graphs = [main.model(condition), main.model(body)]
    _, y = main.run(
        O.WHILE, [*graphs, i, x, limit, step], (I32, (1,)), (F32, (64,))
    )  # fmt: skip
    main.give(y)
    arguments = np.linspace(-1, 1, 64, dtype=np.float32)
    (y,) = computed(device, models, main, [ints(0), ints(7), arguments])
    square = arguments * arguments
    np.testing.assert_allclose(y, arguments + 7 * (square * square - square), rtol=1e-5, atol=1e-6)


def test_a_deadline_ends_a_loop(device):
    models = Models()
    main = models.graph()
    x = main.input(F32, (2,))
    body = models.graph()
    y = body.input(F32, (2,))
    body.give(body.binary(O.MUL, y, y, (2,)))
    graphs = [main.model(endless(models)[0]), main.model(body)]
    main.give(main.run(O.WHILE, [*graphs, x], (F32, (2,))))
    arguments, result = floats(1, 1), floats(0, 0)
    request = Request(
        (RequestArgument(arguments.ctypes.data, 8, (2,)),),
        (RequestArgument(result.ctypes.data, 8, (2,)),),
    )
    from time import monotonic_ns

    ready, code = prepared(device, models, main), ResultCode.MISSED_DEADLINE_PERSISTENT
    while code is ResultCode.MISSED_DEADLINE_PERSISTENT:  # the machine was busy for so long
        with pytest.raises(NnapiError) as error:
            ready.execute(request, False, monotonic_ns() + SECOND // 2, 15 * SECOND)
        code = error.value.code
    assert code is ResultCode.MISSED_DEADLINE_TRANSIENT
