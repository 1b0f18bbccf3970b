"""Predictor: batches of every kind, in this process and in others."""

import numpy as np
import pytest

from nnapi_shim import FuseCode, Model, NnapiError
from nnapi_shim.tools.predictor import Predictor


def doubled(batch: int | None = 1, size: int = 3) -> Model:
    """Y = 2 x, of a number of samples."""
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [batch, size], name="x")
        two = np.full((1, size), 2, np.float32)
        model.outputs(model.operation("MUL", [x, two, FuseCode.NONE], name="y"))
    return model


def two_of_each() -> Model:
    """The sum and the difference of two inputs."""
    with Model() as model:
        a = model.input("TENSOR_FLOAT32", [2, 3], name="a")
        b = model.input("TENSOR_FLOAT32", [2, 3], name="b")
        added = model.operation("ADD", [a, b, FuseCode.NONE], name="sum")
        taken = model.operation("SUB", [a, b, FuseCode.NONE], name="difference")
        model.outputs(added, taken)
    return model


SAMPLES = np.arange(15, dtype=np.float32).reshape(5, 3)


@pytest.mark.parametrize("batch", [1, 2, 3, 5, 8, None])
def test_any_number_of_samples_whatever_the_model_takes(batch: int | None) -> None:
    predictor = Predictor(doubled(batch))
    assert np.array_equal(predictor(SAMPLES), 2 * SAMPLES)
    assert np.array_equal(predictor(SAMPLES[:1]), 2 * SAMPLES[:1])


def test_columns_that_are_no_inputs_stay() -> None:
    batch = {"x": SAMPLES, "path": np.array(list("abcde"))}
    result = Predictor(doubled())(batch)
    assert list(result) == ["path", "y"]
    assert np.array_equal(result["y"], 2 * SAMPLES)


def test_columns_of_other_names() -> None:
    batch = {"left": SAMPLES, "right": SAMPLES + 1}
    result = Predictor(two_of_each(), columns={"a": "left", "b": "right"})(batch)
    assert np.array_equal(result["sum"], 2 * SAMPLES + 1)
    assert np.array_equal(result["difference"], np.full((5, 3), -1))


@pytest.mark.integration  # pandas
def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": list(SAMPLES), "path": list("abcde")}, index=range(10, 15))
    result = Predictor(doubled())(frame)
    assert list(result.columns) == ["path", "y"] and list(result.index) == list(frame.index)
    assert np.array_equal(np.stack(result["y"]), 2 * SAMPLES)


def test_lists_and_iterators() -> None:
    assert [list(y) for y in Predictor(doubled())(iter(SAMPLES))] == (2 * SAMPLES).tolist()
    assert Predictor(doubled())([]) == []
    with pytest.raises(NnapiError, match="a, b"):
        Predictor(two_of_each())(SAMPLES)


def test_samples_that_have_the_batch_size_themselves() -> None:
    assert np.array_equal(Predictor(doubled())(SAMPLES[:, np.newaxis]), 2 * SAMPLES)


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (np.zeros((2, 4), np.float32), r"dimensions \[4\]; the model takes \[3\]"),
        ({"z": SAMPLES, "w": SAMPLES}, "no column 'x'; it has z, w"),
        ([[1, 2, 3], [1, 2]], "make no array"),
        (7, "a batch is int"),
    ],
)
def test_bad_batches(batch: object, words: str) -> None:
    with pytest.raises(NnapiError, match=words):
        Predictor(doubled())(batch)


def test_inputs_that_differ_in_number() -> None:
    with pytest.raises(NnapiError, match=r"\[4, 5\] samples"):
        Predictor(two_of_each())({"a": SAMPLES, "b": SAMPLES[:4]})


def test_samples_know_nothing_of_each_other() -> None:
    with Model() as model:
        x = model.input("TENSOR_FLOAT32", [1, 3], name="x")
        before = model.input("TENSOR_FLOAT32", [1, 3], name="before")
        after = model.operation("ADD", [x, before, FuseCode.NONE], name="after")
        total = model.operation("MUL", [after, np.ones((1, 3), np.float32), FuseCode.NONE])
        model.outputs(after, total)
        model.carry(before, after)
    assert np.array_equal(Predictor(model)(SAMPLES), SAMPLES)
