"""What concerns more than one operator: states, graphs that run graphs, names, free dimensions."""

import pkgutil
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from nnapi_shim import Compilation, NnapiError, load
from nnapi_shim.formats.tflite import importing
from nnapi_shim.formats.tflite.file import read
from nnapi_shim.formats.tflite.importing.table import FAMILIES, LOWERINGS, REASONS, why_not
from nnapi_shim.formats.tflite.schema import names
from tests.formats.tflite.building import Building, Spec
from tests.formats.tflite.cases import F, f32, i32, s8
from tests.formats.tflite.running import DEVICES, Litert, assert_same, compare, model_of

UNITS, SIZE = 3, 4


def state(*shape: int, type: str = "FLOAT32", scale: float = 0.0) -> Spec:
    return Spec(type, shape, scale, is_variable=True)


def test_families_are_those_of_the_table() -> None:
    folder = f"{importing.__name__}."
    assert len(FAMILIES) > 15
    for family, operators in FAMILIES.items():
        assert [*import_module(folder + family).LOWERINGS] == operators.split()
    every = {module.name for module in pkgutil.iter_modules(importing.__path__)}
    others = {name for name in every if hasattr(import_module(folder + name), "LOWERINGS")} - {
        "table",
        *FAMILIES,
    }
    assert not others


def test_every_operator_is_decided() -> None:
    known = set(names("BuiltinOperator").values()) - {"CUSTOM"}
    both = known & LOWERINGS.keys() & REASONS.keys()
    assert not both
    undecided = [
        name
        for name in known - LOWERINGS.keys() - REASONS.keys()
        if "does not know" in why_not(name, False)
    ]
    assert not undecided
    assert (
        not (LOWERINGS.keys() | REASONS.keys())
        - known
        - {
            "CUSTOM",
            "DISPATCH_OP",
            "Convolution2DTransposeBias",
            "TFLite_Detection_PostProcess",
        }
    )


# States


def recurrent(
    name: str, inputs: list[Any], shapes: list[tuple[int, ...]], kind: str, **fields: Any
) -> bytes:
    made = Building()
    numbers = []
    for item in inputs:
        if item is None:
            numbers.append(-1)
        elif isinstance(item, Spec):
            numbers.append(made.tensor(item))
        else:
            numbers.append(made.constant(item))
    outputs = [made.tensor(F(*shape)) for shape in shapes]
    made.operator(name, numbers, outputs, kind, **fields)
    made.version(fields.pop("version", 1))
    made.ends(numbers[:1], outputs)
    return made.file()


def gates(seed: int, *, coupled: bool = False, peephole: bool = False) -> list[Any]:
    """The weights and biases of an LSTM cell, in the order of the file."""
    into = [f32(UNITS, SIZE, seed=seed + at) for at in range(4)]
    second = [f32(UNITS, UNITS, seed=seed + 4 + at) for at in range(4)]
    cell: list[Any] = [f32(UNITS, seed=seed + 8 + at) if peephole else None for at in range(3)]
    biases = [f32(UNITS, seed=seed + 11 + at) for at in range(4)]
    if coupled:
        into[0] = second[0] = biases[0] = cell[0] = None  # type: ignore[call-overload]
    return [*into, *second, *cell, *biases]


STATES = [state(1, UNITS), state(1, UNITS)]


def lstm(**how: bool) -> list[Any]:
    return [F(1, SIZE), *gates(1, **how), None, None, *STATES]


def sequence(**how: bool) -> list[Any]:
    return [F(1, 5, SIZE), *gates(2, **how), None, None, *STATES]


def projected() -> list[Any]:
    cell = gates(3)
    cell[4:8] = [f32(UNITS, 2, seed=30 + at) for at in range(4)]
    weights = [f32(2, UNITS, seed=40), f32(2, seed=41)]
    return [F(1, SIZE), *cell, *weights, state(1, 2), state(1, UNITS)]


def normalised() -> list[Any]:
    return [*sequence(), *(f32(UNITS, seed=50 + at) for at in range(4))]


def both_ways() -> list[Any]:
    states = [state(1, UNITS) for _ in range(4)]
    cells = [*gates(5), None, None, *gates(25), None, None]
    return [F(1, 5, SIZE), *cells, *states, *[None] * 9]


