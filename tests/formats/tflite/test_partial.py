"""Models in parts: what NNAPI cannot express runs through LiteRT."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from nnapi_shim import Compilation, NnapiError
from nnapi_shim.formats.importing.partial import PartialModel
from nnapi_shim.formats.tflite.cut import cut
from nnapi_shim.formats.tflite.file import read
from nnapi_shim.formats.tflite.importing.table import LOWERINGS
from nnapi_shim.formats.tflite.model import chosen
from nnapi_shim.formats.tflite.partial import partial_model
from nnapi_shim.tools.run import run
from tests.formats.tflite.building import Building, Spec
from tests.formats.tflite.cases import F, f32
from tests.formats.tflite.running import DEVICES, Litert, assert_same, model_of
from tests.formats.tflite.test_whole import CELLS, counter, unexpressed


def partial(data: bytes) -> PartialModel:
    file = read(data)
    return partial_model(file, *chosen(file, None))


def test_parts() -> None:
    model = partial(unexpressed())
    kinds = [([o.name for o in part.operators], part.model is None) for part in model.parts]
    assert kinds == [
        (["EXP"], False),
        (["ATAN2"], True),
        (["NEG"], False),
        (["CAST", "ADD"], True),
    ]
    assert [reason.number for reason in model.reasons] == [1, 3, 4]
    assert model.inputs == ("x",)
    assert "1 operators on NNAPI, 1 operators on LiteRT" in repr(model)


@pytest.mark.parametrize("device", DEVICES)
def test_runs(device: str) -> None:
    x = f32(2, 3)
    compiled = partial(unexpressed()).compile(device)
    expected = Litert(unexpressed()).run(x)
    assert_same(compiled.run(x), expected)
    assert_same(compiled.run(x=x), expected)
    with pytest.raises(NnapiError, match="input 'x' is not given"):
        compiled.run()
    with pytest.raises(NnapiError, match="the model has the inputs 'x'"):
        compiled.run(x, y=x)


def test_whole_model_is_one_part() -> None:
    data = CELLS["SEQUENCE_LSTM"]()
    model = partial(data)
    assert [part.model is None for part in model.parts] == [False]
    theirs, ours = Litert(data), model.compile("nnapi-cpu")
    for at in range(3):
        inputs = theirs.random(str(at))
        assert_same(ours.run(*inputs), theirs.run(*inputs))


def diamond() -> bytes:
    """X -> ATAN2 -> +, x -> NEG -> +: two ways that meet."""
    made = Building()
    x, a, b, c = (made.tensor(F(2, 3)) for _ in range(4))
    made.operator("ATAN2", [x, x], [a], "ATan2Options")
    made.operator("NEG", [x], [b], "NegOptions")
    made.operator("ADD", [a, b], [c], "AddOptions")
    made.ends([x], [c, a])
    return made.file()


def test_ways_that_meet() -> None:
    x = f32(2, 3)
    model = partial(diamond())
    assert [len(part.operators) for part in model.parts] == [1, 2]
    assert_same(model.compile("nnapi-cpu").run(x), Litert(diamond()).run(x))


def with_state() -> bytes:
    """An RNN behind an operator that NNAPI does not have."""
    made = Building()
    x, y, z = made.tensor(F(1, 4)), made.tensor(F(1, 4)), made.tensor(F(1, 3))
    state = made.tensor(Spec("FLOAT32", (1, 3), is_variable=True))
    made.operator("ATAN2", [x, x], [y], "ATan2Options")
    weights = [made.constant(f32(3, 4)), made.constant(f32(3, 3)), made.constant(f32(3))]
    made.operator("RNN", [y, *weights, state], [z], "RNNOptions", fusedActivationFunction=4)
    made.ends([x], [z])
    return made.file()


def test_states_in_parts() -> None:
    theirs, ours = Litert(with_state()), partial(with_state()).compile("nnapi-cpu")
    x = f32(1, 4)
    first = theirs.run(x)
    assert_same(ours.run(x), first)
    assert_same(ours.run(x), theirs.run(x))
    ours.reset()
    assert_same(ours.run(x), first)


def test_variables_hold_parts_together() -> None:
    made = Building()
    del made
    assert len(partial(counter()).parts) == 1


def test_free_dimensions() -> None:
    made = Building()
    x = made.tensor(Spec("FLOAT32", (1, 3), signature=(-1, 3)))
    y, z = (made.tensor(Spec("FLOAT32", (1, 3), signature=(-1, 3))) for _ in range(2))
    made.operator("ATAN2", [x, x], [y], "ATan2Options")
    made.operator("EXP", [y], [z], "ExpOptions")
    made.ends([x], [z])
    compiled = partial(made.file()).compile("nnapi-cpu")
    for batch in (1, 4):
        value = f32(batch, 3)
        np.testing.assert_allclose(compiled.run(value), np.exp(np.arctan2(value, value)), 1e-5)


def test_integers_of_64_bits_between_parts() -> None:
    made = Building()
    x = made.tensor(Spec("INT64", (3,)))
    small, y, z = (
        made.tensor(Spec("INT32", (3,))),
        made.tensor(Spec("INT32", (3,))),
        made.tensor(Spec("INT64", (3,))),
    )
    made.operator("CAST", [x], [small], "CastOptions", inDataType=4, outDataType=2)
    made.operator("NEG", [small], [y], "NegOptions")
    made.operator("CAST", [y], [z], "CastOptions", inDataType=2, outDataType=4)
    made.ends([x], [z])
    model = partial(made.file())
    assert [part.model is None for part in model.parts] == [True, False, True]
    actual = model.compile("nnapi-cpu").run(np.array([1, -2, 3], np.int64))
    assert actual.dtype == np.int64
    np.testing.assert_array_equal(actual, [-1, 2, -3])


def test_without_litert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    with pytest.raises(ImportError, match=r"need LiteRT; `.* pip install ai-edge-litert=="):
        partial(unexpressed()).compile()


def test_custom_operator_that_nobody_knows() -> None:
    made = Building()
    x, y = made.tensor(F(3)), made.tensor(F(3))
    made.operator("Secret", [x], [y], custom=b"")
    made.ends([x], [y])
    model = partial(made.file())
    assert "its definition is not part of TensorFlow Lite" in model.reasons[0].why
    with pytest.raises(NnapiError, match="LiteRT refuses operator 0 Secret"):
        model.compile()


def behind_dequantize() -> bytes:
    """X -> CUMSUM -> CONV_2D (dilated in groups) -> NEG -> CONV_2D, with weights in float16."""
    made = Building()
    x, a, b, c, y = (made.tensor(F(1, 6, 6, 4)) for _ in range(5))
    made.current.tensors[b].shape = made.current.tensors[c].shape = [1, 4, 4, 2]
    made.current.tensors[y].shape = [1, 3, 3, 2]
    weights = []
    for shape in ((2, 2, 2, 2), (2, 2, 2, 2), (2,)):
        half = made.constant(f32(*shape).astype(np.float16))
        weights.append(made.tensor(F(*shape)))
        made.operator("DEQUANTIZE", [half], [weights[-1]], "DequantizeOptions")
    made.operator("CUMSUM", [x, made.constant(np.int32(1))], [a], "CumsumOptions")
    fields = {"padding": 1, "strideW": 1, "strideH": 1}
    apart = {"dilationWFactor": 2, "dilationHFactor": 2}
    made.operator("CONV_2D", [a, weights[0], weights[2]], [b], "Conv2DOptions", **fields, **apart)
    made.operator("NEG", [b], [c], "NegOptions")
    made.operator("CONV_2D", [c, weights[1], weights[2]], [y], "Conv2DOptions", **fields)
    made.ends([x], [y])
    return made.file()


def test_constants_stay_constants() -> None:
    """What is computed of constants stands in every part that reads it."""
    data = behind_dequantize()
    model = partial(data)
    kinds = [([o.name for o in part.operators], part.model is None) for part in model.parts]
    assert kinds == [
        (["DEQUANTIZE", "DEQUANTIZE", "CUMSUM", "CONV_2D"], True),
        (["DEQUANTIZE", "DEQUANTIZE", "NEG", "CONV_2D"], False),
    ]
    assert [len(part.inputs) for part in model.parts] == [1, 1]
    assert [len(part.outputs) for part in model.parts] == [1, 1]
    x = f32(1, 6, 6, 4)
    assert_same(model.compile("nnapi-cpu").run(x), Litert(data).run(x), tolerance=1e-4)


def test_constants_that_nnapi_cannot_compute() -> None:
    """LiteRT computes them once, for itself and for the models that read them."""
    made = Building()
    x, a, b, y = (made.tensor(F(2, 3)) for _ in range(4))
    axis = made.constant(np.int32(1))
    made.operator("CUMSUM", [made.constant(f32(2, 3)), axis], [a], "CumsumOptions")
    made.operator("ADD", [x, a], [b], "AddOptions")
    made.operator("CUMSUM", [b, axis], [y], "CumsumOptions")
    made.ends([x], [y])
    model = partial(made.file())
    values = f32(2, 3, seed=4)
    assert_same(model.compile("nnapi-cpu").run(values), Litert(made.file()).run(values))


def test_without_the_delegate(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteRT's default delegate fails for some parts; they run without it."""
    from ai_edge_litert import interpreter

    plain = interpreter.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    asked = []

    class Failing(interpreter.Interpreter):  # type: ignore[misc]
        def __init__(self, experimental_op_resolver_type: Any = None, **options: Any) -> None:
            asked.append(experimental_op_resolver_type)
            self.kind = experimental_op_resolver_type
            super().__init__(experimental_op_resolver_type=self.kind, **options)

        def allocate_tensors(self) -> None:
            if self.kind is not plain:
                raise RuntimeError("failed to apply XNNPACK delegate")
            super().allocate_tensors()

    x = f32(2, 3)
    expected = Litert(unexpressed()).run(x)
    monkeypatch.setattr(interpreter, "Interpreter", Failing)
    assert_same(partial(unexpressed()).compile("nnapi-cpu").run(x), expected)
    assert asked.count(plain) == 2


