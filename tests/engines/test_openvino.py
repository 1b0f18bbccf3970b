"""The devices of OpenVINO."""

import tempfile
import time

import numpy as np
import pytest

from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import CacheHandles
from tests.conformance.vectors import WHY_SKIPPED, examples
from tests.runtime.hal_models import Bound, Builder, chain

pytestmark = pytest.mark.integration
pytest.importorskip("onnx")
openvino = pytest.importorskip("openvino")

from tests.engines import large, vectors  # noqa: E402 - these need both
from tests.engines.device_memory import check_chain, check_types, check_unchanged  # noqa: E402

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


def test_unknown_dimensions_that_come_again(monkeypatch):
    """From the second time on they are those of a model of their own."""
    from nnapi_shim.drivers.engines import openvino as engine_of

    asked = []
    settled = engine_of.OpenNetwork.settled
    monkeypatch.setattr(
        engine_of.OpenNetwork, "settled", lambda own, x: asked.append(x[0]) or settled(own, x)
    )
    b = Builder()
    x, out = b.input((0, 3)), b.temporary((0, 3))
    b.operation(O.SOFTMAX, [x, b.constant(1.0, T.FLOAT32)], [out])
    model = b.model([x], [out])
    ready = prepared(model)
    for rows in (2, 5, 2, 5):
        given = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
        bound = Bound(ready, model, [given], room=given.nbytes)
        powers = np.exp(given - given.max(1, keepdims=True))
        for _ in range(2):
            np.testing.assert_allclose(
                bound.outputs()[0], powers / powers.sum(1, keepdims=True), rtol=1e-6
            )
    assert asked == [(2, 3), (5, 3)]


@pytest.mark.parametrize("channels", [(4,), (1, 4), (1, 1, 1, 4)])
def test_slopes_of_fewer_dimensions(channels):
    """OpenVINO takes a slope of rank 1 for one of the second axis, if that has as many elements."""
    b = Builder()
    slopes = np.arange(1, 5, dtype=np.float32).reshape(channels)
    x, out = b.input((1, 4, 5, 4)), b.temporary((1, 4, 5, 4))
    b.operation(O.PRELU, [x, b.constant(slopes, T.TENSOR_FLOAT32)], [out])
    model = b.model([x], [out])
    given = np.full((1, 4, 5, 4), -1, np.float32)
    bound = Bound(prepared(model), model, [given], room=given.nbytes)
    assert np.array_equal(bound.outputs()[0], given * slopes)


def test_a_model_that_is_kept(tmp_path, monkeypatch):
    """The second compilation reads it; what a driver does not take any more is compiled."""
    from nnapi_shim.drivers.engines import openvino as engine_of

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "cache").mkdir(mode=0o700)
    cache = CacheHandles(str(tmp_path / "cache"), bytes(32))
    compiled = []
    compile = engine_of.Engine._compile
    monkeypatch.setattr(engine_of.Engine, "_compile", lambda *a: compiled.append(1) or compile(*a))

    def check(rows):
        model, device = chain("ADD MUL", (rows, 3)), vectors.device(DEVICE)
        ready = device.prepareModel(
            model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, cache
        )
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        bound = Bound(ready, model, [x], room=24)
        for _ in range(3):
            assert np.array_equal(bound.outputs()[0], (x + x) * (x + x))
        return len(compiled)

    assert [check(2), check(2)] == [1, 1]
    assert [check(0), check(0)] == [3, 4], "unknown rows that come twice are compiled, not kept"
    foreign = b"of another driver"
    monkeypatch.setattr(
        engine_of, "kept", lambda c, a, compiled, loads: loads(foreign) or compiled()
    )
    assert check(2) == 5


def test_a_model_that_cannot_be_written(tmp_path, monkeypatch):
    """It is compiled each time, and nothing is kept."""
    from nnapi_shim.drivers.engines import openvino as engine_of

    class Unwritten:
        def __init__(self, compiled):
            self.compiled = compiled

        def export_model(self, stream):
            raise RuntimeError("not implemented")

        def __getattr__(self, name):
            return getattr(self.compiled, name)

    compile = engine_of.Engine._compile
    monkeypatch.setattr(engine_of.Engine, "_compile", lambda *a: Unwritten(compile(*a)))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "cache").mkdir(mode=0o700)
    model, cache = chain("ADD", (2,)), CacheHandles(str(tmp_path / "cache"), bytes(32))
    for _ in range(2):
        ready = vectors.device(DEVICE).prepareModel(
            model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, cache
        )
        x = np.float32([1, 2])
        assert np.array_equal(Bound(ready, model, [x], room=8).outputs()[0], x + x)
    assert not [*(tmp_path / "cache").iterdir()]