RNN = [F(1, SIZE), f32(UNITS, SIZE), f32(UNITS, UNITS, seed=1), f32(UNITS, seed=2)]
RNN_SEQUENCE = [F(1, 5, SIZE), *RNN[1:], state(1, UNITS)]
BOTH_RNN = [
    *RNN_SEQUENCE,
    f32(UNITS, SIZE, seed=3),
    f32(UNITS, UNITS, seed=4),
    f32(UNITS, seed=5),
    state(1, UNITS),
    *[None] * 3,
]
SVDF = [F(1, SIZE), f32(6, SIZE), f32(6, 4, seed=1), f32(3, seed=2), state(1, 24)]

LSTM = {"fusedActivationFunction": 4, "cellClip": 2.0}
CELLS: dict[str, Callable[[], bytes]] = {
    "LSTM": lambda: recurrent("LSTM", lstm(), [(1, UNITS)], "LSTMOptions", **LSTM),
    "LSTM-coupled": lambda: recurrent(
        "LSTM", lstm(coupled=True, peephole=True), [(1, UNITS)], "LSTMOptions", **LSTM
    ),
    "LSTM-projected": lambda: recurrent("LSTM", projected(), [(1, 2)], "LSTMOptions", **LSTM),
    "SEQUENCE_LSTM": lambda: recurrent(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        sequence(peephole=True),
        [(1, 5, UNITS)],
        "UnidirectionalSequenceLSTMOptions",
        **LSTM,
    ),
    "SEQUENCE_LSTM-normalised": lambda: recurrent(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        normalised(),
        [(1, 5, UNITS)],
        "UnidirectionalSequenceLSTMOptions",
        **LSTM,
    ),
    "BIDIRECTIONAL_LSTM": lambda: recurrent(
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        both_ways(),
        [(1, 5, UNITS), (1, 5, UNITS)],
        "BidirectionalSequenceLSTMOptions",
        timeMajor=False,
        **LSTM,
    ),
    "BIDIRECTIONAL_LSTM-merged": lambda: recurrent(
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        both_ways(),
        [(1, 5, 2 * UNITS)],
        "BidirectionalSequenceLSTMOptions",
        timeMajor=False,
        mergeOutputs=True,
        **LSTM,
    ),
    "RNN": lambda: recurrent(
        "RNN", [*RNN, state(1, UNITS)], [(1, UNITS)], "RNNOptions", fusedActivationFunction=4
    ),
    "SEQUENCE_RNN": lambda: recurrent(
        "UNIDIRECTIONAL_SEQUENCE_RNN",
        RNN_SEQUENCE,
        [(1, 5, UNITS)],
        "SequenceRNNOptions",
        fusedActivationFunction=4,
    ),
    "BIDIRECTIONAL_RNN": lambda: recurrent(
        "BIDIRECTIONAL_SEQUENCE_RNN",
        BOTH_RNN,
        [(1, 5, UNITS), (1, 5, UNITS)],
        "BidirectionalSequenceRNNOptions",
        fusedActivationFunction=4,
    ),
    "SVDF": lambda: recurrent(
        "SVDF", SVDF, [(1, 3)], "SVDFOptions", rank=2, fusedActivationFunction=1
    ),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CELLS)
def test_states_are_carried(name: str, device: str) -> None:
    data = CELLS[name]()
    theirs, ours = Litert(data), Compilation(model_of(data), device)
    runs = [theirs.random(f"{name} {at}") for at in range(4)]
    first = theirs.run(*runs[0])
    assert_same(ours.run(*runs[0]), first)
    for inputs in runs[1:]:
        assert_same(ours.run(*inputs), theirs.run(*inputs))
    ours.reset()
    assert_same(ours.run(*runs[0]), first)


def test_hybrid_cell() -> None:
    cell = [
        s8(*item.shape, scale=0.01) if item is not None and item.ndim == 2 else item
        for item in gates(1)
    ]
    inputs = [F(1, 5, SIZE), *cell, None, None, *STATES]
    data = recurrent(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        inputs,
        [(1, 5, UNITS)],
        "UnidirectionalSequenceLSTMOptions",
        **LSTM,
    )
    compare(data, tolerance=0.03)