def test_delegate_that_fails_after_a_resize(monkeypatch: pytest.MonkeyPatch) -> None:
    from ai_edge_litert import interpreter

    plain = interpreter.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES

    class Failing(interpreter.Interpreter):  # type: ignore[misc]
        def __init__(self, experimental_op_resolver_type: Any = None, **options: Any) -> None:
            self.kind, self.count = experimental_op_resolver_type, 0
            super().__init__(experimental_op_resolver_type=self.kind, **options)

        def allocate_tensors(self) -> None:
            self.count += 1
            if self.kind is not plain and self.count > 2:
                raise RuntimeError("failed to reshape")
            super().allocate_tensors()

    monkeypatch.setattr(interpreter, "Interpreter", Failing)
    made = Building()
    x, y = (made.tensor(Spec("FLOAT32", (1, 3), signature=(-1, 3))) for _ in range(2))
    made.operator("CUMSUM", [x, made.constant(np.int32(1))], [y], "CumsumOptions")
    made.ends([x], [y])
    compiled = partial(made.file()).compile()
    assert compiled.devices == ("LiteRT",)
    for batch in (1, 4, 2):
        value = f32(batch, 3)
        np.testing.assert_allclose(compiled.run(value), value.cumsum(1), 1e-5)


def test_refusal_of_an_operand_is_that_of_its_operator() -> None:
    """A result larger than NNAPI's limit, behind an operator that NNAPI does not have."""
    made = Building()
    x, y, z = made.tensor(F(2)), made.tensor(F(2)), made.tensor(F(2**16, 2**15))
    made.operator("EXP", [x], [y], "ExpOptions")
    made.operator("CUMSUM", [y, made.constant(np.int32(0))], [z], "CumsumOptions")
    made.ends([x], [z])
    model = partial(made.file())
    assert [part.model is None for part in model.parts] == [False, True]
    assert [reason.number for reason in model.reasons] == [1]


