"""The devices of OpenVINO."""

import time

import numpy as np
import pytest

from nnapi_shim.hal.enums import ExecutionPreference, Priority
from tests.conformance.vectors import WHY_SKIPPED, examples
from tests.runtime.hal_models import Bound, chain

pytestmark = pytest.mark.integration
pytest.importorskip("onnx")
openvino = pytest.importorskip("openvino")

from tests.engines import vectors  # noqa: E402 - it needs both

DEVICE = "openvino-cpu"


def prepared(model, preference=ExecutionPreference.FAST_SINGLE_ANSWER, priority=Priority.MEDIUM):
    return vectors.device(DEVICE).prepareModel(model, preference, priority, None, None)


def test_its_version():
    assert openvino.__version__.startswith(vectors.device(DEVICE).version)


@pytest.mark.parametrize(
    ("preference", "priority"), [*zip(ExecutionPreference, Priority, strict=True)]
)
def test_a_model(preference, priority):
    model = chain("ADD MUL", (2, 3))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    bound = Bound(prepared(model, preference, priority), model, [x], room=24)
    for _ in range(2):
        assert np.array_equal(bound.outputs()[0], (x + x) * (x + x))


def test_a_deadline():
    model = chain("ADD")
    bound = Bound(prepared(model), model, [np.float32([1, 2])], room=8)
    bound.compute(time.monotonic_ns() + 60 * 10**9)
    assert bound.buffers[0].view(np.float32).tolist() == [2, 4]


def test_vectors():
    """One in sixty; `make check-engines` computes all."""
    chosen = examples()[::60] if examples() else pytest.skip(WHY_SKIPPED)
    outcomes = [vectors.outcome(example, DEVICE) for example in chosen]
    assert not [outcome for outcome in outcomes if outcome.what == "wrong"]
    assert len([outcome for outcome in outcomes if outcome.what == "right"]) > len(chosen) / 2
