"""Sequences of LSTM cells in other formats: one operator where that is the same."""

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import Model

STEPS, FEATURES, CELLS = 4, 3, 5


def model(case: str) -> Model:
    """A sequence whose states are carried, but in the case `given`."""
    generator = np.random.default_rng(0)

    def some(*shape: int):
        return generator.uniform(-1, 1, shape).astype(np.float32)

    weights = {}
    for gate in ("input", "forget", "cell", "output"):
        weights[f"input_to_{gate}_weights"] = some(CELLS, FEATURES)
        weights[f"recurrent_to_{gate}_weights"] = some(CELLS, CELLS)
        weights["cell_bias" if gate == "cell" else f"{gate}_gate_bias"] = some(CELLS)
    if case == "peepholes":
        weights |= {
            f"cell_to_{gate}_weights": some(CELLS) for gate in ("input", "forget", "output")
        }
    more = {"clipped": {"cell_clip": 0.3}, "time-major": {"time_major": True}}.get(case, {})
    batch = 1 if case == "plain" else 2
    shape = (STEPS, batch, FEATURES) if case == "time-major" else (batch, STEPS, FEATURES)
    with Model() as made:
        x = made.input("TENSOR_FLOAT32", shape, name="x")
        states = [
            made.input("TENSOR_FLOAT32", (batch, CELLS), name=name) for name in ("out", "cell")
        ]
        outputs = made.unidirectional_sequence_lstm(
            x, **weights, output_state_in=states[0], cell_state_in=states[1], output_count=3, **more
        )
        first = made.tanh(outputs[0])
        seen = made.tanh(outputs[1]) if case == "seen" else first
        made.outputs(first, *outputs[1:], *([seen] if case == "seen" else []))
        if case != "given":
            initial = some(batch, CELLS) if case == "begun" else None
            made.carry(states[0], outputs[1], initial)
            made.carry(states[1], outputs[2])
    return made


CASES = {
    "plain": True,
    "batch": True,
    "time-major": True,
    "peepholes": True,
    "clipped": True,
    "given": False,
    "seen": False,
    "begun": False,
}
"""Whether TensorFlow Lite's operator can stand for it."""


def inputs(made: Model):
    generator = np.random.default_rng(1)
    count = len(made.graph.input_operands) - len(made.carried)
    return [
        generator.uniform(-1, 1, operand.dimensions).astype(np.float32)
        for operand in made.graph.input_operands[:count]
    ]


@pytest.mark.parametrize(("case", "is_one"), CASES.items())
def test_tflite(case, is_one, tmp_path) -> None:
    """Read again, and in LiteRT: the same three runs, states included."""
    made = model(case)
    made.save(tmp_path / "model.tflite")
    back = nnapi_shim.load(tmp_path / "model.tflite")
    names = [item.name for item in back.graph.operations]
    assert ("UNIDIRECTIONAL_SEQUENCE_LSTM" in names) == is_one
    arguments = inputs(made)
    ours, read = made.compile("nnapi-cpu"), back.compile("nnapi-cpu")
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    interpreter = litert.Interpreter(str(tmp_path / "model.tflite"), num_threads=1)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), arguments, strict=True):
        interpreter.set_tensor(detail["index"], array)
    for _ in range(3):
        expected = first_of(ours.run(*arguments))
        np.testing.assert_allclose(first_of(read.run(*arguments)), expected, rtol=1e-5, atol=1e-6)
        interpreter.invoke()
        result = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_onnx(case, tmp_path) -> None:
    """One node, but where ONNX has no such cell; states are inputs and outputs."""
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    made = model(case)
    made.save(tmp_path / "model.onnx")
    kinds = [node.op_type for node in onnx.load(tmp_path / "model.onnx").graph.node]
    assert ("LSTM" in kinds) == (case not in ("peepholes", "clipped"))
    arguments = inputs(made)
    states = [state.initial for state in made.carried]
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    names = [argument.name for argument in session.get_inputs()]
    result = session.run(None, dict(zip(names, [*arguments, *states], strict=True)))
    expected = first_of(made.compile("nnapi-cpu").run(*arguments))
    np.testing.assert_allclose(result[0], expected, rtol=1e-5, atol=1e-6)


def first_of(results):
    return results[0] if isinstance(results, list | tuple) else results
