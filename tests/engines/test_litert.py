"""The devices of LiteRT, and the probe of its accelerators in a process of its own."""

import os
import subprocess
import sys
import threading
import time
from typing import ClassVar

import numpy as np
import pytest

from nnapi_shim import NnapiError, ResultCode, log
from nnapi_shim.drivers.engines.engine import File, Wishes
from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, Priority
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.enums import OperationType as O
from nnapi_shim.hal.types import Request, RequestArgument
from tests.conformance.vectors import WHY_SKIPPED, examples
from tests.runtime.hal_models import Bound, Builder, chain

pytest.importorskip("tflite")
pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed (the extra litert)")
pytest.importorskip(
    "ai_edge_litert.compiled_model", reason="LiteRT is too old: it has no CompiledModel"
)

from nnapi_shim.drivers.adoption import adopted
from nnapi_shim.drivers.engines import litert, litert_probe
from nnapi_shim.drivers.engines.device import EngineDevice
from tests.engines import vectors

DEVICE = "litert-cpu"
NO_GPU = "No adapters found"


@pytest.fixture(autouse=True)
def no_probe(monkeypatch):
    """The tests of the probe have their own; it takes a second."""
    monkeypatch.setattr(log, "_noted", {})
    monkeypatch.setattr(litert, "probed", lambda place, **others: NO_GPU)


def device(place="CPU"):
    engine = litert.Engine()
    (target,) = [each for each in engine.targets() if each.place == place]
    return adopted(EngineDevice(engine, target), target.name)


def prepared(model, place="CPU"):
    preference = ExecutionPreference.FAST_SINGLE_ANSWER
    return device(place).prepareModel(model, preference, Priority.MEDIUM, None, None)


def test_a_model(capfd):
    model = chain("ADD MUL", (2, 3))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = prepared(model)
    bound = Bound(made, model, [x], room=24)
    for _ in range(2):
        assert np.array_equal(bound.outputs()[0], (x + x) * (x + x))
        x += 1
    bound.compute(time.monotonic_ns() + 60 * 10**9)
    assert np.array_equal(bound.buffers[0].view(np.float32).reshape(2, 3), (x + x) * (x + x))
    short = Bound(made, model, [x], room=8)
    assert short.compute().status.name == "OUTPUT_INSUFFICIENT_SIZE"
    out, err = capfd.readouterr()
    assert not out and all("there is no" in line for line in err.splitlines())


@pytest.mark.parametrize("offset", [0, 16, 2])
def test_outputs_in_memory_of_the_program(offset, monkeypatch):
    """Written in place where it is aligned to 64 bytes, and nothing beside it is."""
    model = chain("ADD", (2, 3))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    raw = np.full(256, 0xA5, np.uint8)
    at = -raw.ctypes.data % 64 + offset
    request = Request(
        (RequestArgument(x.ctypes.data, 24, (2, 3)),),
        (RequestArgument(raw.ctypes.data + at, 24, (2, 3)),),
    )
    made = []
    original = litert.TensorBuffer.create_from_host_memory
    monkeypatch.setattr(
        litert.TensorBuffer,
        "create_from_host_memory",
        lambda array: made.append(array) or original(array),
    )
    execution = prepared(model).createReusableExecution(request, False, 0)
    for _ in range(2):
        execution.compute(None)
        assert np.array_equal(raw[at : at + 24].copy().view(np.float32).reshape(2, 3), x + x)
        x += 1
    assert (raw[:at] == 0xA5).all() and (raw[at + 24 :] == 0xA5).all()
    assert len(made) == (offset == 0)


def test_sizes_that_are_known_at_the_execution():
    """Executions of different sizes take turns on one model."""
    model = chain("ADD", (0, 2))
    made = prepared(model)
    values = [np.full((rows, 2), rows, np.float32) for rows in (1, 3, 2, 1)]
    bound = [Bound(made, model, [x], room=8 * len(x)) for x in values]
    for _ in range(2):
        for x, each in zip(values, bound, strict=True):
            assert np.array_equal(each.outputs()[0], x + x)


