"""8-bit weights of float32 products that stay 8-bit: where, and that all else is as before."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi_shim import Compilation, Model, Operand
from nnapi_shim.drivers.cpu.lowering import lstm_rounds
from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.drivers.cpu.lowering.weight_format import digit_rows
from nnapi_shim.drivers.cpu.passes.graph import keep_weights_q8
from nnapi_shim.tools.explain import explain

F32, NAME = "TENSOR_FLOAT32", "keep_weights_q8"
SIZE = 730
"""Neither whole vectors nor whole panels; a matrix of so many rows and columns is large."""

pytestmark = pytest.mark.skipif(not tier().byte_weights, reason="this tier unpacks bytes")

KINDS: dict[str, dict[str, Any]] = {
    "signed": {"type": "TENSOR_QUANT8_ASYMM_SIGNED", "scale": 0.0013, "zero_point": 0},
    "unsigned": {"type": "TENSOR_QUANT8_ASYMM", "scale": 0.0013, "zero_point": 128},
    "symmetric": {"type": "TENSOR_QUANT8_SYMM", "scale": 0.0013},
    "by channel": {"channel_dim": 0},
}


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def stored(
    model: Model, kind: str, rows: int = SIZE, columns: int = SIZE, **others: Any
) -> Operand:
    """A constant of bytes."""
    rng = np.random.default_rng(rows + columns)
    parameters = {**KINDS[kind], **others}
    if kind == "by channel":
        scales = rng.uniform(0.0005, 0.002, (rows, columns)[parameters["channel_dim"]])
        parameters["scales"] = tuple(scales.tolist())
    values = rng.integers(-127, 128, (rows, columns))
    if kind == "unsigned":
        return model.constant((values + 128).astype(np.uint8), **parameters)
    return model.constant(values.astype(np.int8), **parameters)


def real(model: Model, operand: Operand) -> Operand:
    return model.dequantize(operand, output=F32)


def finished(model: Model, *outputs: Operand) -> Model:
    model.outputs(*outputs)
    model.finish()
    return model


def product(kind: str, rows: int = 1, depth: int = SIZE, **others: Any) -> Model:
    model = Model()
    x = model.input(F32, [rows, depth])
    weights = real(model, stored(model, kind, columns=depth, **others))
    return finished(model, model.fully_connected(x, weights, normal(1, SIZE), activation="RELU6"))


def lstm(
    steps: int = 3,
    batches: int = 1,
    projected: bool = False,
    units: int = 300,
    large: float = 0.0,
    scale: float = 0.0,
) -> Model:
    """large: an element of the first state. scale: of a matrix of recurrent weights, if given."""
    model = Model()
    x = model.input(F32, [steps, batches, units])
    inputs: dict[str, Any] = {}
    for gate in (
        ("forget", "cell", "output") if projected else ("input", "forget", "cell", "output")
    ):
        for kind in ("input", "recurrent"):
            if scale and (kind, gate) == ("recurrent", "cell"):
                weights = stored(model, "signed", units, units, scale=scale)
            else:
                weights = stored(model, "by channel", units, units)
            inputs[f"{kind}_to_{gate}_weights"] = real(model, weights)
        inputs["cell_bias" if gate == "cell" else f"{gate}_gate_bias"] = normal(2, units)
    if projected:
        inputs["projection_weights"] = real(model, stored(model, "signed", units, units))
    state = normal(12, batches, units)
    if large:
        state[-1, 7] = large
    y = model.unidirectional_sequence_lstm(
        x, output_state_in=state, cell_state_in=state, time_major=True, **inputs
    )
    return finished(model, *(y if isinstance(y, tuple | list) else [y]))


def rnn(large: float = 0.0) -> Model:
    model = Model()
    state = normal(4, 1, SIZE)
    if large:
        state[0, 7] = large
    x = model.input(F32, [1, 2, SIZE])
    weights = [real(model, stored(model, kind)) for kind in ("signed", "by channel")]
    y = model.unidirectional_sequence_rnn(x, *weights, normal(3, SIZE), state, activation="RELU6")
    return finished(model, *(y if isinstance(y, tuple | list) else [y]))


def messages(model: Model) -> list[str]:
    return [done.what for done in explain(model).passes if done.name == NAME]


def runs(model: Model, **options: Any) -> list[np.ndarray]:
    compilation = Compilation(model, devices=["nnapi-cpu"], **options)
    result = compilation.run(*[normal(6, *it.dimensions) for it in model.input_operands])
    return [*result] if isinstance(result, tuple | list) else [result]


def unpacked(model: Model, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The results without the pass."""
    with monkeypatch.context() as patch:
        patch.setenv("NNAPI_SHIM_PASSES", NAME)
        return runs(model)


BUILDERS: dict[str, Callable[[], Model]] = {
    **{kind: lambda kind=kind: product(kind) for kind in KINDS},
    "two rows": lambda: product("signed", 2),
    "four rows": lambda: product("by channel", 4),
    "most rows": lambda: product("unsigned", digit_rows((SIZE, SIZE))),
    "odd depth": lambda: product("signed", 3, 1033),
    "lstm": lstm,
    "single step": lambda: lstm(1),
    "projection": lambda: lstm(2, projected=True),
    "rnn": rnn,
}


