"""Trained models from their files: nnapi-cpu gives what nnapi-reference gives, quantized ones to
the last step.

What both give is as near to LiteRT as the README of the models asks, and where its NNAPI delegate
gave a whole quantized model to Android's reference, exactly as far from it as that.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from nnapi_shim.tools.explain import explain
from tests.conformance.flatten import FLOAT32_TOLERANCE
from tests.trained_models.distance import (
    FLOAT_TOLERANCE,
    FLOATS,
    MODELS,
    Outputs,
    largest,
    optimised,
    outputs_on,
    require_near,
)
from tests.trained_models.manifest import WHY_SKIPPED, android, entries, trained

pytestmark = pytest.mark.skipif(not entries(), reason=WHY_SKIPPED)

DEVICES = ("nnapi-cpu", "nnapi-reference")
QUANTIZED = [name for name in MODELS if name not in FLOATS]
WHOLE = [
    name
    for name in QUANTIZED
    if android(name)["delegate_kernels"] == 1 and name != "keras_lstm_mnist_ptq"
]
"""Those that the delegate gave to Android's reference in one piece."""
STATEFUL = {"mnist_lstm_float", "keras_lstm_mnist_ptq"}


@cache
def computed(name: str, device: str) -> tuple[Outputs, ...]:
    """The outputs of a model for each of its cases."""
    return outputs_on(trained(name), device)


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
    require_near(trained(name), computed(name, device))


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
