"""Operations with equal keys are lowered once: the programs are those of lowering each of them."""

from contextlib import suppress
from operator import attrgetter
from struct import pack, unpack

import pytest

from nnapi_shim import address
from nnapi_shim.drivers.cpu.compile import kinds, operand_table
from nnapi_shim.drivers.cpu.compile.graph_lowering import GraphLowering
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.lowering.half_precision import MIN_BYTES, can_halve
from nnapi_shim.drivers.cpu.program.record import Buffer
from nnapi_shim.hal.enums import (
    ExecutionPreference,
    OperandLifeTime,
    OperandType,
    OperationType,
    Priority,
)
from nnapi_shim.hal.types import (
    DataLocation,
    Model,
    Operand,
    Operation,
    Subgraph,
    SymmPerChannelQuantParams,
)
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from tests.bench.bench_compiling import many, single
from tests.operations.cases import USES
from tests.random_models.generator import random_model
from tests.random_models.graph import assemble
from tests.random_models.rewrites.mutating import mutated

T, O, L = OperandType, OperationType, OperandLifeTime  # noqa: E741
HOW = ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
LOWER = GraphLowering._lower
USES_OF = {type: [use for use in USES if use.operation.type is type] for type in O}


class Everything(set):
    """Contains everything: each operation is looked up and kept, also the first of its kind."""

    def __contains__(self, _):
        return True


def program_of(model):
    """As `compiled`; the second of two operations is a repetition."""

    def lower(self, item):
        self._seen = Everything()
        LOWER(self, item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphLowering, "_lower", lower)
        return compiled(model)


def compiled(model):
    """What the device compiles a model to: words and patches without addresses of this process, the
    contents of packed Buffers, the memory, the shapes, the error. None: the run lowers it.
    """
    segment = CpuDevice().prepareModel(model, *HOW)._usual
    if segment is None:
        return None
    outcome = str(segment.failure), segment.shapes, segment.needed, str(segment.suspension)
    program = segment.program
    if program is None:
        return outcome
    words = [*unpack(f"<{len(program.template) // 8}q", program.template)]
    targets = []
    for at, target, offset in program.fixed:
        check_address(words[at] - offset, target, segment.lowering)
        words[at] = 0
        if isinstance(target, Buffer):
            target = address.read(target.address, target.length)
        targets.append((at, target, offset))
    origins = [(str(where), step.complaint) for where, step in program.origins]
    return outcome, words, program.patch_bytes, targets, program.arena_bytes, origins


def check_address(where, target, lowering):
    """That an address is the one of its target, as in Program.fixed."""
    if isinstance(target, bytes):
        assert address.read(where, len(target)) == target
    elif isinstance(target, str):
        assert where == lowering.library.address(target)
    elif isinstance(target, Buffer):
        assert where == target.address
    else:
        assert where == lowering.operands.constant_addresses[target]


def without_repetition(model):
    """As `program_of`, each operation lowered for itself."""

    def lower(self, item):
        self._lowered.clear()
        LOWER(self, item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphLowering, "_lower", lower)
        return compiled(model)


def repeating_a_twin(model):
    """As `program_of`, each operation a repetition of a twin: the same operation of copies of its
    operands, which have other indexes.
    """

    def lower(self, item):
        operands = self.operands
        count, steps = len(operands.declared), len(self.steps)
        twins = {index: operands.append(operands.declared[index]) for index in item_operands(item)}
        for index, twin in twins.items():
            for table in (operands.constant_addresses, operands.values, operands.aliases):
                if index in table:
                    table[twin] = table[index]
            if index in operands._absent:
                operands._absent.add(twin)
            operands._bound[twin] = copy = operands.bound(index).copy()
            copy.index, copy.value = twin, operands.bound(index).value
        inputs, outputs = (tuple(map(twins.get, them)) for them in (item.inputs, item.outputs))
        self._lowered.clear()
        if self._kinds is not None:
            self._kinds.forget()
        self._seen = Everything()
        try:
            LOWER(self, item._replace(inputs=inputs, outputs=outputs))
        except Exception:
            self._lowered.clear()
        kept = [*self._lowered]
        for twin in twins.values():
            operands.values.pop(twin, None)
        operands.truncate(count, ())
        del self.steps[steps:]
        LOWER(self, item)
        assert not kept or [*self._lowered] == kept

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphLowering, "_lower", lower)
        return compiled(model)


