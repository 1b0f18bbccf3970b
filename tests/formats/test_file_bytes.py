"""A loaded model has its own copy of the constants: the bytes of the file go at once."""

import gc
import sys

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import Model
from nnapi_shim.formats.onnx.model import loaded as loaded_onnx
from nnapi_shim.formats.tflite.model import loaded as loaded_tflite


@pytest.fixture
def collects_nothing():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("suffix", "load"),
    [
        (".tflite", lambda data: loaded_tflite(data, None, False)),
        (".onnx", lambda data: loaded_onnx(data, None)),
    ],
)
def test_nothing_keeps_them(tmp_path, collects_nothing, suffix, load) -> None:
    """Not even a cycle, which would stay until the next collection, through the compilation."""
    model = Model()
    x = model.input("TENSOR_FLOAT32", (1, 64))
    weights = np.ones((32, 64), np.float32)
    model.outputs(model.fully_connected(x, weights, np.zeros(32, np.float32)))
    model.finish()
    model.save(tmp_path / f"model{suffix}")
    data = (tmp_path / f"model{suffix}").read_bytes()
    before = sys.getrefcount(data)
    again = load(data)
    assert sys.getrefcount(data) == before
    ones = np.ones((1, 64), np.float32)
    np.testing.assert_array_equal(nnapi_shim.Compilation(again).run(ones), np.full((1, 32), 64.0))
