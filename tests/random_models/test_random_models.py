"""Two hundred random models, and proof that the comparison notices what is wrong."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nnapi_shim import address
from nnapi_shim.drivers.cpu import lowering
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering.activation import lower_relu6
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import (
    OperandLifeTime,
    OperandType,
    OperationType,
    PaddingCode,
    ResultCode,
)
from tests.random_models import dying, real_numbers
from tests.random_models.closeness import Difference, close
from tests.random_models.comparison import check
from tests.random_models.generator import OPERATIONS, Sizes, random_model
from tests.random_models.graph import COMPUTED, Node, types_named
from tests.random_models.minimise import minimal
from tests.random_models.workers import Models, results
from tests.single import f32, i32, qu8, scalar, valued

MODELS = 200
NUMERIC = types_named("ADD RELU RESHAPE SLICE TILE TRANSPOSE")
"""Few operations: their kernels are there soon where the library is not built."""

DIVISION = types_named("DIV ABS")
"""DIV has a type that is accepted and always fails."""


@pytest.mark.parametrize("special", [pytest.param(False, marks=pytest.mark.slow), True])
@settings(
    max_examples=MODELS,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    operations=st.integers(1, 12),
    largest=st.sampled_from((1, 2, 3, 5, 8, 17, 64)),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_devices_agree(special, operations, largest, seed):
    graph = random_model(seed, Sizes(operations, largest), special=special)
    try:
        check(graph, CpuDevice(), ReferenceDevice())
    except Difference as error:
        raise AssertionError(f"{error}\n{graph.shown()}") from None


# The models


def test_a_seed_always_gives_the_same_model():
    for seed in range(20):
        assert random_model(seed).shown() == random_model(seed).shown()


def test_fewer_operations_are_the_beginning():
    for seed in range(10):
        few, many = (random_model(seed, Sizes(count, 8)) for count in (3, 6))
        for one, other in zip(few.nodes, many.nodes, strict=False):
            assert (one.type, one.inputs, one.outputs) == (other.type, other.inputs, other.outputs)


def test_every_operation_occurs():
    seen = Counter()
    for seed in range(400):
        seen.update(random_model(seed, Sizes(8, 3)).operations())
    assert seen.keys() == set(OPERATIONS)


def test_edges_occur():
    actual = Counter()
    for seed in range(120):
        for item in random_model(seed, Sizes(4, 5), special=True).items:
            array, scale = item.value.array, item.value.operand.scale
            actual["small scale"] += 0 < scale < 2.0**-20
            actual["large scale"] += scale > 2.0**10
            if item.kind == COMPUTED or array is None or array.dtype != np.float32:
                continue
            actual["NaN"] += np.isnan(array).any()
            actual["infinity"] += np.isinf(array).any()
            actual["subnormal"] += (np.abs(array[array != 0]) < 2.0**-126).any()
            actual["largest"] += (np.abs(array) == np.finfo(np.float32).max).any()
            actual["minus zero"] += (np.signbit(array) & (array == 0)).any()
    assert min(actual.values()) > 3
    assert len(actual) == 7


# The comparison


class Spoiled(CpuDevice):
    """A CPU device that makes a mistake in some runs."""

    def __init__(self, spoil, where=lambda graph: True):
        self.spoil = spoil
        self.where = where

    def prepareModel(self, model, *others):
        prepared = super().prepareModel(model, *others)
        return SpoiledModel(prepared, self.spoil) if self.where(model.main) else prepared


class SpoiledModel:
    def __init__(self, prepared, spoil):
        self.prepared = prepared
        self.spoil = spoil

    def createReusableExecution(self, request, *others):
        execution = self.prepared.createReusableExecution(request, *others)
        return SpoiledExecution(execution, request, self.spoil)


class SpoiledExecution:
    def __init__(self, execution, request, spoil):
        self.execution = execution
        self.request = request
        self.spoil = spoil

    def compute(self, deadline_ns):
        return self.spoil(self.request, lambda: self.execution.compute(deadline_ns))


def flip(argument, position):
    """Change the sign bit, or what it is in other types, of an element."""
    address.view(argument.address + position, 1)[0] = bytes(
        [address.read(argument.address + position, 1)[0] ^ 0x80]
    )


def wrong_value(request, compute):
    result = compute()
    for argument in request.outputs:
        if argument.length:
            flip(argument, argument.length - 1)
    return result


def past_the_end(request, compute):
    result = compute()
    flip(request.outputs[0], request.outputs[0].length)
    return result


def changed_input(request, compute):
    result = compute()
    for argument in request.inputs:
        if argument.length:
            flip(argument, 0)
    return result


def other_dimensions(request, compute):
    result = compute()
    shapes = [
        shape._replace(dimensions=(*shape.dimensions[:-1], shape.dimensions[-1] - 1))
        if shape.dimensions and shape.dimensions[-1]
        else shape
        for shape in result.output_shapes
    ]
    return result._replace(output_shapes=shapes)


def no_error(request, compute):
    raise NnapiError(ResultCode.OP_FAILED, "no reason")


def has_temporaries(graph):
    return any(o.lifetime is OperandLifeTime.TEMPORARY_VARIABLE for o in graph.operands)


@pytest.mark.parametrize(
    ("spoil", "where", "message"),
    [
        (wrong_value, lambda graph: True, r"operation \d+, output \d+ of .* elements differ"),
        (wrong_value, has_temporaries, "with fewer outputs nnapi-cpu gives something else"),
        (past_the_end, lambda graph: True, "written outside of the outputs"),
        (changed_input, lambda graph: graph.input_indexes, "changed an input"),
        (other_dimensions, lambda graph: True, "has dimensions|outside of the outputs"),
        (no_error, lambda graph: True, "OP_FAILED, no reason"),
    ],
)
def test_a_wrong_device_is_caught(spoil, where, message):
    device = Spoiled(spoil, where)
    messages = []
    for seed in range(12):
        graph = random_model(seed, Sizes(5, 5), NUMERIC)
        try:
            check(graph, device, ReferenceDevice())
        except Difference as error:
            messages.append(str(error))
    assert messages
    for text in messages:
        assert re.search(message, text)


def test_a_wrong_operation_is_found_in_a_large_model(monkeypatch):
    monkeypatch.setitem(lowering._lowerings, OperationType.RELU, lower_relu6)
    cpu, reference = CpuDevice(), ReferenceDevice()
    actual = 0
    for seed in range(20):
        graph = random_model(seed, Sizes(12, 5), NUMERIC)
        try:
            check(graph, cpu, reference)
        except Difference as error:
            smallest, difference = minimal(graph, error, lambda part: check(part, cpu, reference))
            assert [node.type for node in smallest.nodes] == [OperationType.RELU]
            assert "RELU" in str(difference)
            actual += 1
    assert actual


def test_a_wrong_result_code_is_caught():
    class Confused(CpuDevice):
        def prepareModel(self, model, *others):
            prepared = super().prepareModel(model, *others)
            return SpoiledModel(prepared, other_code)

    def other_code(request, compute):
        try:
            return compute()
        except NnapiError as error:
            raise NnapiError(ResultCode.OUT_OF_MEMORY, error.message) from None

    failing = [random_model(seed, Sizes(3, 3), DIVISION) for seed in range(40)]
    failing = [graph for graph in failing if graph.failing]
    assert failing
    for graph in failing:
        check(graph, CpuDevice(), ReferenceDevice())
        with pytest.raises(Difference, match=r"OUT_OF_MEMORY.*; nnapi-reference with OP_FAILED"):
            check(graph, Confused(), ReferenceDevice())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(np.inf, 3.4028235e38), (np.inf, -np.inf), (np.nan, 0), (0, np.nan), (np.nan, np.inf)],
)
@pytest.mark.parametrize("special", [False, True])
def test_what_is_not_finite_has_to_be_the_same(special, ours, theirs):
    node = Node(OperationType.CONV_2D, (), ())
    tensors = [f32([[[[1]]]]), f32([[[[1]]]]), f32([0])]
    inputs = [*tensors, *map(valued, (PaddingCode.VALID, 1, 1, 0))]
    one, other = (np.full((1, 1, 1, 1), number, np.float32) for number in (ours, theirs))
    close(node, inputs, [f32()], [one], [one], special)
    with pytest.raises(Difference):
        close(node, inputs, [f32()], [one], [other], special)


def test_what_the_order_of_additions_decides_is_left_open():
    node = Node(OperationType.REDUCE_SUM, (), ())
    rest = [i32([0]), valued(False)]
    one, other = np.float32([np.nan]), np.float32([3e38])
    close(node, [f32([3e38, 3e38, -3e38]), *rest], [f32()], [one], [other], True)
    with pytest.raises(Difference):
        close(node, [f32([1e38, 1e38, 1e38]), *rest], [f32()], [one], [other], True)


def test_one_step_is_a_difference():
    node = Node(OperationType.ADD, (), ())
    inputs = [qu8([10]), qu8([1]), valued(0)]
    with pytest.raises(Difference, match=r"uint8\(11\), expected np.uint8\(12\)"):
        close(node, inputs, [qu8()], [np.uint8([11])], [np.uint8([12])])


def test_a_process_that_dies_is_a_failure():
    actual = {done.seed: done.failure for done in results(range(1, 7), 2, Models(()), dying.work)}
    died = "the process ended: 7"
    assert actual == {1: "", 2: "", 3: died, 4: "", 5: "", 6: died}


def test_a_quantized_result_that_both_devices_get_wrong_is_caught():
    node = Node(OperationType.ADD, (), ())
    inputs = [qu8([10, 20], 0.5, 3), qu8([1], 0.25, 0), scalar(OperandType.INT32, 0)]
    output = qu8(None, 0.5, 100)
    right = np.uint8([108, 118])  # 3.5 + 0.25 = 3.75; 8.5 + 0.25 = 8.75; / 0.5 + 100
    real_numbers.check(node, inputs, [output], [right])
    with pytest.raises(real_numbers.Far, match=r"1.5 steps .* at \[1\]: 120, expected 117.5"):
        real_numbers.check(node, inputs, [output], [np.uint8([108, 120])])
