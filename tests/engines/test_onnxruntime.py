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
from nnapi_shim.hal.types import CacheHandles
from tests.conformance.vectors import WHY_SKIPPED, examples
from tests.runtime.hal_models import Bound, Builder, chain

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from nnapi_shim import savers  # noqa: E402
from nnapi_shim.drivers.engines import onnxruntime as engine_of  # noqa: E402
from nnapi_shim.drivers.engines.constants_apart import with_constants_apart  # noqa: E402
from nnapi_shim.drivers.engines.device import EngineDevice  # noqa: E402
from nnapi_shim.drivers.engines.engine import File, Wishes  # noqa: E402
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
    engine = engine_of.Engine()
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])
    (target,) = engine.targets()
    assert target.name == "onnxruntime-cuda"
    device = EngineDevice(engine, target)
    with pytest.raises(NnapiError, match="lists CUDAExecutionProvider, and cannot use it") as e:
        device.prepareModel(chain("ADD"), ExecutionPreference.LOW_POWER, Priority.LOW, None, None)
    assert e.value.code is ResultCode.OP_FAILED


class Writer:
    """A double of a provider that writes what it has compiled: the model behind a mark."""

    PROVIDER = "TensorrtExecutionProvider"

    def __init__(self, monkeypatch):
        self.mark = b"compiled by driver 1:"
        self.takes, self.writes = True, True
        self.compiled, self.loaded = [], []
        compile, read = self.compile, self.read
        original = onnxruntime.InferenceSession

        class Compiler:
            def __init__(self, options, content, **given):
                assert options.log_severity_level == 4
                assert given == {
                    "embed_compiled_data_into_model": True,
                    "flags": onnxruntime.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED,
                    "graph_optimization_level": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
                }
                self.content = content

            def compile_to_bytes(self):
                return compile(self.content)

        def session(content, options, providers):
            assert providers == [self.PROVIDER, "CPUExecutionProvider"]
            made = original(read(content), options, providers=providers[1:])
            made.get_providers = lambda: providers
            return made

        class Options(onnxruntime.SessionOptions):
            def add_provider(self, name, options):
                assert name == Writer.PROVIDER

        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [self.PROVIDER])
        monkeypatch.setattr(onnxruntime, "ModelCompiler", Compiler)
        monkeypatch.setattr(onnxruntime, "InferenceSession", session)
        monkeypatch.setattr(onnxruntime, "SessionOptions", Options)

    def compile(self, content):
        self.compiled.append(content)
        if not self.writes:
            raise onnxruntime.capi.onnxruntime_pybind11_state.Fail("no nodes were compiled")
        return self.mark + content

    def read(self, content):
        if not content.startswith(b"compiled by"):
            return content
        self.loaded.append(content)
        if not (self.takes and content.startswith(self.mark)):
            raise onnxruntime.capi.onnxruntime_pybind11_state.EPFail("of another driver")
        return content.removeprefix(self.mark)

    def check(self, cache, model=None):
        """Compile and run; how often it compiled and how often it took what was written so far."""
        engine = engine_of.Engine()
        device = EngineDevice(engine, *engine.targets())
        model = model or chain("ADD MUL", (2, 3))
        preference = ExecutionPreference.FAST_SINGLE_ANSWER
        ready = device.prepareModel(model, preference, Priority.MEDIUM, None, cache)
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        assert np.array_equal(Bound(ready, model, [x], room=24).outputs()[0], (x + x) * (x + x))
        return len(self.compiled), len(self.loaded)


@pytest.fixture
def writer(monkeypatch):
    return Writer(monkeypatch)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "cache").mkdir(mode=0o700)
    return CacheHandles(str(tmp_path / "cache"), bytes(32))


def test_what_a_provider_has_compiled_is_kept(writer, cache):
    assert [writer.check(cache) for _ in range(3)] == [(1, 1), (1, 2), (1, 3)]
    assert writer.check(None) == (1, 3)


def test_what_was_kept_is_made_again(writer, cache, capfd):
    """With another driver, and another version of ONNX Runtime, and if it is damaged."""
    writer.check(cache)
    writer.mark = b"compiled by driver 2:"
    assert [writer.check(cache), writer.check(cache)] == [(2, 3), (2, 4)]
    (file,) = Path(cache.directory).iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert [writer.check(cache), writer.check(cache)] == [(3, 5), (3, 6)]
    assert "damaged" in capfd.readouterr().err


def test_a_file_of_another_version_is_not_used(writer, cache, monkeypatch):
    writer.check(cache)
    monkeypatch.setattr(onnxruntime, "__version__", "1.99")
    assert [writer.check(cache), writer.check(cache)] == [(2, 2), (2, 3)]


def test_what_a_provider_does_not_write_is_not_kept(writer, cache, monkeypatch, capfd):
    """But that it does not, so that it is asked once."""
    writer.writes = False
    assert [writer.check(cache), writer.check(cache)] == [(1, 0), (1, 0)]
    (file,) = Path(cache.directory).iterdir()
    assert file.stat().st_size < 64 and not capfd.readouterr().err
    file.unlink()
    monkeypatch.setenv("NNAPI_SHIM_LOG", "debug")
    assert writer.check(cache) == (2, 0)
    why = "onnxruntime-tensorrt does not write its compiled models: no nodes were compiled"
    assert why in capfd.readouterr().err
    file.unlink()
    monkeypatch.delattr(onnxruntime, "ModelCompiler")  # as in old versions
    assert writer.check(cache) == (2, 0)


def test_what_a_provider_writes_and_does_not_take_is_not_kept(writer, cache, capfd):
    """As the one for OpenVINO in onnxruntime-openvino 1.24.1."""
    writer.takes = False
    assert [writer.check(cache), writer.check(cache)] == [(1, 1), (1, 1)]
    (file,) = Path(cache.directory).iterdir()
    assert file.stat().st_size < 64 and not capfd.readouterr().err


def test_other_providers_keep_nothing(writer, cache, monkeypatch):
    monkeypatch.setattr(Writer, "PROVIDER", "CUDAExecutionProvider")
    assert writer.check(cache) == (0, 0)


def test_a_model_with_constants_beside_it_is_not_kept(writer, cache, monkeypatch):
    file = File(b"", (), (), {"constants": np.zeros(2)})
    wishes = Wishes(ExecutionPreference.LOW_POWER, Priority.MEDIUM, False, 0, cache)
    engine = engine_of.Engine()
    monkeypatch.setattr(engine, "_network", lambda *given: given)
    (target,) = engine.targets()
    assert engine.compiled(target, file, wishes) == (target, file, wishes)
    assert not writer.compiled


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


@pytest.mark.parametrize(("features", "forbids"), [({"avx2"}, True), ({"avx512_vnni"}, False)])
def test_sums_are_kept_from_saturating_where_they_could(features, forbids, monkeypatch):
    monkeypatch.setattr(engine_of, "processor", lambda: ("x86", frozenset(features)))
    wishes = Wishes(ExecutionPreference.LOW_POWER, Priority.MEDIUM, False, 0, None)
    options = engine_of._options(wishes)
    try:
        entry = options.get_session_config_entry("session.x64quantprecision")
    except RuntimeError:
        entry = ""
    assert entry == ("1" if forbids else "")


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
