"""How near the outputs of a trained model come to LiteRT's, and how near they have to come."""

from collections.abc import Sequence

import numpy as np

from nnapi_shim import Compilation
from tests.trained_models.manifest import Array, Trained, entries, key_points

MODELS = list(entries())
FLOATS = [name for name in MODELS if name.endswith("_float")]
FLOAT_TOLERANCE = 1e-4
"""Absolute and relative, to LiteRT."""
SSD = "ssd_mobilenet_v1_coco_quant"
Outputs = list[Array]
"""Of one case."""


def outputs_on(model: Trained, devices: str | Sequence[str]) -> tuple[Outputs, ...]:
    """The outputs for each case."""
    results = []
    with Compilation(model.model, devices) as compiled:
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
    """What LiteRT gives with its optimised kernels."""
    return [case.optimised for case in model.cases]


def require_near(model: Trained, outputs: Sequence[Outputs]) -> None:
    """Raise AssertionError if outputs are farther from LiteRT's than the folder's README allows."""
    if model.name == "movenet_lightning_ptq":
        points = outputs[0][0].reshape(-1, 3)[:, :2]
        np.testing.assert_allclose(points, key_points(), 0, 0.05)
    elif model.name == SSD:
        # Its optimised kernels give some detections in another order.
        for arguments, case in zip(outputs, model.cases, strict=True):
            boxes, classes, scores, number = case.reference
            np.testing.assert_allclose(arguments[0], boxes, 0, 0.02)
            np.testing.assert_array_equal(arguments[1], classes)
            np.testing.assert_allclose(arguments[2], scores, 0, 0.02)
            np.testing.assert_array_equal(arguments[3], number)
    elif model.name in FLOATS:
        for arguments, case in zip(outputs, model.cases, strict=True):
            for ours, theirs in zip(arguments, case.optimised, strict=True):
                np.testing.assert_allclose(ours, theirs, FLOAT_TOLERANCE, FLOAT_TOLERANCE)
        require_classes(model, outputs)
    else:
        for result, bound in zip(largest(outputs, optimised(model)), model.bounds, strict=True):
            assert result <= max(1, bound) + 1, f"{result:g} steps apart, bound {bound:g}"
        require_classes(model, outputs)


def require_classes(model: Trained, outputs: Sequence[Outputs]) -> None:
    """Raise AssertionError if the top class of a case is another one."""
    if "top1" in model.entry:
        assert [int(np.argmax(case[0])) for case in outputs] == model.entry["top1"]