def test_input_that_nobody_reads() -> None:
    """It has a type that NNAPI lacks, and no operator is refused for it."""
    made = Building()
    x, unused, y = made.tensor(F(2)), made.tensor(Spec("INT64", (1,))), made.tensor(F(2))
    made.operator("EXP", [x], [y], "ExpOptions")
    made.ends([x, unused], [y])
    model = partial(made.file())
    assert [part.model is None for part in model.parts] == [False]
    values = f32(2)
    actual = model.compile("nnapi-cpu").run(values, np.zeros(1, np.int64))
    np.testing.assert_allclose(actual, np.exp(values), 1e-6)


def test_large_custom_options_are_cut_along() -> None:
    """They lie behind the flatbuffer, which a part does not have."""
    made = Building()
    x, y = made.tensor(F(2)), made.tensor(F(2))
    made.operator("Secret", [x], [y], custom=b"")
    made.ends([x], [y])
    item = made.current.operators[0]
    item.largeCustomOptionsOffset, item.largeCustomOptionsSize = 2**12, 5
    data = made.file().ljust(2**12, b"\0") + b"hello"
    file = read(data)
    assert file.graphs[0].operators[0].custom == b"hello"
    part = cut(file, 0, file.graphs[0].operators, [x], [y])
    assert read(part).graphs[0].operators[0].custom == b"hello"


