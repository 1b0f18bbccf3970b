"""The trained model of examples/shapes: its files, and the program that makes them."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import nnapi_shim

pytest.importorskip("tflite")
pytest.importorskip("PIL")

ROOT = Path(__file__).resolve().parents[2]
SHAPES = ROOT / "examples" / "shapes"
LABELS = (SHAPES / "labels.txt").read_text().split()
MODELS = ("float.tflite", "float.onnx", "int8.tflite")
MOST_BYTES = 200_000
"""Of models and pictures together: everybody downloads them with the repository."""


@pytest.fixture
def train(monkeypatch):
    """The module train."""
    monkeypatch.syspath_prepend(str(SHAPES))
    yield importlib.import_module("train")
    for name in ("train", "network", "drawing"):
        sys.modules.pop(name, None)


def test_files_are_small():
    files = [path for path in SHAPES.rglob("*") if path.suffix in (".tflite", ".onnx", ".png")]
    assert len(files) == len(MODELS) + len(LABELS) + 1
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


@pytest.mark.parametrize("device", ["nnapi-cpu", "nnapi-reference"])
@pytest.mark.parametrize("name", MODELS)
def test_every_picture_is_recognized(name, device):
    from PIL import Image

    compilation = nnapi_shim.Compilation(nnapi_shim.load(SHAPES / name), device)
    for number, label in enumerate(LABELS):
        pixels = np.asarray(Image.open(SHAPES / "pictures" / label / "0.png"), np.float32)[None]
        value = (pixels - 128).astype(np.int8) if name == "int8.tflite" else pixels / 255
        assert compilation.run(value).argmax() == number, label


def test_the_accuracy_of_the_page(train):
    """On all test pictures; the page has the numbers with one decimal."""
    pictures, numbers = train.dataset(train.TESTED, train.SIZE, seed=2)
    page = (SHAPES / "README.md").read_text()
    for name in ("float.tflite", "int8.tflite"):
        share = train.accuracy(nnapi_shim.load(SHAPES / name), pictures, numbers)
        assert f"{share:.1%} " in page, (name, share)


def test_the_program_makes_all_files(train, tmp_path, monkeypatch, capsys):
    """A short training, in another folder."""
    monkeypatch.setattr(train, "FOLDER", tmp_path)
    for name, value in (("TRAINED", 128), ("TESTED", 20), ("EPOCHS", 1)):
        monkeypatch.setattr(train, name, value)
    train.main()
    assert "epoch 1 of 1" in capsys.readouterr().out
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    kept = {path.relative_to(SHAPES) for path in SHAPES.rglob("*") if path.is_file()}
    scripts = {Path(name) for name in ("README.md", "train.py", "network.py", "drawing.py")}
    assert made == {path for path in kept - scripts if "__pycache__" not in path.parts}


def test_gradients(train):
    """Those of some weights and biases of each layer are the slopes of the loss, in float64."""
    network = sys.modules["network"]
    generator = np.random.default_rng(0)
    pictures, numbers = train.dataset(4, train.SIZE, seed=5)
    x = pictures.astype(np.float64) / 255
    parameters = [[p.astype(np.float64) for p in pair] for pair in network.initial(generator)]
    for _, bias in parameters:  # 0 is a corner of RELU6, which has no slope there
        bias += generator.uniform(0.05, 0.2, bias.shape)
    rows = np.arange(len(x))

    def loss():
        return -np.log(network.softmax(network.forward(parameters, x)[0])[rows, numbers]).sum()

    scores, inputs = network.forward(parameters, x)
    difference = network.softmax(scores)
    difference[rows, numbers] -= 1
    slopes = network.backward(parameters, inputs, difference)
    for pair, result in zip(parameters, slopes, strict=True):
        for values, slope in zip(pair, result, strict=True):
            for at in generator.integers(0, values.size, 3):
                before = values.flat[at]
                values.flat[at] = before + 1e-7
                above = loss()
                values.flat[at] = before - 1e-7
                below = loss()
                values.flat[at] = before
                expected = (above - below) / 2e-7
                assert slope.flat[at] == pytest.approx(expected, rel=1e-3, abs=1e-6)