def assert_same(results: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Products are summed in integers, and rounded otherwise."""
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", BUILDERS)
def test_results_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = BUILDERS[name]()
    assert "stay 8-bit" in messages(model)[0]
    expected, results = unpacked(model, monkeypatch), runs(model)
    assert_same(results, expected)
    for threads in ("1", "5"):
        monkeypatch.setenv("NNAPI_SHIM_THREADS", threads)
        np.testing.assert_equal(runs(model), results)
    reference = Compilation(model, devices=["nnapi-reference"])
    (inputs,) = model.input_operands
    exact = reference.run(normal(6, *inputs.dimensions))
    for one, other in zip(
        expected, exact if isinstance(exact, tuple | list) else [exact], strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "build",
    [
        lambda: product("signed", digit_rows((SIZE, SIZE)) + 1),
        lambda: lstm(batches=2),
        lambda: product("unsigned", zero_point=127),
        lambda: product("by channel", channel_dim=1),
        lambda: product("signed", depth=80),
    ],
    ids=["rows", "batches", "zero point", "scales of columns", "small"],
)
def test_others_are_unpacked(build: Callable[[], Model], monkeypatch: pytest.MonkeyPatch) -> None:
    model = build()
    assert not messages(model)
    np.testing.assert_equal(runs(model), unpacked(model, monkeypatch))


def test_rows_that_have_digit_products() -> None:
    """More where there are more columns, and more weights."""
    rows = [digit_rows(size) for size in ((10, 99), (300, 99), (1 << 11, 1 << 11))]
    assert rows == ([4, 18, 64] if tier().tiling.group == 4 else [2, 2, 4])


@pytest.mark.parametrize("large", [np.inf, -np.inf, np.nan, 2.0**60, -3e38])
@pytest.mark.parametrize("build", [lstm, rnn, lambda large: lstm(1, projected=True, large=large)])
def test_large_states(build: Callable[..., Model], large: float, monkeypatch: Any) -> None:
    """They are multiplied in float32."""
    model = build(large=large)
    assert messages(model)
    assert_same(runs(model), unpacked(model, monkeypatch))


def test_scales_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a recurrence has float32 weights, of the same values."""
    model = lstm(scale=2.0**31)
    assert messages(model)
    assert_same(runs(model), unpacked(model, monkeypatch))


@pytest.mark.parametrize("units", [300, 64, 65])
def test_rounds_give_what_the_whole_gives(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit by bit, on any number of threads."""
    monkeypatch.setattr(keep_weights_q8, "MIN_WEIGHTS", 1)
    monkeypatch.setattr(lstm_rounds, "MIN_WEIGHT_BYTES", 0)
    model = lstm(5, units=units)
    expected = runs(model)
    for rounds, threads in ((0, "1"), (99, "1"), (99, "2"), (99, "5")):
        monkeypatch.setattr(lstm_rounds, "MAX_ROUNDS", rounds)
        monkeypatch.setenv("NNAPI_SHIM_THREADS", threads)
        np.testing.assert_equal(runs(model), expected)


def test_weights_that_are_read_otherwise_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an output of the model, or by an operation that is no product."""
    for is_output in (True, False):
        model = Model()
        x = model.input(F32, [1, SIZE])
        weights = real(model, stored(model, "signed"))
        y = model.fully_connected(x, weights, normal(1, SIZE))
        finished(model, y, weights if is_output else model.neg(weights))
        assert not messages(model)
        np.testing.assert_equal(runs(model), unpacked(model, monkeypatch))


def test_weights_of_two_products(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    x = model.input(F32, [1, SIZE])
    weights = real(model, stored(model, "signed"))
    y = model.fully_connected(x, weights, normal(1, SIZE))
    finished(model, model.fully_connected(y, weights, normal(2, SIZE)))
    assert len(messages(model)) == 3
    assert_same(runs(model), unpacked(model, monkeypatch))


def test_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bodies of IF convert their own constants in the run."""
    bodies = []
    for kind in ("signed", "by channel"):
        body = Model()
        x = body.input(F32, [1, SIZE])
        y = body.fully_connected(x, real(body, stored(body, kind)), normal(1, SIZE))
        bodies.append(finished(body, y))
    model = Model()
    condition, x = model.input("TENSOR_BOOL8", [1]), model.input(F32, [1, SIZE])
    before = model.fully_connected(x, real(model, stored(model, "signed")), normal(2, SIZE))
    finished(model, *model.if_(condition, *bodies, [before]))
    assert messages(model)
    inputs = normal(3, 1, SIZE)
    for condition_value in (True, False):
        results: list[Any] = []
        for passes in ("", NAME):
            monkeypatch.setenv("NNAPI_SHIM_PASSES", passes)
            compilation = Compilation(model, devices=["nnapi-cpu"])
            results.append(compilation.run(np.array([condition_value]), inputs))
        assert_same(results[:1], results[1:])


def test_executions_at_once() -> None:
    compilation = Compilation(lstm(), devices=["nnapi-cpu"])
    inputs = [normal(seed, 3, 1, 300) for seed in range(8)]
    expected = [compilation.run(each) for each in inputs]
    with ThreadPoolExecutor(4) as pool:
        for result, goal in zip(pool.map(compilation.run, inputs * 4), expected * 4, strict=True):
            np.testing.assert_equal(result, goal)


def test_cached_programs(tmp_path: Path) -> None:
    for model in (product("by channel"), lstm()):
        expected = runs(model)
        token = bytes([len(expected)]) * 32
        for _ in range(2):
            np.testing.assert_equal(runs(model, cache=(tmp_path, token)), expected)
    assert len([*tmp_path.iterdir()]) == 2