def item_operands(item):
    return dict.fromkeys((*item.inputs, *item.outputs))


@pytest.mark.parametrize("seeds", [range(at, at + 50) for at in range(0, 300, 50)], ids=str)
def test_programs_of_random_models(seeds):
    compared = 0
    for seed in seeds:
        graph = random_model(seed)
        model = assemble(graph, graph.ends()).model
        expected = without_repetition(model)
        assert program_of(model) == expected, seed
        assert repeating_a_twin(model) == expected, seed
        compared += expected is not None
    assert compared > len(seeds) // 3


@pytest.mark.parametrize("type", [type for type in O if USES_OF[type]], ids=lambda it: it.name)
def test_programs_of_each_operation(type):
    model = next(filter(None, map(single, reversed(USES_OF[type]))))
    for chained in (False, True):
        repeating = many(model, 3, chained)
        expected = without_repetition(repeating)
        assert program_of(repeating) == expected
        assert repeating_a_twin(repeating) == expected


def test_a_third_operation_is_not_lowered(monkeypatch):
    counted = []
    real = operand_table.Use.operation
    monkeypatch.setattr(
        operand_table.Use, "operation", lambda *them: counted.append(0) or real(*them)
    )
    sketch = Sketch()
    for _ in range(5):
        sketch.apply(O.NEG, [sketch.input(F32, 3)], F32, 3)
    compiled(sketch.model())
    assert len(counted) == 2  # the second one is kept


def test_the_key_has_everything_that_lowering_reads():
    assert {*kinds.KEYED, "index"} == {*BoundOperand.__slots__}
    # Contents decide about values; the signature and the operands about the rest.
    assert {*BoundOperation.__annotations__} == {
        *("variant", "match", "outputs", "sources"),
        "indexes",  # for messages
    }


# A part of the key that is left out


F32, U8, I32 = Operand(T.TENSOR_FLOAT32), Operand(T.TENSOR_QUANT8_ASYMM, (), 0.5, 3), T.INT32


class Sketch:
    """A model in the making."""

    def __init__(self):
        self.operands, self.operations, self.values = [], [], b""
        self.inputs, self.outputs = [], []

    def _add(self, operand, dimensions, lifetime, **others):
        operand = operand._replace(dimensions=dimensions, lifetime=lifetime, **others)
        self.operands.append(operand)
        return len(self.operands) - 1

    def input(self, operand, *dimensions):
        self.inputs.append(self._add(operand, dimensions, L.SUBGRAPH_INPUT))
        return self.inputs[-1]

    def constant(self, operand, dimensions, data):
        location = DataLocation(0, len(self.values), len(data))
        self.values += data
        return self._add(operand, dimensions, L.CONSTANT_COPY, location=location)

    def number(self, value):
        return self.constant(Operand(I32), (), pack("<i", value))

    def real(self, value):
        return self.constant(Operand(T.FLOAT32), (), pack("<f", value))

    def apply(self, type, inputs, operand, *dimensions, temporary=False):
        lifetime = L.TEMPORARY_VARIABLE if temporary else L.SUBGRAPH_OUTPUT
        output = self._add(operand, dimensions, lifetime)
        if not temporary:
            self.outputs.append(output)
        self.operations.append(Operation(type, tuple(inputs), (output,), len(self.operations)))
        return output

    def model(self, relaxed=False):
        graph = Subgraph(*map(tuple, (self.operands, self.operations, self.inputs, self.outputs)))
        return Model(
            graph,
            operand_values=self.values,
            relax_computation_float32_to_float16=relaxed,
        )


def dimensions():
    sketch = Sketch()
    for size in (3, 70):
        sketch.apply(O.NEG, [sketch.input(F32, size)], F32, size)
    return sketch.model()


def scale():
    sketch = Sketch()
    for scale in (0.5, 0.25):
        sketch.apply(O.DEQUANTIZE, [sketch.input(U8._replace(scale=scale), 3)], F32, 3)
    return sketch.model()


def zero_point():
    sketch = Sketch()
    for zero_point in (0, 7):
        sketch.apply(O.DEQUANTIZE, [sketch.input(U8._replace(zero_point=zero_point), 3)], F32, 3)
    return sketch.model()