def test_executions_at_once():
    model = chain("ADD MUL", (0, 64))
    made = prepared(model)
    wrong = []

    def compute(rows):
        x = np.full((rows, 64), rows, np.float32)
        bound = Bound(made, model, [x], room=x.nbytes)
        for _ in range(50):
            if not np.array_equal(bound.outputs()[0], (x + x) * (x + x)):
                wrong.append(rows)

    threads = [threading.Thread(target=compute, args=(rows,)) for rows in (1, 2, 3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_what_litert_refuses(capfd):
    """One line with its reason; nothing of its log."""
    target = litert.Engine().targets()[0]
    capfd.readouterr()
    with pytest.raises(NnapiError, match="LiteRT does not compile the model: ") as caught:
        litert.Engine().compiled(target, File(b"nonsense", ["x"], ["y"]), wishes())
    assert caught.value.code is ResultCode.OP_FAILED and "\n" not in caught.value.message
    assert capfd.readouterr() == ("", "")


def wishes(is_relaxed=False, threads=0):
    return Wishes(ExecutionPreference.LOW_POWER, Priority.LOW, is_relaxed, threads)


def test_accelerators_that_are_not_there(capfd):
    for _ in range(2):
        assert [target.name for target in litert.Engine().targets()] == [DEVICE]
    assert capfd.readouterr().err.splitlines() == [
        f"nnapi_shim warning: litert: there is no {place}: {NO_GPU}" for place in ("GPU", "NPU")
    ]


class Model:
    """A CompiledModel of a GPU, whose memory is its own: x + x."""

    made: ClassVar[list["Model"]] = []
    shape = (2, 3)

    def __init__(self, content, options, environment):
        self.options = options
        self._model = self
        self.buffers = []
        self.made.append(self)

    @classmethod
    def from_buffer(cls, content, options, environment):
        return cls(content, options, environment)

    def get_signature_list(self):
        return {"main": {"inputs": ["x"], "outputs": ["y"]}}

    def get_output_buffer_requirements(self, at):
        return {"buffer_size": 24, "supported_types": [20]}

    def get_input_tensor_details(self, key):
        return {"x": {"shape": [*self.shape], "dtype": "float32"}}

    get_output_tensor_details = get_input_tensor_details

    def create_input_buffers(self, signature):
        size = np.prod(self.shape)
        buffer = litert.TensorBuffer.create_from_host_memory(np.zeros(size, np.float32))
        self.buffers.append(buffer)
        return [buffer]

    create_output_buffers = create_input_buffers

    def RunByIndex(self, signature, given, taken):
        x, y = self.buffers
        y.write(self.computed(x.read(np.prod(self.shape), np.float32)))

    def computed(self, x):
        return x + x


@pytest.mark.parametrize("is_relaxed", [False, True])
def test_a_machine_with_a_gpu(is_relaxed, monkeypatch, capfd):
    monkeypatch.setattr(litert, "probed", lambda place, **others: "" if place == "GPU" else "none")
    monkeypatch.setattr(litert.litert, "CompiledModel", Model)
    found = litert.Engine().targets()
    assert [(each.name, each.type) for each in found] == [
        (DEVICE, DeviceType.CPU),
        ("litert-gpu", DeviceType.GPU),
    ]
    assert found[1].performance.exec_time < found[0].performance.exec_time
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("litert: there is no NPU: none")
    model = chain("ADD", (2, 3))._replace(relax_computation_float32_to_float16=is_relaxed)
    x = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
    bound = Bound(prepared(model, "GPU"), model, [x], room=24)
    for _ in range(2):
        assert np.array_equal(bound.outputs()[0], x + x)
        x += 1
    options = Model.made[-1].options
    assert options.hardware_accelerators == litert.litert.HardwareAccelerator.GPU
    assert options.gpu_options.enforce_f32 is not is_relaxed


@pytest.mark.parametrize(
    ("result", "why"),
    [(np.maximum, ""), (np.minimum, "it computes a small model wrong")],
)
def test_an_accelerator_that_computes_wrong_is_not_listed(result, why, monkeypatch):
    monkeypatch.setattr(Model, "shape", (2, 4))
    monkeypatch.setattr(Model, "computed", lambda self, x: result(x, 0))
    monkeypatch.setattr(litert.litert, "CompiledModel", Model)
    assert litert.tried("GPU", litert_probe.small_model()) == why


def test_the_probe(capfd):
    """The processor in place of an accelerator; and a GPU, which most machines lack."""
    assert litert_probe.probed("CPU", litert_probe.small_model(), litert.__name__) == ""
    why = litert_probe.probed("GPU", litert_probe.small_model(), litert.__name__)
    assert not why or ("does not compile the model: " in why and "\n" not in why)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("tests.engines.crashing_compiler", "ended without a word"),
        ("tests.engines.hanging_compiler", "took more than 0.5 s"),
    ],
)
def test_a_driver_that_crashes_or_hangs(module, why, monkeypatch, tmp_path, capfd):
    """In the process of the probe alone."""
    monkeypatch.setenv("PID_FILE", str(tmp_path / "pid"))
    monkeypatch.setattr(litert_probe, "_MOST_S", 0.5)
    assert why in litert_probe.probed("GPU", b"", module)
    assert capfd.readouterr() == ("", "")


NOTHING_NEWER = "LiteRT 2.3.0 has this; where a newer one has not, Engine.declined needs less"


def of_constants(kind):
    """An output that depends on constants alone, beside one that does not."""
    b = Builder()
    x = b.input((2,), T.TENSOR_INT32)
    one, other = (b.constant(each, T.TENSOR_INT32) for each in ([3, 4], [1, 0]))
    if kind == "GATHER":
        result = b.temporary((2,), T.TENSOR_INT32)
        b.operation(O.GATHER, [one, b.constant(0, T.INT32), other], [result])
    else:
        result = b.binary(kind, one, other)
    return b.model([x], [result, b.binary("ADD", x, x)])


