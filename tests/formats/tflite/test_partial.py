"""Models in parts: what NNAPI cannot express runs through LiteRT."""

import sys

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert")

from nnapi_shim import NnapiError
from nnapi_shim.formats.tflite.file import read
from nnapi_shim.formats.tflite.model import chosen
from nnapi_shim.formats.tflite.partial import PartialModel
from tests.formats.tflite.building import Building, Spec
from tests.formats.tflite.cases import F, f32
from tests.formats.tflite.running import DEVICES, Litert, assert_same
from tests.formats.tflite.test_whole import CELLS, counter, unexpressed


def partial(data: bytes) -> PartialModel:
    file = read(data)
    return PartialModel(file, *chosen(file, None))


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
    wanted = Litert(unexpressed()).run(x)
    assert_same(compiled.run(x), wanted)
    assert_same(compiled.run(x=x), wanted)
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
    found = model.compile("nnapi-cpu").run(np.array([1, -2, 3], np.int64))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, [-1, 2, -3])


def test_without_litert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    with pytest.raises(ImportError, match="needs LiteRT; `pip install ai-edge-litert`"):
        partial(unexpressed()).compile()


def test_custom_operator_that_nobody_knows() -> None:
    made = Building()
    x, y = made.tensor(F(3)), made.tensor(F(3))
    made.operator("Secret", [x], [y], custom=b"")
    made.ends([x], [y])
    model = partial(made.file())
    assert "nobody but its maker knows" in model.reasons[0].why
    with pytest.raises(NnapiError, match="LiteRT refuses operator 0 Secret"):
        model.compile()
