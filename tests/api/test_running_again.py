"""Runs that take up an execution which has run before: the same results, and never its memory."""

import threading

import numpy as np
import pytest

from nnapi_shim import Compilation, Model, NnapiError
from nnapi_shim.runtime.execution import Execution


def dividing(dimensions=(2,)) -> Model:
    with Model() as model:
        x, y = (model.input("TENSOR_FLOAT32", dimensions, name=name) for name in "xy")
        model.outputs(model.div(x, y), model.sub(x, y))
    return model


@pytest.fixture
def again(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each run that takes up an execution."""
    seen: list[int] = []
    recompute = Execution.recompute

    def counted(self: Execution, addresses: list[int]) -> None:
        seen.append(len(addresses))
        recompute(self, addresses)

    monkeypatch.setattr(Execution, "recompute", counted)
    return seen


def test_results_are_those_of_the_first_run(device: str, again: list[int]) -> None:
    compilation = dividing().compile(device)
    random = np.random.default_rng(3)
    kept = []
    for _ in range(20):
        x, y = random.normal(size=(2, 2)).astype(np.float32)
        quotient, difference = compilation.run(x, y)
        kept.append((x / y, x - y, quotient, difference))
    for wanted, other, quotient, difference in kept:  # no run has written to what another gave
        np.testing.assert_allclose(quotient, wanted, rtol=1e-6)
        np.testing.assert_array_equal(difference, other)
    assert len(again) == (19 if device == "nnapi-cpu" else 0)


def test_inputs_need_not_live_on(again: list[int]) -> None:
    compilation = dividing().compile("nnapi-cpu")
    for i in range(50):
        quotient, _ = compilation.run(np.float32([i, 2 * i]), np.float32([1, 2]))
        assert quotient.tolist() == [i, i]
    assert len(again) == 49


def test_other_dimensions(device: str, again: list[int]) -> None:
    compilation = dividing((None,)).compile(device)
    for size in (1, 3, 2, 3, 1, *range(1, 20), 2):
        quotient, difference = compilation.run(np.full(size, 6), np.full(size, 2))
        assert (quotient.tolist(), difference.tolist()) == ([3] * size, [4] * size)
    assert bool(again) == (device == "nnapi-cpu")


def test_what_needs_a_second_look(device: str, again: list[int]) -> None:
    compilation = dividing().compile(device)
    for _ in range(2):
        assert compilation.run([6, 6], [2, 3])[0].tolist() == [3, 2]
        wide = np.float32([6, 0, 6, 0])[::2]
        assert compilation.run(wide, np.float64([2, 3]))[0].tolist() == [3, 2]
        with pytest.raises(NnapiError, match="BAD_DATA: input 0 'x'"):
            compilation.run([6, 6, 6], [2, 3])
        with pytest.raises(NnapiError, match="1 input given; the model has 2"):
            compilation.run([6, 6])


def test_outputs_given(device: str, again: list[int]) -> None:
    compilation = dividing().compile(device)
    compilation.run([1, 1], [1, 1])
    x, y, out = np.float32([6, 6]), np.float32([2, 3]), np.zeros(2, np.float32)
    quotient, difference = compilation.run(x, y, out=[out, None])
    assert quotient is out
    assert (out.tolist(), difference.tolist()) == ([3, 2], [4, 3])
    assert len(again) == (device == "nnapi-cpu")


def test_outputs_that_share_memory_are_computed_apart(device: str, again: list[int]) -> None:
    compilation = dividing().compile(device)
    compilation.run([1, 1], [1, 1])
    x, y = np.float32([6, 6]), np.float32([2, 3])
    _, difference = compilation.run(x, y, out=[x, None])
    assert (x.tolist(), difference.tolist()) == ([3, 2], [4, 3])
    room = np.zeros(3, np.float32)
    compilation.run([6, 6], [2, 3], out=[room[:2], room[1:]])
    assert room[1:].tolist() == [4, 3]  # the later output is there, as in C
    assert again == []


def test_a_run_that_fails(device: str) -> None:
    with Model() as model:
        x, rows = model.input("TENSOR_FLOAT32", [3]), model.input("TENSOR_INT32", [1])
        model.outputs(model.gather(x, 0, rows))
    compilation = model.compile(device)
    for _ in range(3):
        assert compilation.run([1, 2, 3], [2]).tolist() == [3]
        with pytest.raises(NnapiError, match="OP_FAILED: GATHER"):
            compilation.run([1, 2, 3], [7])


def test_sizes_that_the_data_decides(device: str) -> None:
    with Model() as model:
        dims = model.input("TENSOR_INT32", [2])
        model.outputs(model.fill(dims, 1.5))
    compilation = model.compile(device)
    for sizes in ([2, 3], [4, 1], [2, 3], [1, 1]):
        assert compilation.run(sizes).shape == tuple(sizes)


def test_threads(again: list[int]) -> None:
    compilation: Compilation = dividing().compile("nnapi-cpu")
    wrong = []

    def work(number: int) -> None:
        x, y = np.float32([number, number]), np.float32([1, 2])
        for _ in range(300):
            quotient, difference = compilation.run(x, y)
            if quotient[0] != number or difference[1] != number - 2:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(again) > 1000


def test_a_closed_compilation_runs_no_more() -> None:
    compilation = dividing().compile("nnapi-cpu")
    compilation.run([1, 1], [1, 1])
    compilation.close()
    with pytest.raises(NnapiError, match="BAD_STATE: the compilation is closed"):
        compilation.run([1, 1], [1, 1])