def basic_cell(type: str) -> bytes:
    made = Building()
    if type == "FLOAT32":
        data, before = made.tensor(F(1, SIZE)), made.tensor(F(1, UNITS))
        weights = made.constant(f32(4 * UNITS, SIZE + UNITS))
        bias = made.constant(f32(4 * UNITS, seed=1))
        cell = made.tensor(F(1, UNITS))
        specs = [F(1, UNITS), F(1, UNITS), F(1, SIZE + UNITS), F(1, 4 * UNITS)]
    else:
        u8, wide = (1 / 128, 128), 1 / 2048
        data, before = (made.tensor(Spec("UINT8", (1, n), *u8)) for n in (8, 8))
        weights = made.tensor(s8(32, 16, type="UINT8"))
        bias = made.constant(np.arange(-64, 64, 4, dtype=np.int32) * 50, 0.02 / 128)
        cell = made.tensor(Spec("INT16", (1, 8), wide))
        specs = [Spec("UINT8", (1, 8), *u8), Spec("INT16", (1, 8), wide)]
        specs += [Spec("UINT8", (1, 16), *u8), Spec("INT16", (1, 32), 1 / 4096)]
    outputs = [made.tensor(spec) for spec in specs]
    arguments = [data, before, weights, bias, cell]
    made.operator(
        "LSTM", arguments, outputs, "LSTMOptions", kernelType=1, fusedActivationFunction=4
    )
    made.version(2)
    made.ends([data, before, cell], outputs[:2])
    return made.file()


@pytest.mark.parametrize("type", ["FLOAT32", "UINT8"])
def test_basic_cell(type: str) -> None:
    compare(basic_cell(type), steps=1)


def counter() -> bytes:
    """A variable that begins with 5, to which each run adds its input."""
    made = Building()
    handle, x = made.tensor(Spec("RESOURCE", ())), made.tensor(F(2))
    old, new = made.tensor(F(2)), made.tensor(F(2))
    variable = {"container": "", "sharedName": "v"}
    made.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    made.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", **variable)
    made.operator("READ_VARIABLE", [handle], [old], "ReadVariableOptions")
    made.operator("ADD", [old, x], [new], "AddOptions")
    made.operator("ASSIGN_VARIABLE", [handle, new], [], "AssignVariableOptions")
    made.ends([x], [new])
    made.graph()
    handle, five = made.tensor(Spec("RESOURCE", ())), made.constant(np.full(2, 5, np.float32))
    made.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", **variable)
    made.operator("ASSIGN_VARIABLE", [handle, five], [], "AssignVariableOptions")
    made.ends([], [])
    return made.file()


@pytest.mark.parametrize("device", DEVICES)
def test_variables(device: str) -> None:
    theirs, ours = Litert(counter()), Compilation(model_of(counter()), device)
    for at in range(3):
        x = np.array([at, 1], np.float32)
        assert_same(ours.run(x), theirs.run(x))


# Graphs that run graphs


