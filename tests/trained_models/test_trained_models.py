"""Trained models from their files: nnapi-cpu gives what nnapi-reference gives, quantized ones to
the last step.

What both give is as near to LiteRT as the README of the models asks, and where its NNAPI delegate
gave a whole quantized model to Android's reference, exactly as far from it as that.
"""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest

from nnapi_shim import Compilation
from nnapi_shim.tools.explain import explain
from tests.conformance.flatten import FLOAT32_TOLERANCE
from tests.trained_models.manifest import (
    WHY_SKIPPED,
    Array,
    Trained,
    android,
    entries,
    key_points,
    trained,
)

pytestmark = pytest.mark.skipif(not entries(), reason=WHY_SKIPPED)

DEVICES = ("nnapi-cpu", "nnapi-reference")
MODELS = list(entries())
FLOATS = [name for name in MODELS if name.endswith("_float")]
QUANTIZED = [name for name in MODELS if name not in FLOATS]
WHOLE = [
    name
    for name in QUANTIZED
    if android(name)["delegate_kernels"] == 1 and name != "keras_lstm_mnist_ptq"
]
"""Those that the delegate gave to Android's reference in one piece."""
STATEFUL = {"mnist_lstm_float", "keras_lstm_mnist_ptq"}
FLOAT_TOLERANCE = 1e-4
"""Absolute and relative, to LiteRT."""
Outputs = list[Array]
"""Of one case."""


@cache
def computed(name: str, device: str) -> tuple[Outputs, ...]:
    """The outputs of a model for each of its cases."""
    model = trained(name)
    results = []
    with Compilation(model.model, device) as compiled:
        for case in model.cases:
            compiled.reset()
            results.append(compiled.run(*case.inputs))
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


def test_what_is_carried() -> None:
    assert (len(FLOATS), len(QUANTIZED), len(WHOLE)) == (9, 11, 9)
    assert {name for name in MODELS if trained(name).model.carried} == STATEFUL


@pytest.mark.parametrize("name", MODELS)
def test_devices_agree(name: str) -> None:
    for case, (cpu, reference) in enumerate(
        zip(*(computed(name, d) for d in DEVICES), strict=True)
    ):
        for index, (a, b) in enumerate(zip(cpu, reference, strict=True)):
            if a.dtype == np.float32:
                absolute, relative = FLOAT32_TOLERANCE
                if name in FLOATS:  # layer after layer
                    absolute = relative = FLOAT_TOLERANCE
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
        for arguments, case in zip(outputs, model.cases, strict=True):
            boxes, classes, scores, number = case.reference
            np.testing.assert_allclose(arguments[0], boxes, 0, 0.02)
            np.testing.assert_array_equal(arguments[1], classes)
            np.testing.assert_allclose(arguments[2], scores, 0, 0.02)
            np.testing.assert_array_equal(arguments[3], number)
    elif name in FLOATS:
        for arguments, case in zip(outputs, model.cases, strict=True):
            for ours, theirs in zip(arguments, case.optimised, strict=True):
                np.testing.assert_allclose(ours, theirs, FLOAT_TOLERANCE, FLOAT_TOLERANCE)
        _check_classes(model, outputs)
    else:
        for result, bound in zip(largest(outputs, optimised(model)), model.bounds, strict=True):
            assert result <= max(1, bound) + 1
        _check_classes(model, outputs)


def _check_classes(model: Trained, outputs: Sequence[Outputs]) -> None:
    if "top1" in model.entry:
        assert top_classes(outputs) == model.entry["top1"]


@pytest.mark.parametrize("name", WHOLE)
def test_distance_of_android(name: str) -> None:
    """nnapi-reference is as far from LiteRT's optimised kernels as Android's reference was."""
    model = trained(name)
    count = android(name)["cases"]
    result = largest(computed(name, "nnapi-reference")[:count], optimised(model)[:count])
    for output, distance, theirs in zip(
        model.cases[0].optimised, result, android(name)["max_abs_diff"], strict=True
    ):
        tolerance = FLOAT32_TOLERANCE[0] if output.dtype == np.float32 else 0
        assert distance == pytest.approx(theirs, rel=0, abs=tolerance)


HEADINGS = (
    "model",
    "device",
    "operations",
    "partitions",
    "inputs",
    "difference",
    "of LiteRT's own",
)


def rows() -> Iterator[tuple[str, ...]]:
    """Of each model on each device the largest difference of any output to LiteRT."""
    for name in MODELS:
        model = trained(name)
        for device in DEVICES:
            explained = explain(model.model, device)
            apart = max(largest(computed(name, device), optimised(model)))
            counts = len(model.model.operations), len(explained.steps), len(model.cases)
            figures = (f"{apart:g}", f"{max(model.bounds):g}")
            yield (name, device, *map(str, counts), *figures)


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Prints what was found."""
    lines = [HEADINGS, *rows()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    with capsys.disabled():
        print()
        for line in lines:
            print("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip())
    assert len(lines) == 1 + len(MODELS) * len(DEVICES)
