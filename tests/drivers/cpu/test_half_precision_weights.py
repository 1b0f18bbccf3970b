"""Weights stored as float16: only where a model allows it, within its tolerance, and reported."""

import mmap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Model
from nnapi_shim.drivers.cpu.lowering import half_precision
from nnapi_shim.runtime.memory import FdMemory
from nnapi_shim.tools.explain import explain

F32, NAME = "TENSOR_FLOAT32", "compress_weights_f16"
SIZE = 530
"""Neither whole vectors nor whole panels; a matrix of so many rows and columns is large."""
TOLERANCE = 5 * 2.0**-10

needs_instruction = pytest.mark.skipif(
    not half_precision.can_halve(), reason="this tier keeps float32 as it is"
)


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def matrix(seed: int, rows: int = SIZE, columns: int = SIZE) -> np.ndarray:
    return normal(seed, rows, columns) / np.float32(np.sqrt(columns))


def finished(model: Model, outputs: Any, relaxed: bool = True) -> Model:
    model.outputs(*(outputs if isinstance(outputs, tuple | list) else [outputs]))
    if relaxed:
        model.relax_computation_float32_to_float16()
    model.finish()
    return model


def product(weights: np.ndarray, relaxed: bool = True, rows: int = 1) -> Model:
    model = Model()
    x = model.input(F32, [rows, weights.shape[1]])
    y = model.fully_connected(x, weights, normal(9, len(weights)), activation="RELU6")
    return finished(model, y, relaxed)


def lstm(
    relaxed: bool = True,
    steps: int = 3,
    batches: int = 1,
    tied: bool = False,
    shape: Sequence[int] | None = None,
) -> Model:
    """shape: of the input as it is declared, if not the whole."""
    model = Model()
    x = model.input(F32, [steps, batches, SIZE] if shape is None else shape)
    gates = ("forget", "cell", "output") if tied else ("input", "forget", "cell", "output")
    inputs: dict[str, Any] = {}
    for at, gate in enumerate(gates):
        inputs[f"input_to_{gate}_weights"] = matrix(at)
        inputs[f"recurrent_to_{gate}_weights"] = matrix(4 + at)
        bias = "cell_bias" if gate == "cell" else f"{gate}_gate_bias"
        inputs[bias] = normal(8 + at, SIZE)
    if tied:
        inputs["projection_weights"] = matrix(13)
    state = normal(12, batches, SIZE)
    y = model.unidirectional_sequence_lstm(
        x, output_state_in=state, cell_state_in=state, time_major=True, **inputs
    )
    return finished(model, y, relaxed)


def rnn(relaxed: bool = True) -> Model:
    model = Model()
    x = model.input(F32, [1, 2, SIZE])
    y = model.unidirectional_sequence_rnn(
        x, matrix(1), matrix(2), normal(3, SIZE), normal(4, 1, SIZE), activation="RELU6"
    )
    return finished(model, y, relaxed)


def messages(model: Model) -> list[str]:
    return [done.what for done in explain(model).passes if done.name == NAME]


def runs(model: Model, device: str = "nnapi-cpu") -> list[np.ndarray]:
    (inputs,) = model.input_operands
    result = model.compile(device).run(normal(6, *inputs.dimensions))
    return [*result] if isinstance(result, tuple | list) else [result]


BUILDERS = [
    lambda relaxed: product(matrix(1), relaxed),
    lstm,
    lambda relaxed: lstm(relaxed, tied=True),
    lambda relaxed: lstm(relaxed, steps=1),
    rnn,
]


@needs_instruction
@pytest.mark.parametrize("build", BUILDERS, ids=["product", "lstm", "tied", "single", "rnn"])
def test_it_acts_where_it_is_allowed(
    build: Callable[[bool], Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build(True)
    assert "are kept as float16" in messages(model)[0]
    result = runs(model)
    for one, other in zip(result, runs(model, "nnapi-reference"), strict=True):
        np.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)
    for threads in ("1", "5"):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", threads)
        np.testing.assert_equal(runs(model), result)
    plain = build(False)
    assert not messages(plain)
    exact = runs(plain)
    assert not np.array_equal(exact[0], result[0])
    monkeypatch.setenv("NNAPI_SHIM_PASSES", f"-{NAME}")
    assert not messages(model)
    np.testing.assert_equal(runs(model), exact)
    np.testing.assert_equal(runs(plain), exact)


@pytest.mark.parametrize(
    ("weight", "others"),
    [(1e5, 1.0), (np.inf, 1.0), (-1e5, 1.0), (1e-5, 1e-6)],
    ids=["large", "infinite", "negative", "small"],
)
def test_what_float16_cannot_hold_stays(weight: float, others: float) -> None:
    """One row whose largest weight is out of range is enough."""
    weights = matrix(1)
    weights[7] = others / SIZE
    weights[7, 5] = weight
    model = product(weights)
    assert not messages(model)
    np.testing.assert_equal(runs(model), runs(product(weights, relaxed=False)))


@pytest.mark.parametrize("shape", [[], [0, 0, SIZE], [3, 0, 0]], ids=str)
def test_weights_of_sequences_whose_number_is_not_known_stay(shape: list[int]) -> None:
    model = lstm(shape=shape)
    assert not messages(model)
    x = normal(6, 3, 1, SIZE)
    result, expected = (model.compile(d).run(x) for d in ("nnapi-cpu", "nnapi-reference"))
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)


