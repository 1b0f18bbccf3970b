"""Trained models, imported and exported again: LiteRT and ONNX Runtime give the same.

The expected outputs are those of LiteRT on the original files; manifest.json and README.md beside
them say how near a right run comes.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi_shim.api.arrays import DTYPES
from nnapi_shim.api.model import Model
from nnapi_shim.formats.load import load
from tests.formats import peers

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "models"
WHY_SKIPPED = "the trained models, ../shared/models, are not here"

MANIFEST = FOLDER / "manifest.json"
MODELS = json.loads(MANIFEST.read_text())["models"] if MANIFEST.exists() else []

CASES = 2
STEPS = {
    "mobilenet_v1_025_224_quant": 6,
    "mobilenet_v2_224_quant": 4,
    "resnet8_cifar_int8": 7,
    "tf2_mobilenet_v2_224_ptq": 8,
}
"""Steps of 1/256 by which scores differ in ONNX Runtime, where layers are computed in float32 and
round otherwise: XNNPACK's differ by 6, 3, 7 and 3. The best class is the same.
"""


@cache
def loaded(name: str) -> Model:
    """A model of the folder."""
    return load(FOLDER / f"{name}.tflite")


def arguments(model: Model, given: list[Any], format: str) -> list[Any]:
    """The inputs as the exported file takes them: with first states in ONNX."""
    states = {state.input: state.initial for state in model.carried}
    rest = iter(given)
    actual = []
    for at, operand in enumerate(model.input_operands):
        if at not in states:
            actual.append(np.asarray(next(rest)).astype(DTYPES[operand.type]))
        elif format == "onnx":
            actual.append(states[at])
    return actual


@pytest.mark.skipif(not MODELS, reason=WHY_SKIPPED)
@pytest.mark.parametrize("format", sorted(peers.RUNS))
@pytest.mark.parametrize("entry", MODELS, ids=lambda entry: str(entry["name"]))
def test_exported_again(entry: dict[str, Any], format: str) -> None:
    """As near to the expected outputs as a right run of the original is."""
    model = loaded(entry["name"])
    content = peers.exported(model, format)
    cases = np.load(FOLDER / entry["npz"])
    for case in range(min(CASES, entry["cases"])):
        given = [cases[f"in{case}_{at}"] for at in range(len(entry["inputs"]))]
        results = peers.RUNS[format](content, arguments(model, given, format))
        expected = [cases[f"opt{case}_{at}"] for at in range(len(entry["outputs"]))]
        carried = {state.output for state in model.carried} if format == "onnx" else set()
        results = [value for at, value in enumerate(results) if at not in carried]
        differences = [difference(*pair) for pair in zip(expected, results, strict=True)]
        print(f"{entry['name']} as {format}, case {case}: largest differences {differences}")
        check(entry, format, expected, results)


def difference(expected: Any, result: Any) -> float:
    """The largest one."""
    values = [np.asarray(v, np.float64).ravel() for v in (expected, result)]
    return float(np.abs(values[0] - values[1]).max())


def check(entry: dict[str, Any], format: str, expected: list[Any], results: list[Any]) -> None:
    """The rules of README.md there."""
    name = entry["name"]
    steps = [max(1, own) + 1 for own in entry["max_abs_diff_opt_vs_ref"]]
    if format == "onnx":
        steps = [STEPS.get(name, own) for own in steps]
    assert [np.size(v) for v in results] == [np.size(v) for v in expected]
    if name.startswith("movenet"):  # kernels differ in scores; key points must agree
        points = [np.asarray(v).reshape(-1, 3)[:, :2] for v in (expected[0], results[0])]
        scores = np.asarray(expected[0]).reshape(-1, 3)[:, 2]
        assert np.abs(points[0] - points[1])[scores > 0.5].max(initial=0) < 0.05
    elif name.startswith("ssd"):  # boxes, classes, scores, count; the sure ones
        rows = np.asarray(expected[2]).ravel() > 0.5
        for at, bound in ((0, 0.02), (1, 0), (2, 0.02)):
            pair = [np.asarray(v[at]).reshape(len(rows), -1)[rows] for v in (expected, results)]
            assert np.abs(pair[0] - pair[1]).max(initial=0) <= bound
    else:
        for reference, actual, most in zip(expected, results, steps, strict=True):
            if reference.dtype.kind == "f":
                assert np.allclose(actual, reference.reshape(np.shape(actual)), 1e-4, 1e-4)
            else:
                assert difference(reference, actual) <= most
                assert np.argmax(reference) == np.argmax(actual)