def test_names_of_unnamed_inputs() -> None:
    """As a Compilation has them."""
    made = Building()
    a, b, y = (made.tensor(F(2)) for _ in range(3))
    made.operator("ADD", [a, b], [y], "AddOptions")
    made.ends([a, b], [y])
    for tensor in made.current.tensors:
        tensor.name = None
    whole = Compilation(model_of(made.file()), "nnapi-cpu")
    assert partial(made.file()).inputs == whole.input_names == ("input_0", "input_1")
    assert partial(made.file()).outputs == whole.output_names == ("output_0",)
    actual = partial(made.file()).compile("nnapi-cpu").run(input_1=f32(2), input_0=f32(2))
    np.testing.assert_allclose(actual, 2 * f32(2))


def test_command(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(unexpressed())
    actual = run(path, partial=True, device="nnapi-cpu")
    assert actual.devices == ("nnapi-cpu", "LiteRT")
    assert [item.name for item in actual.inputs] == ["x"]
    with pytest.raises(NnapiError, match="nnapi-shim run --partial leave them to LiteRT"):
        run(path)


MODELS = Path(__file__).resolve().parents[4] / "shared" / "models"


@pytest.mark.parametrize("name", ["split_concat", "hello_world_float", "mnist_lstm_float"])
def test_any_operator_left_to_litert(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained models, with each kind of their operators in turn taken for one that NNAPI lacks."""
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip("there are no trained models")
    data = path.read_bytes()
    theirs = Litert(data)
    inputs = theirs.random(name)
    expected = theirs.run(*inputs)
    for kind in {operator.name for operator in read(data).graphs[0].operators}:
        with monkeypatch.context() as patch:
            patch.delitem(LOWERINGS, kind)
            model = partial(data)
        assert any(part.model is None for part in model.parts)
        assert_same(model.compile("nnapi-cpu").run(*inputs), expected, tolerance=1e-4)


FOREIGN = {
    "COMPLEX64": np.array([1 + 2j, 3 - 4j, 0], np.complex64),
    "STRING": np.array(["a", "bc", ""]),
    "UINT32": np.array([1, 2, 2**31 + 5], np.uint32),
}


@pytest.mark.parametrize("type", sorted(FOREIGN))
def test_inputs_and_outputs_of_types_that_nnapi_lacks(type: str) -> None:
    """LiteRT has them; only who asks for their NNAPI type is refused."""
    made = Building()
    x, y = made.tensor(Spec(type, (3,))), made.tensor(Spec(type, (3, 1)))
    real, exp = made.tensor(F(3)), made.tensor(F(3))
    sizes = made.constant(np.array([3, 1], np.int32))
    made.operator("RESHAPE", [x, sizes], [y], "ReshapeOptions", newShape=[3, 1])
    made.operator("EXP", [real], [exp], "ExpOptions")
    made.ends([x, real], [y, exp])
    model = partial(made.file())
    assert [part.model is None for part in model.parts] == [True, False]
    compiled = model.compile("nnapi-cpu")
    value = FOREIGN[type]
    moved, actual = compiled.run(value, f32(3))
    assert moved.astype(value.dtype).tolist() == value.reshape(3, 1).tolist()
    np.testing.assert_allclose(actual, np.exp(f32(3)), 1e-6)
    for arguments in ("inputs", "outputs"):
        with pytest.raises(NnapiError, match=f"is {type}, which has no type in NNAPI"):
            getattr(compiled, arguments)