@pytest.mark.parametrize("kind", ["GATHER", "MUL"])
def test_results_that_are_known_before_a_run_are_not_taken(kind, monkeypatch):
    model = of_constants(kind)
    why, nothing = device().getReasons(model)
    assert "does not write a result that it knows" in why and nothing == ""
    monkeypatch.setattr(litert.Engine, "declined", lambda self, target, node: "")
    bound = Bound(prepared(model), model, [np.int32([1, 2])], room=8)
    result, right = bound.outputs()
    assert right.tolist() == [2, 4]
    assert result.tolist() != ([4, 3] if kind == "GATHER" else [3, 0]), NOTHING_NEWER


def test_many_dimensions(monkeypatch):
    b = Builder()
    x, repeats = b.input((1,) * 9), b.constant([2] * 9, T.TENSOR_INT32)
    b.operation(O.TILE, [x, repeats], [b.temporary((2,) * 9)])
    model = b.model([x], [2])
    assert device().getReasons(model) == ["LiteRT has tensors of at most 8 dimensions"]
    monkeypatch.setattr(litert.Engine, "declined", lambda self, target, node: "")
    with pytest.raises(NnapiError, match="exceeds max rank"):
        prepared(model)


def test_any_number_but_0_is_true():
    b = Builder()
    one, other = b.input((4,), T.TENSOR_BOOL8), b.input((4,), T.TENSOR_BOOL8)
    result, inverse = b.temporary((4,), T.TENSOR_BOOL8), b.temporary((4,), T.TENSOR_BOOL8)
    b.operation(O.LOGICAL_AND, [one, other], [result])
    b.operation(O.LOGICAL_NOT, [one], [inverse])
    model = b.model([one, other], [result, inverse])
    inputs = [np.uint8([0, 1, 2, 255]), np.uint8([3, 2, 1, 0])]
    outputs = Bound(prepared(model), model, inputs, room=4).outputs()
    assert [each.tolist() for each in outputs] == [[0, 1, 1, 0], [1, 0, 0, 0]]


def test_a_rank_that_is_not_known():
    b = Builder()
    x = b.input(())
    (reason,) = device().getReasons(b.model([x], [b.binary("ADD", x, x, b.temporary(()))]))
    assert "the rank of an operand is not known" in reason


def test_no_rows():
    """A newer LiteRT may compute them: then docs/engines.md can say so."""
    model = chain("ADD", (0, 2))
    bound = Bound(prepared(model), model, [np.ones((0, 2), np.float32)])
    with pytest.raises(NnapiError, match="Dimensions must be positive") as caught:
        bound.compute()
    assert caught.value.code is ResultCode.OP_FAILED and "\n" not in caught.value.message


def test_a_gpu_gets_what_is_likely_right():
    target = litert.Engine().targets()[0]._replace(name="litert-gpu")
    b = Builder()
    x = b.input((2,), T.TENSOR_FLOAT16)
    halves = b.model([x], [b.binary("ADD", x, x)])
    gpu = EngineDevice(litert.Engine(), target)
    assert gpu.getReasons(halves) == ["not tried with this device (seen in 2.3.0)"]
    assert gpu.getReasons(chain("ADD")) == [""]


def test_vectors():
    """One in a hundred; `make check-engines DEVICES=litert-cpu` computes all."""
    chosen = examples()[::100] if examples() else pytest.skip(WHY_SKIPPED)
    vectors.device.cache_clear()
    outcomes = [vectors.outcome(example, DEVICE) for example in chosen]
    assert not [outcome for outcome in outcomes if outcome.what == "wrong"]
    assert len([outcome for outcome in outcomes if outcome.what == "right"]) > len(chosen) / 2


CODE = """
import nnapi_shim
with nnapi_shim.Model() as model:
    x = model.input("float32", (2,), name="x")
    model.outputs(model.add(x, x))
    model.finish()
    for _ in range(2):
        print(model.compile(devices=["litert-cpu"]).run([1, 2]).tolist())
from pathlib import Path
print([name for name in ("numba", "litert") if name in Path("/proc/self/maps").read_text()])
"""


@pytest.mark.own_process
def test_a_program():
    """It does not load LiteRT, and its stderr has nothing but lines of this library, once."""
    run = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        env={**os.environ, "NNAPI_SHIM_ENGINES": "litert"},
    )
    assert run.stdout == "[2.0, 4.0]\n[2.0, 4.0]\n[]\n"
    lines = run.stderr.splitlines()
    assert all(line.startswith("nnapi_shim warning: litert: there is no ") for line in lines)
    assert len({*lines}) == len(lines) <= 2
