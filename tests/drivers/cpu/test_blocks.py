"""Programs that are assembled block by block are those that are assembled step by step."""

import random
from contextlib import contextmanager, suppress
from struct import pack

import numpy as np
import pytest

from nnapi_shim.drivers.cpu import passes
from nnapi_shim.drivers.cpu.compile import blocks, graph_lowering, repeated, shape
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program import memory_planner
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.types import (
    CacheHandles,
    DataLocation,
    Model,
    Operand,
    Operation,
    Subgraph,
    byte_size,
)
from tests.bench.bench_compiling import many, single
from tests.drivers.cpu.test_repeated import USES_OF, Sketch, compiled, without_repetition
from tests.random_models.rewrites.mutating import mutated
from tests.single import Built, run

T, O, L = OperandType, OperationType, OperandLifeTime  # noqa: E741


@contextmanager
def assembled(by_blocks, left_out=frozenset()):
    """Assemble all programs by blocks where that is allowed, or none; yields how many are. The
    planner does no more than its scan, as for large programs.

    left_out: the passes that are.
    """
    counted = []
    real = blocks.assembled

    def counting(*them):
        program = real(*them)
        counted.extend([program] * (program is not None))
        return program

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_lowering, "MANY", 1 if by_blocks else 1 << 62)
        patch.setattr(memory_planner, "_COMPARISONS", 0)
        patch.setattr(blocks, "assembled", counting)
        patch.setattr(passes, "left_out", lambda: left_out)
        yield counted


def both(model, left_out=frozenset()):
    """What a model is compiled to with each operation lowered for itself, and block by block; how
    many programs are the latter. left_out: the passes that are.
    """
    with assembled(False, left_out):
        expected = without_repetition(model)
    with assembled(True, left_out) as counted:
        return expected, compiled(model), len(counted)


def variants(type):
    """A model of one operation for each of its types."""
    ones = {use.variant: use for use in USES_OF[type]}
    return {variant: one for variant, use in ones.items() if (one := single(use)) is not None}


@pytest.mark.parametrize("type", [type for type in O if USES_OF[type]], ids=lambda it: it.name)
def test_repetitions_of_each_operation(type):
    for one in variants(type).values():
        for chained in (False, True):
            expected, actual, _ = both(many(one, 5, chained))
            assert actual == expected


SEVERAL_STEPS = (
    *(O.LSTM, O.RNN, O.UNIDIRECTIONAL_SEQUENCE_LSTM, O.BIDIRECTIONAL_SEQUENCE_LSTM, O.SVDF),
    *(O.UNIDIRECTIONAL_SEQUENCE_RNN, O.BIDIRECTIONAL_SEQUENCE_RNN, O.GROUPED_CONV_2D),
    O.DETECTION_POSTPROCESSING,
)


@pytest.mark.parametrize("type", SEVERAL_STEPS, ids=lambda it: it.name)
def test_operations_of_several_steps_are_blocks(type):
    for one in variants(type).values():
        for chained in (False, True):
            assert both(many(one, 5, chained))[2] == 1


# Models of several operations


class Mixture:
    """A model of random repetitions of several operations, each of whose inputs may be a result of
    an earlier one, or constant.
    """

    def __init__(self, seed, kinds):
        self._random = random.Random(seed)
        self._operands, self._operations, self._values = [], [], b""
        self._results = {}
        few = self._random.sample(kinds, self._random.randint(1, 3))
        for _ in range(self._random.randint(12, 60)):
            self._repeat(self._random.choice(few))
        self.model = self._model()

    def _repeat(self, one):
        (item,) = one.main.operations
        inputs = [self._input(one, one.main.operands[index]) for index in item.inputs]
        outputs = []
        for index in item.outputs:
            operand = one.main.operands[index]
            is_kept = self._random.random() < 0.1
            lifetime = L.SUBGRAPH_OUTPUT if is_kept else L.TEMPORARY_VARIABLE
            self._operands.append(operand._replace(lifetime=lifetime))
            outputs.append(len(self._operands) - 1)
        for output in outputs:
            self._results.setdefault(self._operands[output][:4], []).append(output)
        number = len(self._operations)
        self._operations.append(Operation(item.type, tuple(inputs), tuple(outputs), number))

    def _input(self, one, operand):
        known = self._results.setdefault(operand[:4], [])
        if operand.lifetime is L.CONSTANT_COPY:
            at, length = operand.location.offset, operand.location.length
            operand = operand._replace(location=DataLocation(0, len(self._values), length))
            is_number = operand.type in (T.INT32, T.TENSOR_INT32, T.FLOAT32, T.FLOAT16, T.BOOL)
            data = one.operand_values[at : at + length]
            self._values += data if is_number else self._random.randbytes(length)
        elif operand.lifetime is not L.NO_VALUE:
            if known and self._random.random() < 0.6:
                return self._random.choice(known[-6:])
            operand = operand._replace(lifetime=L.SUBGRAPH_INPUT)
        self._operands.append(operand)
        if operand.lifetime is L.SUBGRAPH_INPUT:
            known.append(len(self._operands) - 1)
        return len(self._operands) - 1

    def _model(self):
        inputs, outputs = (
            tuple([at for at, it in enumerate(self._operands) if it.lifetime is lifetime])
            for lifetime in (L.SUBGRAPH_INPUT, L.SUBGRAPH_OUTPUT)
        )
        graph = Subgraph(tuple(self._operands), tuple(self._operations), inputs, outputs)
        return Model(graph, operand_values=self._values)


