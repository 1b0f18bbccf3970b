"""The devices of ONNX Runtime."""

import time

import numpy as np
import pytest

from nnapi_shim import NnapiError, ResultCode
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from tests.conformance.vectors import WHY_SKIPPED, examples
from tests.runtime.hal_models import Bound, chain

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tests.engines import vectors  # noqa: E402 - it needs both

DEVICE = "onnxruntime-cpu"


def prepared(model, preference=ExecutionPreference.FAST_SINGLE_ANSWER):
    return vectors.device(DEVICE).prepareModel(model, preference, Priority.MEDIUM, None, None)


def test_it_has_the_providers_of_the_package():
    assert vectors.device(DEVICE).version == onnxruntime.__version__


@pytest.mark.parametrize("preference", ExecutionPreference)
def test_a_model(preference):
    model = chain("ADD MUL", (2, 3))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    bound = Bound(prepared(model, preference), model, [x], room=24)
    for _ in range(2):
        assert np.array_equal(bound.outputs()[0], (x + x) * (x + x))


def test_a_deadline():
    model = chain("ADD")
    bound = Bound(prepared(model), model, [np.float32([1, 2])], room=8)
    bound.compute(time.monotonic_ns() + 60 * 10**9)
    assert bound.buffers[0].view(np.float32).tolist() == [2, 4]


@pytest.mark.filterwarnings("ignore:Specified provider:UserWarning")
def test_a_provider_that_is_listed_and_cannot_be_used(monkeypatch):
    from nnapi_shim.drivers.engines import onnxruntime as engine_of

    engine = engine_of.Engine()
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])
    (target,) = engine.targets()
    assert target.name == "onnxruntime-cuda"
    from nnapi_shim.drivers.engines.device import EngineDevice

    device = EngineDevice(engine, target)
    with pytest.raises(NnapiError, match="lists CUDAExecutionProvider, and cannot use it") as e:
        device.prepareModel(chain("ADD"), ExecutionPreference.LOW_POWER, Priority.LOW, None, None)
    assert e.value.code is ResultCode.OP_FAILED


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_vectors():
    """One in sixty; `make check-engines` computes all."""
    chosen = examples()[::60] if examples() else pytest.skip(WHY_SKIPPED)
    outcomes = [vectors.outcome(example, DEVICE) for example in chosen]
    assert not [outcome for outcome in outcomes if outcome.what == "wrong"]
    assert len([outcome for outcome in outcomes if outcome.what == "right"]) > len(chosen) / 2
