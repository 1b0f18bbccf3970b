"""Runs whose states stay in memory of the library, and those that take them from there."""

from typing import Any

import numpy as np
import pytest

from nnapi_shim import Compilation, Model, NnapiError
from nnapi_shim.api import rerun

F32 = "TENSOR_FLOAT32"


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each run whose states stay in memory: the number of its outputs."""
    seen: list[int] = []
    function = rerun._function()

    def counted(kept: Any, inputs: Any, targets: Any, *states: bytes) -> Any:
        results = function(kept, inputs, targets, *states)
        if results is not None and states:
            seen.append(len(results))
        return results

    monkeypatch.setattr(rerun, "_function", lambda: counted)
    return seen


def mixing() -> Model:
    """Two states, of several sizes and types, between other inputs and outputs."""
    with Model() as model:
        x = model.input(F32, [2, 3], name="x")
        last = model.input("TENSOR_INT32", [4], name="last")
        factor = model.input(F32, [1], name="factor")
        total = model.input(F32, [2, 3], name="total")
        new = model.add(model.mul(total, factor), x)
        count = model.add(last, np.int32([1, 2, 3, 4]))
        model.outputs(model.neg(new), count, new, model.mul(count, np.int32([2])))
        model.carry(last, count, np.int32([5, 6, 7, 8]))
        model.carry(total, new)
    return model


class Mixed:
    """What `mixing` computes."""

    def __init__(self) -> None:
        self.total, self.count = np.zeros((2, 3), np.float32), np.int32([5, 6, 7, 8])

    def step(self, x: Any, factor: Any) -> tuple[Any, Any]:
        """The outputs of a run."""
        self.total = self.total * np.float32(factor) + np.float32(x)
        self.count = self.count + np.int32([1, 2, 3, 4])
        return -self.total, self.count * 2


def numbers(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, 3)).astype(np.float32), rng.uniform(size=1).astype(np.float32)


def test_runs_in_every_way(stepped: list[int]) -> None:
    """Arrays, lists, destinations, a run that is refused, a reset, and all operands of a run."""
    compilation, exact = mixing().compile("nnapi-cpu"), Mixed()
    given: list[tuple[Any, Any]] = []
    for number in range(24):
        x, factor = numbers(number)
        if number % 6 == 1:
            x, factor = x.tolist(), factor.tolist()
        if number % 6 == 2:
            with pytest.raises(NnapiError):
                compilation.run(x[:1], factor)
            with pytest.raises(NnapiError):
                compilation.run(x)
        if number == 15:
            compilation.reset()
            exact = Mixed()
        expected = exact.step(x, factor)
        if number % 6 == 4:
            out = [np.zeros((2, 3), np.float32), np.zeros(4, np.int32)]
            results = compilation.run(x, factor, out=out)
            assert results[0] is out[0]
        elif number % 8 == 5:
            values = compilation.run(x, factor, intermediates=True)
            outputs = compilation._graph.output_operands
            results = values[outputs[0]], values[outputs[3]]
            given += [(values[outputs[1]], exact.count), (values[outputs[2]], exact.total)]
        else:
            results = compilation.run(x, factor)
        given += [*zip(results, expected, strict=True)]
    for result, expected in given:  # no run has written to what another gave
        np.testing.assert_array_equal(result, expected)
    # All but the first one, that after the reset, those with all operands, and the run after these
    # and after those that were refused.
    assert stepped == [2] * 13


def test_dimensions_that_change(stepped: list[int]) -> None:
    with Model() as model:
        x = model.input(F32, [None])
        total = model.input(F32, [1])
        new = model.add(total, model.reduce_sum(x, np.int32([0]), keep_dims=True))
        model.outputs(new, model.mul(x, total))
        model.carry(total, new)
    compilation, total = model.compile("nnapi-cpu"), 0.0
    for size in (2, 2, 3, 3, 2, 2, 3):
        x = np.ones(size, np.float32)
        assert compilation.run(x).tolist() == [total] * size
        total += size
    assert len(stepped) == 3


def test_a_run_that_fails_leaves_the_states(stepped: list[int]) -> None:
    with Model() as model:
        rows, total = model.input("TENSOR_INT32", [1]), model.input(F32, [1])
        new = model.add(total, model.gather(np.float32([1, 2, 4]), 0, rows))
        model.outputs(new, model.neg(new))
        model.carry(total, new)
    compilation = model.compile("nnapi-cpu")
    for expected in (2, 4, 6):
        assert compilation.run(np.int32([1])).tolist() == [-expected]
        with pytest.raises(NnapiError, match="OP_FAILED: GATHER"):
            compilation.run(np.int32([7]))
    assert compilation.run(np.int32([2])).tolist() == [-10]


def test_a_state_that_gets_longer(stepped: list[int]) -> None:
    with Model() as model:
        x, state = model.input(F32, [1]), model.input(F32, [None])
        new = model.concatenation([state, np.float32([1])], 0)
        model.outputs(new, model.add(x, np.float32([1])))
        model.carry(state, new, np.float32([1]))
    compilation = model.compile("nnapi-cpu")
    for _ in range(4):
        assert compilation.run(np.float32([3])).tolist() == [4]
    assert not stepped


def test_an_output_that_becomes_two_states(stepped: list[int]) -> None:
    with Model() as model:
        x, one, other = (model.input(F32, [1]) for _ in range(3))
        new = model.add(model.sub(one, other), x)
        model.outputs(new, model.add(one, other))
        model.carry(one, new, np.float32([8]))
        model.carry(other, new, np.float32([3]))
    compilation = model.compile("nnapi-cpu")
    results = [compilation.run(np.float32([2])).tolist() for _ in range(4)]
    assert results == [[11], [14], [4], [4]]
    assert not stepped


def test_nothing_runs_after_close(stepped: list[int]) -> None:
    compilation = mixing().compile("nnapi-cpu")
    for number in range(3):
        compilation.run(*numbers(number))
    compilation.close()
    with pytest.raises(NnapiError, match="BAD_STATE"):
        compilation.run(*numbers(3))
    assert len(stepped) == 2


def test_copies_begin_anew() -> None:
    compilation = mixing().compile("nnapi-cpu")
    first = [compilation.run(*numbers(number)) for number in range(3)]
    again = Compilation(mixing(), "nnapi-cpu")
    for number, expected in enumerate(first):
        for one, other in zip(again.run(*numbers(number)), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_wrong_addresses() -> None:
    compilation = mixing().compile("nnapi-cpu")
    x, factor = numbers(1)
    compilation.run(x, factor)
    kept = compilation._runner.recent
    function = rerun._function()
    with pytest.raises(TypeError):
        function(kept, (x, factor), None, None)
    words = bytes(8 * 8)
    assert function(kept, (x, factor), None, words[8:]) is None
    assert function(kept, (x, factor), None, words) is None