TYPES = (
    *((O.RNN, "f32"), (O.RNN, "f16"), (O.GROUPED_CONV_2D, "qu8"), (O.SVDF, "f16")),
    *((O.NEG, "f32"), (O.FULLY_CONNECTED, "f32"), (O.BIDIRECTIONAL_SEQUENCE_RNN, "f32")),
)


@pytest.fixture(scope="module")
def kinds():
    """Models of one operation each."""
    ones = [variants(type)[variant] for type, variant in TYPES]
    rnn, grouped = ones[0], ones[2]
    state = rnn.main.operands[rnn.main.operations[0].inputs[4]]
    packed = [with_constants(rnn, 1, 3), with_constants(grouped, 1, 2)]
    return [*ones, *packed, with_constants(rnn, 3), with_constants(grouped, 2), *others(state)]


def others(state):
    """An operation that gives the memory of its input another name, and one of several tiles."""
    sketch = Sketch()
    sizes = sketch.constant(Operand(T.TENSOR_INT32), (2,), pack("<2i", *state.dimensions))
    inputs = [sketch.input(state, *state.dimensions), sizes]
    sketch.apply(O.RESHAPE, inputs, state, *state.dimensions)
    yield sketch.model()
    sketch = Sketch()
    tall = Operand(T.TENSOR_FLOAT32)
    inputs = [sketch.input(tall, 4096, 64), sketch.real(1.0)]
    sketch.apply(O.SOFTMAX, inputs, tall, 4096, 64)
    yield sketch.model()


def with_constants(one, *positions):
    """The model with some of its inputs constant."""
    main = one.main
    operands, data = [*main.operands], one.operand_values
    indexes = [main.operations[0].inputs[at] for at in positions]
    for index in indexes:
        location = DataLocation(0, len(data), byte_size(operands[index]))
        operands[index] = operands[index]._replace(lifetime=L.CONSTANT_COPY, location=location)
        data += bytes(location.length)
    inputs = tuple([it for it in main.input_indexes if it not in indexes])
    main = main._replace(operands=tuple(operands), input_indexes=inputs)
    return one._replace(main=main, operand_values=data)


SEEDS = range(120)
ALL = frozenset(passes.NAMES)


def test_mixtures(kinds):
    counted = 0
    for seed in SEEDS:
        expected, actual, count = both(Mixture(seed, kinds).model, ALL)
        assert actual == expected, seed
        counted += count
    assert counted > len(SEEDS) // 2


MUTATIONS = [
    (blocks, "key = block.shape, tuple(begun),", "key = block.shape,"),
    (blocks, "scan.size, tuple(scan.free), tuple(ending)", "scan.size, tuple(ending)"),
    (blocks, "tuple(scan.free), tuple(ending)", "tuple(scan.free)"),
    (blocks, "if last >= end:\n                insort", "if last > end:\n                insort"),
    (blocks, "del scan.ends[: len(ending)]", "pass"),
    (blocks, "if aliases:", "if False:"),
    (blocks, "words[word + at] = pairs[2 * position + 1] + offset", "pass"),
    (shape, "step.tiles, 0, END", "1, 0, END"),
    (repeated, "and not any(step.in_place for step in scheduled)", ""),
    (repeated, "and _are_packed_for_all(steps, scheduled)", ""),
]


@pytest.mark.parametrize("module, old, new", MUTATIONS)
def test_mutations_are_found(kinds, module, old, new):
    """That is: programs differ, or none is made."""
    with suppress(Exception), mutated(module.__name__, old, new):
        for seed in SEEDS:
            expected, actual, _ = both(Mixture(seed, kinds).model, ALL)
            if actual != expected:
                return
        pytest.fail("the programs are equal")


def test_passes_that_act_on_repetitions_are_found():
    """Products of small cells run in parallel."""
    (one,) = variants(O.QUANTIZED_LSTM).values()
    model = many(one, 5, False)
    expected, actual, count = both(model)
    assert (actual, count) == (expected, 0)
    with mutated(passes.__name__, "and each.if_repeated(schedule)", "and False"):
        assert both(model)[1] != expected


class Caching:
    """The device, with a folder for compiled models."""

    def __init__(self, folder):
        self._handles = CacheHandles(str(folder), bytes(32))

    def prepareModel(self, model, preference, priority, deadline_ns, _):
        return CpuDevice().prepareModel(model, preference, priority, deadline_ns, self._handles)


def test_blocks_run_and_are_cached(tmp_path):
    model = many(with_constants(variants(O.RNN)["f32"], 3), 40, True)
    main, rng = model.main, np.random.default_rng(0)
    sizes = [main.operands[index].dimensions for index in main.input_indexes]
    built = Built(model, [rng.standard_normal(size).astype(np.float32) for size in sizes])
    with assembled(False):
        expected = run(CpuDevice(), built)
    with assembled(True) as counted:
        actual = [run(Caching(tmp_path), built) for _ in range(2)]
    assert len(counted) == 1  # the second is loaded
    for results in actual:
        np.testing.assert_equal(results, expected)


def test_an_error_in_a_block_names_its_operation():
    sketch, arrays = Sketch(), []
    x, whole = Operand(T.TENSOR_FLOAT32), Operand(T.TENSOR_INT32)
    axis = sketch.number(0)
    for number in range(40):
        inputs = [sketch.input(x, 4, 2), axis, sketch.input(whole, 3)]
        sketch.apply(O.GATHER, inputs, x, 3, 2)
        arrays += np.ones((4, 2), np.float32), np.int32([0, 1, 9 if number == 30 else 3])
    with assembled(True) as counted, pytest.raises(NnapiError, match=r"GATHER \(operation 30\)"):
        run(CpuDevice(), Built(sketch.model(), arrays))
    assert len(counted) == 1
