"""Runs that take up an execution which has run before: the same results, and never its memory."""

import ctypes
import sys
import threading
from array import array

import numpy as np
import pytest

from nnapi_shim import Compilation, Model, NnapiError
from nnapi_shim.api import rerun
from nnapi_shim.drivers.observing import observed


def dividing(dimensions=(2,)) -> Model:
    with Model() as model:
        x, y = (model.input("TENSOR_FLOAT32", dimensions, name=name) for name in "xy")
        model.outputs(model.div(x, y), model.sub(x, y))
    return model


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each run that takes up an execution."""
    seen: list[int] = []
    function = rerun._function()

    def counted(kept, inputs, targets, *states):
        results = function(kept, inputs, targets, *states)
        if results is not None:
            seen.append(len(results))
        return results

    monkeypatch.setattr(rerun, "_function", lambda: counted)
    return seen


def test_results_are_those_of_the_first_run(device: str, second: list[int]) -> None:
    compilation = dividing().compile(device)
    random = np.random.default_rng(3)
    kept = []
    for _ in range(20):
        x, y = random.normal(size=(2, 2)).astype(np.float32)
        quotient, difference = compilation.run(x, y)
        kept.append((x / y, x - y, quotient, difference))
    for expected, other, quotient, difference in kept:  # no run has written to what another gave
        np.testing.assert_allclose(quotient, expected, rtol=1e-6)
        np.testing.assert_array_equal(difference, other)
    assert len(second) == (19 if device == "nnapi-cpu" else 0)


def test_inputs_need_not_live_on(second: list[int]) -> None:
    compilation = dividing().compile("nnapi-cpu")
    for i in range(50):
        quotient, _ = compilation.run(np.float32([i, 2 * i]), np.float32([1, 2]))
        assert quotient.tolist() == [i, i]
    assert len(second) == 49


def test_other_dimensions(device: str, second: list[int]) -> None:
    compilation = dividing((None,)).compile(device)
    for size in (1, 3, 2, 3, 1, *range(1, 20), 2):
        quotient, difference = compilation.run(np.full(size, 6), np.full(size, 2))
        assert (quotient.tolist(), difference.tolist()) == ([3] * size, [4] * size)
    assert bool(second) == (device == "nnapi-cpu")


def test_what_needs_a_second_look(device: str, second: list[int]) -> None:
    compilation = dividing().compile(device)
    for _ in range(2):
        assert compilation.run([6, 6], [2, 3])[0].tolist() == [3, 2]
        wide = np.float32([6, 0, 6, 0])[::2]
        assert compilation.run(wide, np.float64([2, 3]))[0].tolist() == [3, 2]
        with pytest.raises(NnapiError, match="BAD_DATA: input 0 'x'"):
            compilation.run([6, 6, 6], [2, 3])
        with pytest.raises(NnapiError, match="1 input given; the model has 2"):
            compilation.run([6, 6])


def test_outputs_given(device: str, second: list[int]) -> None:
    compilation = dividing().compile(device)
    compilation.run([1, 1], [1, 1])
    x, y, out = np.float32([6, 6]), np.float32([2, 3]), np.zeros(2, np.float32)
    quotient, difference = compilation.run(x, y, out=[out, None])
    assert quotient is out
    assert (out.tolist(), difference.tolist()) == ([3, 2], [4, 3])
    assert len(second) == (device == "nnapi-cpu")


def test_outputs_that_share_memory_are_computed_apart(device: str, second: list[int]) -> None:
    compilation = dividing().compile(device)
    compilation.run([1, 1], [1, 1])
    x, y = np.float32([6, 6]), np.float32([2, 3])
    _, difference = compilation.run(x, y, out=[x, None])
    assert (x.tolist(), difference.tolist()) == ([3, 2], [4, 3])
    room = np.zeros(3, np.float32)
    compilation.run([6, 6], [2, 3], out=[room[:2], room[1:]])
    assert room[1:].tolist() == [4, 3]  # the later output is there, as in C
    assert second == []


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


def test_threads(second: list[int]) -> None:
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
    assert len(second) > 1000


def test_a_closed_compilation_runs_no_more() -> None:
    compilation = dividing().compile("nnapi-cpu")
    compilation.run([1, 1], [1, 1])
    compilation.close()
    with pytest.raises(NnapiError, match="BAD_STATE: the compilation is closed"):
        compilation.run([1, 1], [1, 1])


def unaligned(values: list[float]) -> np.ndarray:
    """An array of float32 at an odd address."""
    room = np.zeros(4 * len(values) + 1, np.uint8)[1:].view(np.float32)
    room[:] = values
    return room


@pytest.mark.parametrize(
    ("value", "is_taken"),
    [
        (np.float32([6, 8]), True),
        (array("f", [6, 8]), True),
        (memoryview(np.float32([6, 8])), True),
        (np.ma.masked_array(np.float32([6, 8])), True),
        (np.float32([6, 8]).astype(">f4"), False),
        (np.float64([6, 8]), False),
        (np.float32([6, 0, 8, 0])[::2], False),
        (unaligned([6, 8]), False),
        ((ctypes.c_float * 2)(6, 8), True),
        ([6, 8], False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_read_in_place(value: object, is_taken: bool, second: list[int]) -> None:
    with Model() as model:
        model.outputs(model.mul(model.input("TENSOR_FLOAT32", [2]), 2.0))
    compilation = model.compile("nnapi-cpu")
    compilation.run([1, 1])
    assert compilation.run(value).tolist() == [12, 16]
    assert len(second) == 1  # a value that does not fit is converted before the run
    kept = next(iter(compilation._runner._kept.values()))
    assert (rerun._function()(kept, (value,), None) is not None) == is_taken


def test_destinations_that_do_not_fit(second: list[int]) -> None:
    compilation = dividing().compile("nnapi-cpu")
    compilation.run([1, 1], [1, 1])
    x, y = np.float32([6, 6]), np.float32([2, 3])
    locked = np.zeros(2, np.float32)
    locked.flags.writeable = False
    for out in (locked, np.zeros(3, np.float32), np.zeros(2), np.zeros(4, np.float32)[::2]):
        with pytest.raises(NnapiError, match="BAD_DATA: output 0"):
            compilation.run(x, y, out=[out, None])
    assert second == []
    room = array("f", [0, 0])
    quotient, _ = compilation.run(x, y, out=[room, None])
    assert (quotient.tolist(), room.tolist()) == ([3, 2], [3, 2])


def test_nothing_is_kept_of_arguments() -> None:
    compilation = dividing().compile("nnapi-cpu")
    x, y, out = np.float32([6, 6]), bytearray(8), np.zeros(2, np.float32)
    view = memoryview(y).cast("f")
    compilation.run(x, view)
    kept = next(iter(compilation._runner._kept.values()))
    objects = [x, view, out, kept.free[0], kept.outputs[0], kept.outputs[0][1]]
    before = list(map(sys.getrefcount, objects))
    for _ in range(500):
        assert len(compilation.run(x, view)) == 2
        compilation.run(x, view, out=[out, None])
        with pytest.raises(NnapiError):
            compilation.run(x, view, out=[out[:1], None])
    after = list(map(sys.getrefcount, objects))
    assert all(abs(one - other) < 100 for one, other in zip(before, after, strict=True))
    view.release()
    y.extend(b"longer")  # raises while a buffer is held
    assert len(kept.free) == 1


def test_a_run_that_fails_releases_its_arguments() -> None:
    with Model() as model:
        x, rows = model.input("TENSOR_FLOAT32", [3]), model.input("TENSOR_INT32", [1])
        model.outputs(model.gather(x, 0, rows))
    compilation = model.compile("nnapi-cpu")
    numbers, wrong = np.float32([1, 2, 3]), np.int32([7])
    before = sys.getrefcount(numbers), sys.getrefcount(wrong)
    for _ in range(3):
        compilation.run(numbers, [2])
        with pytest.raises(NnapiError, match="OP_FAILED: GATHER"):
            compilation.run(numbers, wrong)
    assert (sys.getrefcount(numbers), sys.getrefcount(wrong)) == before


def test_observed_runs_are_repeated_too(second: list[int]) -> None:
    steps = []
    compilation = dividing().compile("nnapi-cpu")
    with observed(steps.append):
        for number in range(1, 4):
            quotient, _ = compilation.run(np.float32([number, 6]), np.float32([1, 2]))
            assert quotient.tolist() == [number, 3]
    assert len(second) == 2
    assert len(steps) == 6


def test_wrong_use_of_the_function() -> None:
    function = rerun._function()
    for arguments in ((), ((), ()), (1, (), None), ((), [], None), ((), (), 3)):
        with pytest.raises((TypeError, IndexError)):
            function(*arguments)