@pytest.mark.parametrize("check", [check_chain, check_unchanged, check_types])
def test_memory_of_the_device(check):
    check(vectors.device(DEVICE))


@pytest.mark.parametrize(("place", "method"), [("GPU.0", "create_tensor"), ("NPU", "create_host")])
def test_where_memory_lies(place, method, monkeypatch):
    """No GPU or NPU is needed: its context is asked for the tensor, which is bound and copied."""
    from nnapi_shim.drivers.engines import openvino as engine_of

    asked = []

    class Context:
        def create_tensor(self, element, shape, properties):
            asked.append(("create_tensor", properties))
            return openvino.Tensor(element, shape)

        def create_host_tensor(self, element, shape):
            asked.append(("create_host",))
            return openvino.Tensor(element, shape)

    class Core:
        available_devices = (place,)

        def get_property(self, name, what):
            return "of the test"

        def get_default_context(self, name):
            assert name == place
            return Context()

    monkeypatch.setattr(engine_of.openvino, "Core", Core)
    engine = engine_of.Engine()
    (target,) = engine.targets()
    memory = engine.allocated(target, T.TENSOR_FLOAT32, (2,))
    assert [each[0] for each in asked] == [method]
    given, back = np.float32([1, 2]), np.zeros(2, np.float32)
    memory.write(given.ctypes.data, 8)
    memory.read(back.ctypes.data, 8)
    assert np.array_equal(given, back)


def test_a_deadline():
    model = chain("ADD")
    bound = Bound(prepared(model), model, [np.float32([1, 2])], room=8)
    bound.compute(time.monotonic_ns() + 60 * 10**9)
    assert bound.buffers[0].view(np.float32).tolist() == [2, 4]


@pytest.mark.parametrize(("size", "stride", "runs"), [(1, 1, True), (1, 2, False), (2, 2, True)])
@pytest.mark.parametrize("type", [T.TENSOR_QUANT8_ASYMM, T.TENSOR_FLOAT32])
def test_a_stride_that_gets_lost(size, stride, runs, type):
    scales = {} if type is T.TENSOR_FLOAT32 else {"scale": 0.5}
    bias_type = T.TENSOR_FLOAT32 if type is T.TENSOR_FLOAT32 else T.TENSOR_INT32
    b = Builder()
    x = b.input((1, 4, 4, 1), type, **scales)
    weights = b.constant(np.ones((1, size, size, 1)), type, **scales)
    bias = b.constant(np.zeros(1), bias_type, **({"scale": 0.25} if scales else {}))
    valid, step, none = (b.constant(value, T.INT32) for value in (2, stride, 0))
    out = b.temporary((1, 4 - size + 1 if stride == 1 else 2, 0, 1), type, **scales)
    b.operation(O.CONV_2D, [x, weights, bias, valid, step, step, none], [out])
    (reason,) = vectors.device(DEVICE).getReasons(b.model([x], [out]))
    assert (reason == "") is (runs or type is T.TENSOR_FLOAT32), reason


def test_constants_above_the_limit_of_a_file(monkeypatch, tmp_path):
    """They are in files meanwhile."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    large.check_with_a_lower_limit(DEVICE, monkeypatch)
    assert not [*tmp_path.iterdir()]


def test_vectors():
    """One in sixty, also in memory of the device; `make check-engines` computes all."""
    chosen = examples()[::60] if examples() else pytest.skip(WHY_SKIPPED)
    outcomes = [vectors.outcome(example, DEVICE, by_memory=True) for example in chosen]
    assert not [outcome for outcome in outcomes if outcome.what == "wrong"]
    assert len([outcome for outcome in outcomes if outcome.what == "right"]) > len(chosen) / 2
