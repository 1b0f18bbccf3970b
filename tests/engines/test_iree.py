"""The devices of IREE, and its compiler in a process of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim import NnapiError, ResultCode, log, savers
from nnapi_shim.drivers.engine_devices import of_engines
from nnapi_shim.drivers.engines import iree_targets
from nnapi_shim.drivers.engines.device import EngineDevice
from nnapi_shim.drivers.engines.iree_targets import ANY
from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, Priority
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import CacheHandles
from tests.conformance.vectors import WHY_SKIPPED, examples
from tests.runtime.hal_models import Bound, Builder, chain

pytestmark = pytest.mark.integration
pytest.importorskip("onnx")
pytest.importorskip("iree", reason="IREE is not installed (the extra iree)")

from iree import runtime  # noqa: E402 - these need both

from nnapi_shim.drivers.engines import iree, iree_compiler  # noqa: E402
from tests.engines import vectors  # noqa: E402
from tests.engines.device_memory import check_chain, check_types, check_unchanged  # noqa: E402

DEVICE = "iree-cpu"
NAMES = [entry.name for entry in of_engines("iree")]
VULKAN = "iree-vulkan.0"
RDNA3 = "--iree-vulkan-target=rdna3"
needs_vulkan = pytest.mark.skipif(VULKAN not in NAMES, reason="there is no device of Vulkan")


def prepared(model, deadline_ns=None, device=DEVICE, cache=None):
    preference = ExecutionPreference.FAST_SINGLE_ANSWER
    return vectors.device(device).prepareModel(
        model, preference, Priority.MEDIUM, deadline_ns, cache
    )


@pytest.mark.parametrize("device", [DEVICE, pytest.param(VULKAN, marks=needs_vulkan)])
def test_a_model(device):
    model = chain("ADD MUL", (2, 3))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = prepared(model, device=device)
    bound = Bound(made, model, [x], room=24)
    for _ in range(2):
        assert np.array_equal(bound.outputs()[0], (x + x) * (x + x))
        x += 1
    bound.compute(time.monotonic_ns() + 60 * 10**9)
    assert np.array_equal(bound.buffers[0].view(np.float32).reshape(2, 3), (x + x) * (x + x))
    short = Bound(made, model, [x], room=8)
    assert short.compute().status.name == "OUTPUT_INSUFFICIENT_SIZE"


@pytest.mark.parametrize(
    ("check", "device"),
    [
        (check_chain, DEVICE),
        (check_unchanged, DEVICE),
        pytest.param(check_types, DEVICE, marks=pytest.mark.slow),
        pytest.param(check_chain, VULKAN, marks=needs_vulkan),
        pytest.param(check_unchanged, VULKAN, marks=[needs_vulkan, pytest.mark.slow]),
        pytest.param(check_types, VULKAN, marks=[needs_vulkan, pytest.mark.slow]),
    ],
)
def test_memory_of_the_device(check, device):
    check(vectors.device(device))


def test_a_size_that_is_known_at_the_execution():
    model = chain("ADD", (0, 2))
    made = prepared(model)
    for rows in (1, 3):
        x = np.ones((rows, 2), np.float32)
        assert np.array_equal(Bound(made, model, [x]).outputs()[0], x + x)


def no_rows(device):
    model = chain("ADD", (0, 2))
    return Bound(prepared(model, device=device), model, [np.ones((0, 2), np.float32)])


def test_no_rows():
    (result,) = no_rows(DEVICE).outputs()
    assert result.shape == (0, 2)


@needs_vulkan
def test_no_rows_on_vulkan():
    """A newer IREE may compute them: then docs/engines.md can say so."""
    with pytest.raises(NnapiError, match="empty buffer range") as caught:
        no_rows(VULKAN).compute()
    assert caught.value.code is ResultCode.OP_FAILED


@needs_vulkan
def test_a_program_that_stands_in_for_a_gpu_is_a_processor():
    """Else models would go to it as to a GPU."""
    device = vectors.device(VULKAN)
    dumped = runtime.get_driver("vulkan")
    (first, *_) = dumped.query_available_devices()
    is_cpu = "type: cpu" in dumped.dump_device_info(first["device_id"])
    assert (device.type is DeviceType.CPU) is is_cpu
    speed = device.getCapabilities().operand_performance[T.TENSOR_FLOAT32].exec_time
    assert (speed > 1) is is_cpu


def test_a_machine_without_vulkan(monkeypatch, capfd):
    def refuse(name):
        raise RuntimeError("Error creating driver: UNAVAILABLE; no libvulkan.so")

    monkeypatch.setattr(log, "_noted", {})
    monkeypatch.setattr(iree.runtime, "get_driver", refuse)
    for _ in range(2):
        assert [target.name for target in iree.Engine().targets()] == ["iree-cpu"]
    (line,) = capfd.readouterr().err.splitlines()
    assert "there is no device of Vulkan: Error creating driver: UNAVAILABLE; no lib" in line


def test_a_driver_that_is_there_and_fails(monkeypatch, capfd):
    """A missing library of CUDA is nothing to tell of; a broken driver is."""

    def refuse(name):
        raise RuntimeError("INTERNAL; broken" if name == "cuda" else "UNAVAILABLE; no library")

    monkeypatch.setattr(log, "_noted", {})
    monkeypatch.setattr(iree.runtime, "get_driver", refuse)
    assert [target.name for target in iree.Engine().targets()] == ["iree-cpu"]
    vulkan, cuda = capfd.readouterr().err.splitlines()
    assert "there is no device of Vulkan: UNAVAILABLE; no library" in vulkan
    assert "there is no device of CUDA: INTERNAL; broken" in cuda


def test_a_compiled_model_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    model = chain("MUL")
    cache = CacheHandles(str(folder), bytes(32))
    prepared(model, cache=cache)
    monkeypatch.setattr(iree, "compiled", lambda *given: pytest.fail("compiled again"))
    bound = Bound(prepared(model, cache=cache), model, [np.float32([2, 3])])
    assert bound.outputs()[0].tolist() == [4, 9]


def test_a_deadline_that_has_passed():
    with pytest.raises(NnapiError) as caught:
        prepared(chain("ADD"), time.monotonic_ns() - 1)
    assert caught.value.code is ResultCode.MISSED_DEADLINE_PERSISTENT


@pytest.mark.own_process
def test_models_that_are_compiled_together(tmp_path, monkeypatch):
    """In one module; each is kept."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "cache").mkdir(mode=0o700)
    cache = CacheHandles(str(tmp_path / "cache"), bytes(32))
    models = [chain("ADD MUL", (2,)), chain("MUL", (2,))]
    compiled, times = iree.compiled, []
    monkeypatch.setattr(iree, "compiled", lambda *given: times.append(1) or compiled(*given))
    device = vectors.device("iree-cpu")
    assert device.compileTogether(models, cache, time.monotonic_ns() + 300 * 10**9)
    assert len(times) == 1 and len([*(tmp_path / "cache").iterdir()]) == 2
    x = np.float32([2, 3])
    for model, right in zip(models, [(x + x) ** 2, x * x], strict=True):
        ready = device.prepareModel(
            model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, cache
        )
        assert np.array_equal(Bound(ready, model, [x], room=8).outputs()[0], right)
    assert len(times) == 1


