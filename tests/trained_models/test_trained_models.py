"""Quantized trained models: nnapi-cpu gives what nnapi-reference gives, to the last step.

What both give is as near to LiteRT as the README of the models asks, and where its NNAPI delegate
gave a whole model to Android's reference, exactly as far from it as that.
"""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest

from nnapi_shim import Compilation
from tests.conformance.flatten import FLOAT32_TOLERANCE
from tests.trained_models.flat_model import Array
from tests.trained_models.manifest import (
    WHY_SKIPPED,
    Trained,
    android,
    entries,
    flat_model,
    key_points,
    quantized,
    trained,
)
from tests.trained_models.operators import not_expressed, whole_model

pytestmark = pytest.mark.skipif(not entries(), reason=WHY_SKIPPED)

DEVICES = ("nnapi-cpu", "nnapi-reference")
NOT_EXPRESSED = {
    # Of 8 bits with a state of 16: QUANTIZED_LSTM leaves out the biases that it has.
    "keras_lstm_mnist_ptq": ["UNIDIRECTIONAL_SEQUENCE_LSTM"]
}
MODELS = [name for name in quantized() if name not in NOT_EXPRESSED]
WHOLE = [name for name in MODELS if android(name)["delegate_kernels"] == 1]
"""Those that the delegate gave to Android's reference in one piece."""

Outputs = list[Array]
"""Of one case."""


@cache
def computed(name: str, device: str) -> tuple[Outputs, ...]:
    """The outputs of a model for each of its cases."""
    model = trained(name)
    with whole_model(model.flat) as finished, Compilation(finished, device) as compiled:
        results = [compiled.run(*case.inputs) for case in model.cases]
    return tuple(list(r) if isinstance(r, tuple) else [r] for r in results)


def largest(some: Sequence[Outputs], others: Sequence[Outputs]) -> list[float]:
    """Per output, the largest difference in any case."""
    return [
        max(float(np.abs(a.astype(np.float64) - b).max()) for a, b in zip(*columns, strict=True))
        for columns in zip(zip(*some, strict=True), zip(*others, strict=True), strict=True)
    ]


def optimised(model: Trained) -> list[Outputs]:
    return [case.optimised for case in model.cases]


def top_classes(outputs: Sequence[Outputs]) -> list[int]:
    return [int(np.argmax(case[0])) for case in outputs]


def test_what_is_left_out() -> None:
    left_out = {name: not_expressed(flat_model(name)) for name in quantized()}
    assert {name: why for name, why in left_out.items() if why} == NOT_EXPRESSED
    assert (len(MODELS), len(WHOLE)) == (10, 9)


@pytest.mark.parametrize("name", MODELS)
def test_devices_agree(name: str) -> None:
    for case, (cpu, reference) in enumerate(
        zip(*(computed(name, d) for d in DEVICES), strict=True)
    ):
        for index, (a, b) in enumerate(zip(cpu, reference, strict=True)):
            if a.dtype == np.float32:
                absolute, relative = FLOAT32_TOLERANCE
                np.testing.assert_allclose(a, b, relative, absolute)
            else:
                steps = np.abs(a.astype(int) - b).max()
                assert steps == 0, f"case {case}, output {index}: {steps} steps apart"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", MODELS)
def test_distance_to_litert(name: str, device: str) -> None:
    model, outputs = trained(name), computed(name, device)
    if name == "movenet_lightning_ptq":
        points = outputs[0][0].reshape(-1, 3)[:, :2]
        np.testing.assert_allclose(points, key_points(), 0, 0.05)
    elif name == "ssd_mobilenet_v1_coco_quant":
        # Its optimised kernels give some detections in another order.
        for given, case in zip(outputs, model.cases, strict=True):
            boxes, classes, scores, number = case.reference
            np.testing.assert_allclose(given[0], boxes, 0, 0.02)
            np.testing.assert_array_equal(given[1], classes)
            np.testing.assert_allclose(given[2], scores, 0, 0.02)
            np.testing.assert_array_equal(given[3], number)
    else:
        for found, bound in zip(largest(outputs, optimised(model)), model.bounds, strict=True):
            assert found <= max(1, bound) + 1
        if "top1" in model.entry:
            assert top_classes(outputs) == model.entry["top1"]


@pytest.mark.parametrize("name", WHOLE)
def test_distance_of_android(name: str) -> None:
    """nnapi-reference is as far from LiteRT's optimised kernels as Android's reference was."""
    model = trained(name)
    count = android(name)["cases"]
    found = largest(computed(name, "nnapi-reference")[:count], optimised(model)[:count])
    for output, distance, theirs in zip(
        model.cases[0].optimised, found, android(name)["max_abs_diff"], strict=True
    ):
        tolerance = FLOAT32_TOLERANCE[0] if output.dtype == np.float32 else 0
        assert distance == pytest.approx(theirs, rel=0, abs=tolerance)


HEADINGS = (
    "model",
    "operations",
    "inputs",
    "devices",
    "optimised",
    "bound",
    "Android",
    "top classes",
)


def rows() -> Iterator[tuple[str, ...]]:
    """Of each model the largest differences of any output: between the devices, to LiteRT."""
    for name in MODELS:
        model = trained(name)
        cpu, reference = (computed(name, device) for device in DEVICES)
        with whole_model(model.flat) as finished:
            operations = len(finished.finished.main.operations)
        apart = largest(cpu, reference), largest(reference, optimised(model)), model.bounds
        figures = [f"{max(column):g}" for column in (*apart, android(name)["max_abs_diff"])]
        tops = ",".join(map(str, top_classes(reference))) if "top1" in model.entry else "-"
        yield (name, str(operations), str(len(model.cases)), *figures, tops)


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints what was found; `optimised` is the distance of nnapi-reference to those kernels."""
    lines = [HEADINGS, *rows()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    with capsys.disabled():
        print()
        for line in lines:
            print("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip())
    assert len(lines) == 1 + len(MODELS)