def channel_quant():
    sketch = Sketch()
    for scale in (0.5, 0.25):
        quant = SymmPerChannelQuantParams((scale, 1.0), 0)
        filter = Operand(T.TENSOR_QUANT8_SYMM_PER_CHANNEL, channel_quant=quant)
        inputs = [sketch.input(U8, 1, 2, 2, 1), sketch.input(filter, 2, 1, 1, 1)]
        inputs.append(sketch.input(Operand(T.TENSOR_INT32), 2))
        inputs += map(sketch.number, (1, 1, 1, 0))
        sketch.apply(O.CONV_2D, inputs, U8._replace(scale=5.0), 1, 2, 2, 2)
    return sketch.model()


def is_model_output():
    """A temporary takes the scale of the input; an output of the model must declare it."""
    sketch = Sketch()
    other = U8._replace(scale=1.0)
    inner = sketch.apply(O.RELU, [sketch.input(U8, 3)], other, 3, temporary=True)
    sketch.apply(O.RELU, [inner], U8, 3)
    sketch.apply(O.RELU, [sketch.input(U8, 3)], other, 3)
    return sketch.model()


def value():
    """Weights in the range of float16 are packed as float16, others not."""
    sketch = Sketch()
    size = int((MIN_BYTES // 4) ** 0.5)
    for weight in (0.5, 1e30):
        filter = sketch.constant(F32, (size, size), pack("<f", weight) * size * size)
        inputs = [sketch.input(F32, 1, size), filter, sketch.input(F32, size), sketch.number(0)]
        sketch.apply(O.FULLY_CONNECTED, inputs, F32, 1, size)
    return sketch.model(relaxed=True)


def contents():
    sketch = Sketch()
    for beta in (1.0, 2.0):
        sketch.apply(O.SOFTMAX, [sketch.input(F32, 2, 3), sketch.real(beta)], F32, 2, 3)
    return sketch.model()


def extension_data():
    """A RELU that a pass has moved, and a fused activation, treat NaN differently."""
    sketch = Sketch()
    for is_moved in (False, True):
        inputs = [sketch.input(F32, 3), sketch.input(F32, 3), sketch.number(1 - is_moved)]
        total = sketch.apply(O.ADD, inputs, F32, 3, temporary=is_moved)
        if is_moved:
            sketch.apply(O.RELU, [total], F32, 3)
    return sketch.model()


def is_constant():
    """Constant weights are packed at compilation, others in a run."""
    sketch = Sketch()
    bias = sketch.constant(F32, (2,), bytes(8))
    for filter in (sketch.input(F32, 2, 3), sketch.constant(F32, (2, 3), bytes(24))):
        inputs = [sketch.input(F32, 9, 3), filter, bias, sketch.number(0)]
        sketch.apply(O.FULLY_CONNECTED, inputs, F32, 9, 2)
    return sketch.model()


def same_operand():
    sketch = Sketch()
    x, y = sketch.input(F32, 3), sketch.input(F32, 3)
    for inputs in ((x, x), (x, y)):
        sketch.apply(O.MUL, [*inputs, sketch.number(0)], F32, 3)
    return sketch.model()


ATTRIBUTES = (dimensions, scale, zero_point, channel_quant, is_model_output, value)
MUTATIONS = {
    contents: ("self._number(operands.contents(index))", "0"),
    extension_data: (
        "self._number(operands.contents(index))",
        "self._number(operands.contents(index)[:2])",
    ),
    is_constant: ("self._number((is_constant, ", "self._number((None, "),
    same_operand: ("key += [first.setdefault(index, at)", "first = [0"),
}


@pytest.mark.parametrize("example", ATTRIBUTES, ids=lambda each: each.__name__)
def test_each_attribute_is_needed(example, monkeypatch):
    if example is value and not can_halve():
        pytest.skip("the kernels of this processor have no weights of float16")
    model = example()
    expected = without_repetition(model)
    assert program_of(model) == expected
    others = [name for name in kinds.KEYED if name != example.__name__]
    monkeypatch.setattr(kinds, "_attributes", attrgetter(*others))
    assert program_of(model) != expected


@pytest.mark.parametrize("example", MUTATIONS, ids=lambda each: each.__name__)
def test_each_part_of_the_key_is_needed(example):
    model = example()
    expected = without_repetition(model)
    assert program_of(model) == expected
    with mutated(kinds.__name__, *MUTATIONS[example]), suppress(KeyError, IndexError):
        assert program_of(model) != expected