def test_the_program_does_not_load_the_compiler():
    """Three hundred megabytes, and a crash of it would be one of the program."""
    prepared(chain("ADD"))
    assert "libIREECompiler" not in Path("/proc/self/maps").read_text()


def test_each_kind_of_gpu_is_known_to_the_compiler():
    content = savers.exchange().written(chain("ADD"))[0]
    kinds = [
        *(f"--iree-vulkan-target={target}" for _, target in iree_targets.VULKAN_TARGETS),
        "--iree-cuda-target=sm_86",
        "--iree-rocm-target=gfx1100",
    ]
    drivers = ["vulkan"] * len(iree_targets.VULKAN_TARGETS) + ["cuda", "hip"]
    for driver, option in zip(drivers, kinds, strict=True):
        assert iree_compiler.compiled([content], [*iree_targets.ANY[driver], option])


@needs_vulkan
def test_code_that_a_gpu_does_not_load(monkeypatch, capfd):
    """It is compiled again, for any GPU, and so are later models."""
    model, network, tried = chain("ADD"), iree.Network, []

    def loaded(module, function, device):
        tried.append(module)
        if len(tried) == 1:
            raise RuntimeError("c/module.c:1: INCOMPATIBLE; no executable fits\n  more")
        return network(module, function, device)

    monkeypatch.setattr(log, "_noted", {})
    monkeypatch.setattr(iree, "Network", loaded)
    monkeypatch.setattr(iree, "options_of", lambda *about: (*ANY["vulkan"], RDNA3))
    engine = iree.Engine()
    (target,) = [each for each in engine.targets() if each.name == VULKAN]
    device = EngineDevice(engine, target)
    for _ in range(2):
        made = device.prepareModel(
            model, ExecutionPreference.FAST_SINGLE_ANSWER, Priority.MEDIUM, None, None
        )
        assert Bound(made, model, [np.float32([1, 2])]).outputs()[0].tolist() == [2, 4]
    assert len(tried) == 3
    assert tried[0] != tried[1] == tried[2]
    (line,) = capfd.readouterr().err.splitlines()
    assert f"{VULKAN} gets code for any GPU: " in line


