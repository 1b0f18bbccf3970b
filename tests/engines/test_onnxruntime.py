"""The devices of ONNX Runtime."""

import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim import NnapiError, ResultCode
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from tests.conformance.vectors import WHY_SKIPPED, examples
from tests.runtime.hal_models import Bound, Builder, chain

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from nnapi_shim import savers  # noqa: E402
from nnapi_shim.drivers.engines.constants_apart import with_constants_apart  # noqa: E402
from nnapi_shim.formats.graph import reading  # noqa: E402
from nnapi_shim.formats.onnx.exporting import writing  # noqa: E402
from tests.engines import large, vectors  # noqa: E402 - these need both
from tests.engines.device_memory import check_chain, check_types, check_unchanged  # noqa: E402

DEVICE = "onnxruntime-cpu"
ROOT = Path(__file__).resolve().parents[2]


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


@pytest.mark.parametrize("check", [check_chain, check_unchanged, check_types])
def test_memory_of_the_device(check):
    check(vectors.device(DEVICE))


def test_a_deadline():
    model = chain("ADD")
    bound = Bound(prepared(model), model, [np.float32([1, 2])], room=8)
    bound.compute(time.monotonic_ns() + 60 * 10**9)
    assert bound.buffers[0].view(np.float32).tolist() == [2, 4]


def test_where_memory_lies(monkeypatch):
    """On the device of the provider, if OrtValues can be there."""
    from nnapi_shim.drivers.engines import onnxruntime as engine_of

    asked = []
    monkeypatch.setattr(
        onnxruntime.OrtValue,
        "ortvalue_from_shape_and_type",
        lambda *arguments: asked.append(arguments),
    )
    providers = ["CUDAExecutionProvider", "TensorrtExecutionProvider", "QNNExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: providers)
    engine = engine_of.Engine()
    made = [engine.allocated(each, T.TENSOR_INT32, (2, 3)) for each in engine.targets()]
    assert [each is None for each in made] == [False, False, True]
    assert asked == [([2, 3], onnx.TensorProto.INT32, "cuda", 0)] * 2


@pytest.mark.parametrize(("isolated", "there"), [("", 2), ("onnxruntime", 0)])
def test_a_program_in_c(isolated, there):
    """c_examples/memory_domains.c, unchanged: two memories on the device, unless it is isolated."""
    program = ROOT / "build" / "c_examples" / "memory_domains"
    run = subprocess.run(
        [program],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "LD_LIBRARY_PATH": str(ROOT / "build" / "lib"),
            "NNAPI_SHIM_ENGINES": "onnxruntime",
            "NNAPI_SHIM_ISOLATE": isolated,
            "DEBUG_NN_ENABLED_DEVICES": DEVICE,
            "DEBUG_NN_VLOG": "memory",
        },
    )
    assert run.stdout == (ROOT / "c_examples" / "memory_domains.expected").read_text()
    assert run.stderr.count("8 bytes for TENSOR_FLOAT32[2]") == 2
    assert run.stderr.count(f"8 bytes for TENSOR_FLOAT32[2] on {DEVICE}") == there


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


def of_shared_weights():
    """Two FULLY_CONNECTED with the same int8 weights; sums of bytes in 16 bits would saturate."""
    signed = T.TENSOR_QUANT8_ASYMM_SIGNED
    b = Builder()
    weights = b.constant(np.full((8, 8), 127), signed, scale=1 / 512)
    bias = b.constant(np.zeros(8), T.TENSOR_INT32, scale=1 / 512)
    none = b.constant(0, T.INT32)
    x = value = b.input((1, 8), signed, scale=1.0, zero_point=-128)
    for _ in range(2):
        made = b.temporary((1, 8), signed, scale=1.0, zero_point=-128)
        b.operation(O.FULLY_CONNECTED, [value, weights, bias, none], [made])
        value = made
    return b.model([x], [value])


def test_constants_that_several_operations_share():
    """The option for exact sums refuses them on processors that need it."""
    model = of_shared_weights()
    x = np.full((1, 8), 127, np.int8)
    (result,) = Bound(prepared(model), model, [x], room=8).outputs()
    assert (result == 127).all(), "8 * 255 * 127 / 512 is above the largest value"


@pytest.mark.parametrize("name", ["Fail", "NotImplemented"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_model_that_is_refused_is_tried_with_constants_apart(name, times, monkeypatch):
    """Once; a second refusal is OP_FAILED with one line."""
    error = getattr(onnxruntime.capi.onnxruntime_pybind11_state, name)
    original, contents = onnxruntime.InferenceSession, []

    def session(content, *arguments, **others):
        contents.append(content)
        if len(contents) <= times:
            raise error("[ONNXRuntimeError] : 9 : no kernel\nfor QGemm(1)")
        return original(content, *arguments, **others)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    if times == 1:
        prepared(of_shared_weights())
    else:
        with pytest.raises(NnapiError, match=r"no kernel.*QGemm") as caught:
            prepared(of_shared_weights())
        assert caught.value.code is ResultCode.OP_FAILED
        assert "\n" not in caught.value.message
    assert len(contents) == 2 and contents[1] == with_constants_apart(contents[0])


def test_copies_of_constants():
    content, inputs, outputs = savers.exchange().written(of_shared_weights())
    apart = with_constants_apart(content)
    signed = onnx.TensorProto.INT8
    model = onnx.load_from_string(apart)
    onnx.checker.check_model(model)
    constants = {each.name for each in model.graph.initializer if each.data_type == signed}
    reads = [name for node in model.graph.node for name in node.input if name in constants]
    assert len(reads) == len({*reads}) > 1
    x = np.arange(-4, 4, dtype=np.int8).reshape(1, 8)
    results = [
        onnxruntime.InferenceSession(each).run(outputs, {inputs[0]: x})[0]
        for each in (content, apart)
    ]
    assert np.array_equal(*results)


def test_constants_above_the_limit_of_a_file(monkeypatch):
    large.check_with_a_lower_limit(DEVICE, monkeypatch)


@pytest.mark.parametrize("refusals", [0, 1])
def test_quantized_constants_above_the_limit_of_a_file(refusals, monkeypatch):
    """Also where the first attempt is refused: copies of constants have the same file."""
    original, left = onnxruntime.InferenceSession, [refusals]

    def session(content, *arguments, **others):
        if left[0]:
            left[0] -= 1
            raise onnxruntime.capi.onnxruntime_pybind11_state.Fail("no kernel")
        return original(content, *arguments, **others)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    monkeypatch.setattr(writing, "SMALL", 32)
    monkeypatch.setattr(reading, "LARGEST", 32)
    model = of_shared_weights()
    x = np.full((1, 8), 127, np.int8)
    (result,) = Bound(prepared(model), model, [x], room=8).outputs()
    assert (result == 127).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_vectors():
    """One in sixty, also in memory of the device; `make check-engines` computes all."""
    chosen = examples()[::60] if examples() else pytest.skip(WHY_SKIPPED)
    outcomes = [vectors.outcome(example, DEVICE, by_memory=True) for example in chosen]
    assert not [outcome for outcome in outcomes if outcome.what == "wrong"]
    assert len([outcome for outcome in outcomes if outcome.what == "right"]) > len(chosen) / 2