def test_more_rows_and_small_weights_stay() -> None:
    assert not messages(product(matrix(1), rows=2))
    assert not messages(product(matrix(1, 256, 256)))
    assert not messages(lstm(batches=2))


@needs_instruction
def test_what_begins_at_the_same_place_is_looked_at_apart(tmp_path: Path) -> None:
    """The whole of a memory, of which the first half alone is in range."""
    file = tmp_path / "weights"
    weights = np.concatenate([matrix(1), matrix(2)])
    weights[-1, -1] = 1e6
    weights.tofile(file)
    with file.open("rb") as opened:
        memory = FdMemory(weights.nbytes, mmap.PROT_READ, opened.fileno(), 0)
    model = Model()
    x = model.input(F32, [1, SIZE])
    results = []
    for rows in (SIZE, 2 * SIZE):
        values = model.add_operand(F32, [rows, SIZE])
        length = 4 * rows * SIZE
        model.runtime.set_operand_value_from_memory(values.index, memory, 0, length)
        results.append(model.fully_connected(x, values, normal(rows, rows)))
    finished(model, results)
    assert len(messages(model)) == 1
    _, whole = runs(model)
    exact = normal(6, 1, SIZE) @ weights.T + normal(2 * SIZE, 2 * SIZE)
    np.testing.assert_allclose(whole, exact, rtol=1e-5, atol=1e-5)


@needs_instruction
def test_other_types_at_the_same_place_stay(tmp_path: Path) -> None:
    """float16 numbers where halved float32 ones begin, of as many rows and columns."""
    file = tmp_path / "weights"
    weights = np.round(matrix(1) * 2**12) / np.float32(2**12)
    weights.tofile(file)
    with file.open("rb") as opened:
        memory = FdMemory(weights.nbytes, mmap.PROT_READ, opened.fileno(), 0)
    model = Model()
    results, inputs = [], []
    for type in (F32, "TENSOR_FLOAT16"):
        dtype = np.float32 if type == F32 else np.float16
        values = model.add_operand(type, [SIZE, SIZE])
        length = SIZE * SIZE * dtype().nbytes
        model.runtime.set_operand_value_from_memory(values.index, memory, 0, length)
        x = model.input(type, [1, SIZE])
        results.append(model.fully_connected(x, values, np.zeros(SIZE, dtype)))
        inputs.append(np.zeros((1, SIZE), dtype))
        inputs[-1][0, 0] = 1
    finished(model, results)
    assert len(messages(model)) == 1
    result, expected = (model.compile(d).run(*inputs) for d in ("nnapi-cpu", "nnapi-reference"))
    np.testing.assert_allclose(result[0], expected[0], rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_array_equal(result[1], expected[1])


@needs_instruction
def test_none_but_0_becomes_0() -> None:
    """Infinity times a tiny weight is no NaN, NaN stays NaN, and rows of 0 are in range."""
    weights = matrix(1)
    weights[3], weights[3, 4] = 0, 1
    weights[3, 5] = -1e-12
    weights[8] = 0
    weights[9, 1] = np.nan
    model = Model()
    x = model.input(F32, [1, SIZE])
    model = finished(model, model.fully_connected(x, weights, normal(2, SIZE)))
    assert messages(model)
    inputs = np.ones((1, SIZE), np.float32)
    inputs[0, 5] = np.inf
    result = model.compile("nnapi-cpu").run(inputs)
    assert result[0, 3] < -3e38  # what an activation makes of it
    assert np.isnan(result[0, 9])
    expected = model.compile("nnapi-reference").run(inputs)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))


@needs_instruction
def test_cached_programs_know_whether_it_was_allowed(tmp_path: Path) -> None:
    x = normal(6, 1, SIZE)
    for _ in range(2):
        for relaxed in (False, True):
            model = product(matrix(1), relaxed)
            expected = model.compile("nnapi-cpu").run(x)
            cached = model.compile("nnapi-cpu", cache=(tmp_path, bytes(32)))
            np.testing.assert_array_equal(cached.run(x), expected)
    assert len([*tmp_path.iterdir()]) == 2