def branches() -> bytes:
    made = Building()
    choice, x, y = made.tensor(Spec("BOOL", (1,))), made.tensor(F(3)), made.tensor(F(3))
    made.operator("IF", [choice, x], [y], "IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2)
    made.ends([choice, x], [y])
    for name in ("EXP", "NEG"):
        made.graph()
        a, b = made.tensor(F(3)), made.tensor(F(3))
        made.operator(name, [a], [b], f"{name.title()}Options")
        made.ends([a], [b])
    return made.file()


def loop(*shape: int) -> bytes:
    """Squares until a counter of this shape is 4."""
    made = Building()
    specs = [Spec("INT32", shape), F(3)]
    inputs, outputs = ([made.tensor(spec) for spec in specs] for _ in range(2))
    fields = {"condSubgraphIndex": 1, "bodySubgraphIndex": 2}
    made.operator("WHILE", inputs, outputs, "WhileOptions", **fields)
    made.ends(inputs, outputs)
    made.graph()
    inputs = [made.tensor(spec) for spec in specs]
    more = made.tensor(Spec("BOOL", shape))
    made.operator("LESS", [inputs[0], made.constant(i32([4]))], [more], "LessOptions")
    made.ends(inputs, [more])
    made.graph()
    inputs, outputs = ([made.tensor(spec) for spec in specs] for _ in range(2))
    made.operator("ADD", [inputs[0], made.constant(i32([1]))], outputs[:1], "AddOptions")
    made.operator("MUL", [inputs[1], inputs[1]], outputs[1:], "MulOptions")
    made.ends(inputs, outputs)
    return made.file()


def test_if() -> None:
    for choice in (True, False):
        compare(branches(), np.array([choice]), f32(3))


def test_while() -> None:
    for start in (0, 3, 7):
        compare(loop(1), i32([start]), f32(3))
        compare(loop(), np.array(start, np.int32), f32(3))


def test_graph_that_runs_itself() -> None:
    made = Building()
    choice, x, y = made.tensor(Spec("BOOL", (1,))), made.tensor(F(3)), made.tensor(F(3))
    made.operator("IF", [choice, x], [y], "IfOptions", thenSubgraphIndex=0, elseSubgraphIndex=0)
    made.ends([choice, x], [y])
    with pytest.raises(NnapiError, match="operator 0 IF: graph 0 calls itself"):
        model_of(made.file())


# Names, dimensions


def two_signatures() -> bytes:
    made = Building()
    for name in ("EXP", "NEG"):
        if name == "NEG":
            made.graph()
        a, b = made.tensor(F(3)), made.tensor(F(3))
        made.operator(name, [a], [b], f"{name.title()}Options")
        made.ends([a], [b])
        number = len(made.model.subgraphs) - 1
        made.signature(name.lower(), {"image": a}, {"answer": b}, number)
    return made.file()


def test_signatures() -> None:
    x = f32(3)
    for key, function in (("exp", np.exp), ("neg", np.negative)):
        model = model_of(two_signatures(), key)
        assert [operand.name for operand in model.input_operands] == ["image"]
        assert [operand.name for operand in model.output_operands] == ["answer"]
        result = Compilation(model, "nnapi-cpu").run(image=x)
        np.testing.assert_allclose(result, function(x), 1e-6)
    with pytest.raises(
        NnapiError, match="signature 'sin' does not exist; the file has 'exp', 'neg'"
    ):
        model_of(two_signatures(), "sin")


def test_load(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_bytes(two_signatures())
    assert_same(Compilation(load(path, signature="neg"), "nnapi-cpu").run(image=f32(3)), [-f32(3)])
    parts = load(str(path), partial=True)
    assert (parts.inputs, parts.outputs, len(parts.parts)) == (("image",), ("answer",), 1)
    assert_same(parts.compile("nnapi-cpu").run(image=f32(3)), [np.exp(f32(3))])
    path.write_bytes(unexpressed())
    with pytest.raises(NnapiError, match=f"^BAD_DATA: {re.escape(str(path))}: 3 of 5 operators"):
        load(path)


def test_without_the_packages_of_the_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(two_signatures())
    for name in ("tflite", "flatbuffers"):
        monkeypatch.setitem(sys.modules, name, None)
    assert_same(Compilation(load(path, signature="neg"), "nnapi-cpu").run(image=f32(3)), [-f32(3)])


def free_batch() -> bytes:
    made = Building()
    x = made.tensor(Spec("FLOAT32", (1, 4), signature=(-1, 4), name="x"))
    y, z = (
        made.tensor(Spec("FLOAT32", (1, 3), signature=(-1, 3), name=name)) for name in ("y", "z")
    )
    arguments = [x, made.constant(f32(3, 4)), made.constant(f32(3))]
    made.operator("FULLY_CONNECTED", arguments, [y], "FullyConnectedOptions")
    made.operator("SOFTMAX", [y], [z], "SoftmaxOptions", beta=1.0)
    made.ends([x], [z])
    return made.file()


def test_free_dimensions() -> None:
    model = model_of(free_batch())
    assert model.input_operands[0].dimensions == (0, 4)
    for batch in (1, 5):
        compare(free_batch(), f32(batch, 4))


def test_half_weights_are_folded() -> None:
    made = Building()
    x, y = made.tensor(F(2, 4)), made.tensor(F(2, 3))
    weights, bias = made.tensor(F(3, 4)), made.tensor(F(3))
    for value, real in ((f32(3, 4), weights), (f32(3, seed=1), bias)):
        made.operator("DEQUANTIZE", [made.constant(value.astype(np.float16))], [real])
    made.operator("FULLY_CONNECTED", [x, weights, bias], [y], "FullyConnectedOptions")
    made.ends([x], [y])
    model = compare(made.file())
    assert [operation.name for operation in model.operations] == ["FULLY_CONNECTED"]


def test_shapes_are_folded() -> None:
    made = Building()
    x, y = made.tensor(F(2, 6)), made.tensor(F(6, 2))
    shape, turned = made.tensor(Spec("INT32", (2,))), made.tensor(Spec("INT32", (2,)))
    made.operator("SHAPE", [x], [shape], "ShapeOptions", outType=2)
    made.operator("REVERSE_V2", [shape, made.constant(i32([0]))], [turned], "ReverseV2Options")
    made.operator("RESHAPE", [x, turned], [y])
    made.ends([x], [y])
    compare(made.file())


def flattened() -> bytes:
    """As Keras flattens: the first size of the shape, and what is left."""
    made = Building()
    x = made.tensor(Spec("FLOAT32", (1, 2, 3), signature=(-1, 2, 3)))
    y = made.tensor(Spec("FLOAT32", (1, 6), signature=(-1, 6)))
    shape, batch = made.tensor(Spec("INT32", (3,))), made.tensor(Spec("INT32", ()))
    sizes, z = (
        made.tensor(Spec("INT32", (2,))),
        made.tensor(Spec("FLOAT32", (1, 6), signature=(-1, 6))),
    )
    made.operator("SHAPE", [x], [shape], "ShapeOptions", outType=2)
    ranges = [made.constant(i32([number])) for number in (0, 1, 1)]
    made.operator(
        "STRIDED_SLICE", [shape, *ranges], [batch], "StridedSliceOptions", shrinkAxisMask=1
    )
    made.operator(
        "PACK", [batch, made.constant(np.array(6, np.int32))], [sizes], "PackOptions", valuesCount=2
    )
    made.operator("RESHAPE", [x, sizes], [y])
    made.operator("NEG", [y], [z], "NegOptions")
    made.ends([x], [z])
    return made.file()


def test_computed_shapes() -> None:
    for batch in (1, 4):
        model = compare(flattened(), f32(batch, 2, 3))
    assert [operation.name for operation in model.operations] == ["RESHAPE", "NEG"]


def test_inputs_that_are_outputs() -> None:
    made = Building()
    x, y = made.tensor(F(2, 3)), made.tensor(F(2, 3))
    made.operator("EXP", [x], [y], "ExpOptions")
    made.ends([x], [y, x, y])
    x_value = f32(2, 3)
    model = model_of(made.file())
    result = Compilation(model, "nnapi-cpu").run(x_value)
    assert_same(result, [np.exp(x_value), x_value, np.exp(x_value)])


# What has no place


def unexpressed() -> bytes:
    """EXP, ATAN2, NEG and one of 64 bits."""
    made = Building()
    x = made.tensor(Spec("FLOAT32", (2, 3), name="x"))
    a, b, c = (made.tensor(F(2, 3)) for _ in range(3))
    wide, sum = made.tensor(Spec("INT64", (2, 3))), made.tensor(Spec("INT64", (2, 3)))
    made.operator("EXP", [x], [a], "ExpOptions")
    made.operator("ATAN2", [a, a], [b], "ATan2Options")
    made.operator("NEG", [b], [c], "NegOptions")
    made.operator("CAST", [c], [wide], "CastOptions", inDataType=0, outDataType=4)
    made.operator("ADD", [wide, wide], [sum], "AddOptions")
    made.ends([x], [c, sum])
    return made.file()


def test_reasons() -> None:
    with pytest.raises(NnapiError) as caught:
        model_of(unexpressed())
    messages = str(caught.value)
    assert "\n" not in messages
    assert "3 of 5 operators have no place in an NNAPI model" in messages
    for part in (
        "operator 1 ATAN2: no combination of NNAPI operations",
        "operator 3 CAST: ",
        "operator 4 ADD: ",
    ):
        assert part in messages
    assert "INT64, which NNAPI does not have" in messages
    assert "operator 0" not in messages
    assert "operator 2" not in messages


def test_detections_have_damaged_options() -> None:
    made = Building()
    inputs = [made.tensor(F(1, 4, 4)), made.tensor(F(1, 4, 3)), made.constant(f32(4, 4))]
    outputs = [
        made.tensor(F(1, 2, 4)),
        made.tensor(F(1, 2)),
        made.tensor(F(1, 2)),
        made.tensor(F(1)),
    ]
    made.operator("TFLite_Detection_PostProcess", inputs, outputs, custom=b"\x01\x02\x24\x01")
    made.ends(inputs[:2], outputs)
    with pytest.raises(NnapiError, match="TFLite_Detection_PostProcess: it has 9218 options"):
        model_of(made.file())


def test_constants_are_not_copied() -> None:
    data = free_batch()
    value = next(t.value for t in read(data).graphs[0].tensors if t.value is not None)
    assert value is not None
    assert np.shares_memory(value, np.frombuffer(data, np.uint8))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("rank", [2, 3])
def test_weights_by_channel_and_a_free_batch(device: str, keep: bool, rank: int) -> None:
    """FULLY_CONNECTED that becomes a CONV_2D whose number of images only a run tells."""
    made = Building()
    middle = (2,) * (rank - 2)
    shape, free = (1, *middle, 4), (-1, *middle, 4)
    x = made.tensor(Spec("INT8", shape, 0.5, 3, signature=free))
    weights = made.tensor(
        Spec("INT8", (3, 4), [0.1, 0.2, 0.05], value=s8(3, 4, scale=0.1).value, channel_dim=0)
    )
    bias = made.tensor(
        Spec("INT32", (3,), [0.05, 0.1, 0.025], value=np.array([9, -9, 30], np.int32))
    )
    sizes = (*middle, 3) if keep else (3,)
    first = 1 if keep or rank == 2 else 2
    y = made.tensor(Spec("INT8", (first, *sizes), 0.25, -1, signature=(-1, *sizes)))
    kind = "FullyConnectedOptions"
    made.operator("FULLY_CONNECTED", [x, weights, bias], [y], kind, keepNumDims=keep)
    made.version(6)
    made.ends([x], [y])
    model, theirs = model_of(made.file()), Litert(made.file())
    compiled = Compilation(model, device)
    chance = np.random.default_rng(3)
    for batch in (1, 5, 2):
        value = chance.integers(-128, 128, (batch, *shape[1:])).astype(np.int8)
        assert_same(compiled.run(value), theirs.run(value), steps=1)


def test_reshape_to_a_single_number() -> None:
    """The shape has no elements, and so no bytes in the file."""
    for shape in (np.zeros(0, np.int32), None):
        made = Building()
        x, y = made.tensor(F(1, 1)), made.tensor(F())
        inputs = [x] if shape is None else [x, made.constant(shape)]
        made.operator("RESHAPE", inputs, [y], "ReshapeOptions", newShape=[])
        made.ends([x], [y])
        compare(made.file(), f32(1, 1))


@pytest.mark.parametrize("device", DEVICES)
def test_array_of_rank_0(device: str) -> None:
    """It is a single number, as the input of the file is."""
    made = Building()
    x, y = made.tensor(F()), made.tensor(F())
    made.operator("EXP", [x], [y], "ExpOptions")
    made.ends([x], [y])
    compiled = Compilation(model_of(made.file()), device)
    for value in (np.float32(1), np.array(1, np.float32), 1.0, np.ones(1, np.float32)):
        for _ in range(2):
            assert_same(compiled.run(value), [np.exp(np.ones(1, np.float32))])
    with pytest.raises(NnapiError, match=re.escape("the type has dimensions [2]")):
        compiled.run(np.ones(2, np.float32))


def test_equal_reasons_stand_together() -> None:
    made = Building()
    last = x = made.tensor(F(2))
    for at in range(50):
        arguments, last = last, made.tensor(F(2))
        made.operator("RFFT2D" if at % 5 else "CONV_3D", [arguments], [last])
    made.ends([x], [last])
    with pytest.raises(NnapiError) as caught:
        model_of(made.file())
    why = "no combination of NNAPI operations computes the same values"
    assert caught.value.message == (
        "50 of 50 operators have no place in an NNAPI model: "
        f"10 operators CONV_3D (0, 5, 10, ...): {why}; 40 operators RFFT2D (1, 2, 3, ...): {why}; "
        "load(path, partial=True) and nnapi-shim run --partial leave them to LiteRT"
    )


def test_many_small_operators_that_share_nothing() -> None:
    """Each has an operator code of its own, and tables that are larger than its tensor."""
    made = Building()
    x = y = made.tensor(Spec("FLOAT32", (1,)))
    for _ in range(300):
        y, arguments = made.tensor(Spec("FLOAT32", (1,))), y
        made.operator("ADD", [arguments, arguments], [y], "AddOptions")
    made.ends([x], [y])
    assert len(model_of(made.file()).operations) == 300