@pytest.mark.parametrize(
    ("content", "options", "why"),
    [
        (b"nonsense", [], "DecodeError"),
        (None, ["--iree-hal-target-device=no-device"], "no-device"),
    ],
)
def test_what_the_compiler_refuses(content, options, why, capfd):
    content = content or savers.exchange().written(chain("ADD"))[0]
    with pytest.raises(NnapiError, match=rf"IREE does not compile the model: .*{why}") as caught:
        iree_compiler.compiled([content], options)
    assert caught.value.code is ResultCode.OP_FAILED
    assert "\n" not in caught.value.message
    assert capfd.readouterr() == ("", "")


@pytest.mark.own_process
def test_a_compiler_that_crashes(monkeypatch, capfd):
    """In its process alone."""
    monkeypatch.setattr(iree_compiler, "__name__", "tests.engines.crashing_compiler")
    before = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(NnapiError, match="its process ended without a word"):
        iree_compiler.compiled([b""], [])
    assert len([*Path("/proc/self/fd").iterdir()]) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.own_process
def test_a_compiler_that_hangs(monkeypatch, tmp_path):
    """It is ended soon after the program has its answer."""
    named = tmp_path / "pid"
    monkeypatch.setenv("PID_FILE", str(named))
    monkeypatch.setattr(iree_compiler, "__name__", "tests.engines.hanging_compiler")
    monkeypatch.setenv("NNAPI_SHIM_DRIVER_TIMEOUT", "2")
    with pytest.raises(NnapiError, match=r"compiles the model, which did not end within 2 s"):
        prepared(chain("ADD"))
    compiler = Path("/proc") / named.read_text()
    assert compiler.exists()
    while compiler.exists():
        time.sleep(0.05)


IN_A_CHILD = """
import os, numpy, nnapi_shim
with nnapi_shim.Model() as model:
    model.outputs(model.relu(model.input("TENSOR_FLOAT32", [2])))
nnapi_shim.Compilation(model, "iree-cpu").run(numpy.ones(2, numpy.float32))
child = os.fork()
if not child:
    try:
        nnapi_shim.Compilation(model, "iree-cpu")
    except nnapi_shim.NnapiError as error:
        os._exit(error.code)
    os._exit(99)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_of_a_program_that_has_used_it():
    """Its threads are in the parent alone: a computation would not end."""
    ended = subprocess.run(
        [sys.executable, "-c", IN_A_CHILD], env={**os.environ, "NNAPI_SHIM_ENGINES": "iree"}
    )
    assert ended.returncode == ResultCode.DEAD_OBJECT


def test_packages_of_two_versions(monkeypatch):
    versions = {"iree-base-runtime": "3.13.0", "iree-base-compiler": "3.12.0"}
    monkeypatch.setattr(iree.metadata, "version", versions.get)
    with pytest.raises(
        NnapiError, match=r"compiler 3\.12\.0 and iree-base-runtime 3\.13\.0 do not"
    ):
        iree.Engine()


@needs_vulkan
def test_what_no_vector_was_computed_of():
    """On the device that it was not computed on."""
    b = Builder()
    x = b.input((2,))
    packed = b.temporary((1, 2))
    b.operation(O.PACK, [b.constant(0, T.INT32), x], [packed])
    pack = b.model([x], [packed])
    halves = Builder()
    x = halves.input((2,), T.TENSOR_FLOAT16)
    added = halves.model([x], [halves.binary("ADD", x, x)])
    for model in (pack, added):
        assert vectors.device(DEVICE).getReasons(model) == [""]
        (reason,) = vectors.device(VULKAN).getReasons(model)
        assert reason == "not tried with this engine (seen in 3.13.0)"


def depthwise(channels, multiplier):
    """A model of a 3 x 3 filter of ones on an image of 8 x 8."""
    b = Builder()
    x = b.input((1, 8, 8, channels))
    depth = channels * multiplier
    filter = b.constant(np.ones((1, 3, 3, depth)), T.TENSOR_FLOAT32)
    bias = b.constant(np.zeros(depth), T.TENSOR_FLOAT32)
    numbers = [b.constant(value, T.INT32) for value in (2, 1, 1, multiplier, 0)]
    out = b.temporary((1, 6, 6, depth))
    b.operation(O.DEPTHWISE_CONV_2D, [x, filter, bias, *numbers], [out])
    return b.model([x], [out])


def is_right_by_vulkan(channels, multiplier):
    """Whether ones become nines."""
    model = depthwise(channels, multiplier)
    made = prepared(model, device=VULKAN)
    ones = np.ones((1, 8, 8, channels), np.float32)
    (result,) = Bound(made, model, [ones], room=144 * channels * multiplier).outputs()
    return bool((result == 9).all())


@needs_vulkan
def test_depthwise_sums_by_vulkan():
    """A newer IREE may get them right: then the row can go."""
    for channels, multiplier in ((64, 1), (128, 1), (8, 2)):
        assert vectors.device(VULKAN).getReasons(depthwise(channels, multiplier)) == [""]
        assert is_right_by_vulkan(channels, multiplier)
    for channels in (8, 48, 96):
        (reason,) = vectors.device(VULKAN).getReasons(depthwise(channels, 1))
        assert reason == "the sums are wrong (seen in 3.13.0)"
    assert not is_right_by_vulkan(8, 1)


@needs_vulkan
def test_another_inner_axis_by_vulkan():
    for axis in (-1, 0):
        b = Builder()
        x = b.input((2, 10))
        out = b.temporary((2, 10))
        b.operation(O.L2_NORMALIZATION, [x, b.constant(axis, T.INT32)], [out])
        (reason,) = vectors.device(VULKAN).getReasons(b.model([x], [out]))
        assert bool(reason) is (axis == 0)


@needs_vulkan
def test_an_inner_axis_by_vulkan():
    """Its results differ from run to run on lavapipe; a GPU may get them right."""
    reasons = {}
    for axis in (-1, 1, 2, -2, 0):
        b = Builder()
        x = b.input((2, 10, 100))
        out = b.temporary((2, 10, 100))
        numbers = [b.constant(1.0, T.FLOAT32), b.constant(axis, T.INT32)]
        b.operation(O.SOFTMAX, [x, *numbers], [out])
        model = b.model([x], [out])
        assert vectors.device(DEVICE).getReasons(model) == [""]
        (reasons[axis],) = vectors.device(VULKAN).getReasons(model)
    differ = "results differ from run to run (seen in 3.13.0)"
    assert reasons == {-1: "", 1: differ, 2: "", -2: differ, 0: differ}


def strided(height, stride, rows):
    """A convolution of an image of that height, with a filter of two rows."""
    b = Builder()
    x = b.input((1, height, 4, 1))
    filter = b.constant(np.ones((1, 2, 2, 1)), T.TENSOR_FLOAT32)
    bias = b.constant(np.zeros(1), T.TENSOR_FLOAT32)
    numbers = [b.constant(value, T.INT32) for value in (2, 1, stride, 0)]
    out = b.temporary((1, rows, 3, 1))
    b.operation(O.CONV_2D, [x, filter, bias, *numbers], [out])
    return b.model([x], [out])


def test_a_row_that_is_left_over():
    """A newer IREE may compile it: then the row can go."""
    for height, stride, rows in ((2, 1, 1), (4, 2, 2)):
        assert vectors.device(DEVICE).getReasons(strided(height, stride, rows)) == [""]
    model = strided(3, 2, 1)
    (reason,) = vectors.device(DEVICE).getReasons(model)
    assert reason == "the model does not compile if rows or columns are left over (seen in 3.13.0)"
    with pytest.raises(NnapiError, match="IREE does not compile the model"):
        prepared(model)


@needs_vulkan
def test_bytes_by_vulkan():
    """They share words, which GPUs write at once."""
    b = Builder()
    x = b.input((3,))
    compared = b.temporary((3,), T.TENSOR_BOOL8)
    b.operation(O.LESS, [x, x], [compared])
    (reason,) = vectors.device(VULKAN).getReasons(b.model([x], [compared]))
    assert reason.startswith("of the bytes of a word, some get lost")
    cast = Builder()
    x = cast.input((3,), T.TENSOR_BOOL8)
    copy = cast.temporary((3,), T.TENSOR_BOOL8)
    cast.operation(O.CAST, [x], [copy])
    assert vectors.device(VULKAN).getReasons(cast.model([x], [copy])) != [""]


def sliced(step):
    """The reason why a STRIDED_SLICE of a vector with that stride is declined, or ""."""
    b = Builder()
    x = b.input((5,))
    ends = [b.constant([at], T.TENSOR_INT32) for at in ((0, 4) if step > 0 else (4, 0))]
    steps = b.constant([step], T.TENSOR_INT32)
    out = b.temporary((4 // abs(step),))
    masks = [b.constant(0, T.INT32) for _ in range(3)]
    b.operation(O.STRIDED_SLICE, [x, *ends, steps, *masks], [out])
    (reason,) = vectors.device(DEVICE).getReasons(b.model([x], [out]))
    return reason


def test_slices_backwards():
    assert sliced(1) == sliced(2) == ""
    for step in (-1, -2):
        assert sliced(step).startswith("the result is wrong, or the model does not compile")


def transposed(head, tail):
    """The reason why a TRANSPOSE_CONV_2D whose result is cropped so is declined, or ""."""
    b = Builder()
    x = b.input((1, 4, 4, 1))
    filter = b.constant(np.ones((1, 3, 3, 1)), T.TENSOR_FLOAT32)
    bias = b.constant(np.zeros(1), T.TENSOR_FLOAT32)
    numbers = [b.constant(value, T.INT32) for value in (head, tail, head, tail, 1, 1, 0)]
    out = b.temporary((1, 6 - head - tail, 6 - head - tail, 1))
    b.operation(O.TRANSPOSE_CONV_2D, [x, filter, bias, *numbers, b.constant(False, T.BOOL)], [out])
    (reason,) = vectors.device(DEVICE).getReasons(b.model([x], [out]))
    return reason


def test_an_uneven_padding():
    assert transposed(1, 1) == transposed(0, 0) == ""
    assert transposed(1, 0) == "the model does not compile (seen in 3.13.0)"


def test_axes_that_are_no_constant():
    for is_constant in (True, False):
        b = Builder()
        x = b.input((2, 3))
        axes = (
            b.constant(np.int32([0]), T.TENSOR_INT32)
            if is_constant
            else b.input((1,), T.TENSOR_INT32)
        )
        out = b.temporary((3,))
        b.operation(O.REDUCE_SUM, [x, axes, b.constant(False, T.BOOL)], [out])
        (reason,) = vectors.device(DEVICE).getReasons(
            b.model([x] if is_constant else [x, axes], [out])
        )
        assert (reason == "") is is_constant


@pytest.mark.parametrize(
    ("device", "every"), [(DEVICE, 600), pytest.param(VULKAN, 400, marks=needs_vulkan)]
)
def test_vectors(device, every):
    """A sample; `make check-engines DEVICES=iree-cpu` computes all."""
    chosen = examples()[::every] if examples() else pytest.skip(WHY_SKIPPED)
    outcomes = [vectors.outcome(example, device) for example in chosen]
    assert not [outcome for outcome in outcomes if outcome.what == "wrong"]
    assert [outcome for outcome in outcomes if outcome.what == "right"]


CODE = """
import nnapi_shim
with nnapi_shim.Model() as model:
    x = model.input("float32", (2,), name="x")
    model.outputs(model.add(x, x))
    model.finish()
    print(model.compile(devices=["iree-cpu"]).run([1, 2]).tolist())
"""


def test_a_program():
    run = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        env={**os.environ, "NNAPI_SHIM_ENGINES": "iree"},
    )
    assert run.stdout == "[2.0, 4.0]\n"
    assert all("no device of Vulkan" in line for line in run.stderr.splitlines())
