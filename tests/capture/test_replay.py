"""Captures that are repeated: on the same device, on another one, and where results differ."""

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.formats.capture import load_capture, models_in
from nnapi_shim.formats.capture.plan import Check
from nnapi_shim.recording.reading import read
from nnapi_shim.tools.replay import replay
from nnapi_shim.tools.replay_report import differs
from tests.capture.conftest import LIBRARIES, run
from tests.conformance.flatten import flatten
from tests.conformance.test_replay import HERE as CONFORMANCE
from tests.conformance.test_replay import ROOT, replayable
from tests.conformance.vectors import FOLDER, WHY_SKIPPED

DEVICES = (None, "nnapi-cpu", "nnapi-reference")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["simple_add", "async", "basic", "devices", "mobilenet_block"])
def test_examples(example, name, device):
    report = replay(example(name), device)
    assert report.is_complete and not report.died_in
    assert (report.repeated, report.skipped, report.differences) == (report.calls, [], [])
    assert report.device == (device or "")
    assert (report.outputs > 0) is (name != "devices")


def test_each_output_is_compared_once(example):
    """An event that is waited for is freed later; one that is only freed has ended, too."""
    report = replay(example("async"))
    assert report.outputs == report.executions == 17


@pytest.mark.parametrize("device", DEVICES)
def test_every_function(every_function, device):
    """Calls that are refused are refused again."""
    report = replay(every_function, device)
    assert report.is_complete and report.differences == []
    assert report.executions >= 30 and report.outputs == 12
    assert {text.partition(", ")[2].partition(":")[0] for text in report.skipped} == {
        "ANeuralNetworksMemory_createFromAHardwareBuffer"
    }
    called = {call.function for call in read(every_function).calls}
    assert len(called) > 70


@pytest.mark.skipif(not FOLDER.exists(), reason=WHY_SKIPPED)
def test_the_conformance_program(tmp_path):
    """What it compares with what vectors say comes out of both devices again."""
    program = tmp_path / "replay"
    command = ["cc", "-std=c99", "-O1", "-g", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests/abi'}"]
    command += [CONFORMANCE / "replay.c", "-o", program, f"-L{LIBRARIES}", "-lneuralnetworks"]
    subprocess.run([*command, "-lm"], check=True)
    chosen = replayable()[::80]
    (tmp_path / "vectors.flat").write_bytes(flatten(chosen))
    capture = tmp_path / "capture.zip"
    done = run(program, tmp_path / "vectors.flat", "nnapi-cpu", NNAPI_SHIM_CAPTURE=capture)
    assert done.returncode == 0, done.stdout + done.stderr
    for device in DEVICES:
        report = replay(capture, device)
        assert report.is_complete and report.outputs > len(chosen) > 10
        assert (report.skipped, report.differences) == ([], [])


@pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
def test_a_program_of_pytorch(tmp_path):
    from tests.clients.test_pytorch import LIBRARY, PROGRAM

    capture = tmp_path / "capture.zip"
    command = [sys.executable, "-c", PROGRAM, LIBRARY, "conv_relu_pool"]
    path = os.pathsep.join(sys.path)
    done = run(*command, NNAPI_SHIM_CAPTURE=capture, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    for device in DEVICES:
        report = replay(capture, device)
        assert report.outputs == 2 and report.differences == []
    assert [item.name for item in load_capture(capture).operations][:1] == ["CONV_2D"]


def changed(path, target, old, new):
    data = path.read_bytes()
    assert data.count(old) == 1 and len(old) == len(new)
    # Without its directory: its check sums are those of what it was.
    target.write_bytes(data.replace(old, new)[: data.index(b"PK\1\2")])
    return target


def test_differences_are_found(example, tmp_path):
    """The sum of two of the numbers, as the capture has it, is another one."""
    path = example("simple_add")
    was, other = (np.float32(number).tobytes().hex().encode() for number in (1.5, 2.5))
    data = path.read_bytes()
    at = data.rindex(was)  # in the outputs
    end = data.index(b"PK\7\x08", at)
    damaged = data[:at] + other + data[at + len(was) : end]
    target = tmp_path / "capture.zip"
    target.write_bytes(damaged)
    report = replay(target)
    (difference,) = report.differences
    assert (difference.function, difference.what) == (
        "ANeuralNetworksExecution_compute",
        "output 0",
    )
    assert (difference.elements, difference.differing, difference.largest) == (6, 1, 1.0)
    assert (difference.expected, difference.found) == ("2.5 at 0", "1.5")
    assert report.to_json()["differences"][0]["call"] == difference.call


def test_tolerances():
    """Integers agree to the byte; floats nearly, and NaN with NaN."""
    exact = Check("", 0, {}, 0, 0.0, 0.0)
    near = Check("", 0, {}, 0, 1e-5, 5 * 2.0**-23)
    integers = np.array([1, 2, 3], np.uint8)
    assert differs(integers, integers.copy(), exact) is None
    assert differs(integers, np.array([1, 2, 4], np.uint8), exact)[2:] == (3, 1, 1.0)
    floats = np.array([1, np.nan, np.inf, 0], np.float32)
    assert differs(floats, floats + np.float32(1e-6), near) is None
    for at, wrong in [(0, 1.001), (1, 0), (2, 3e38), (3, np.nan), (3, 2e-5)]:
        other = floats.copy()
        other[at] = wrong
        assert differs(floats, other, near) is not None, (at, wrong)


def test_devices(example):
    with pytest.raises(NnapiError, match="no device matches 'nothing'; there are nnapi-cpu, nnapi"):
        replay(example("simple_add"), "nothing")
    with pytest.raises(NnapiError, match="is no regular expression"):
        replay(example("simple_add"), "(")
    assert replay(example("devices"), "nnapi-.*").device == "nnapi-cpu"


def test_a_device_that_is_not_here(example, tmp_path):
    data = example("mobilenet_block").read_bytes().replace(b'"nnapi-cpu"', b'"other-cpu"')
    path = tmp_path / "capture.zip"
    path.write_bytes(data[: data.index(b"PK\1\2")])
    used = [call for call in read(path).calls if call.short == "Compilation_createForDevices"]
    if used:
        with pytest.raises(NnapiError, match="other-cpu, which the program used, is not here"):
            replay(path)
    assert replay(path, "nnapi-cpu").differences == []


def test_captures_are_models(example):
    import nnapi_shim

    path = example("mobilenet_block")
    names = models_in(read(path))
    assert len(names) == 3
    for name in names:
        model = nnapi_shim.load(path, signature=name)
        assert [item.name for item in model.operations][:2] == ["CONV_2D", "DEPTHWISE_CONV_2D"]
    capture = read(path)
    call = next(call for call in capture.calls if call.short == "Execution_compute")
    arguments = [capture.array(item["contents"]) for item in call.inputs]
    (expected,) = [capture.array(item["contents"]) for item in call.outputs]
    model = nnapi_shim.load(path)
    result = nnapi_shim.Compilation(model).run(*arguments)
    result = result[0] if isinstance(result, list | tuple) else result
    np.testing.assert_allclose(np.asarray(result).reshape(expected.shape), expected, rtol=1e-5)
    with pytest.raises(NnapiError, match="has no 'model 9'; it has model 1, model 2, model 3"):
        nnapi_shim.load(path, signature="model 9")
    with pytest.raises(NnapiError, match="the program has finished none"):
        load_capture(_without_models(path))


def _without_models(path):
    capture = read(path)
    capture.calls = capture.calls[:1]
    return capture


def test_models_in_memory_and_in_branches(every_function):
    """Constants that lie in memory, and models that IF and WHILE refer to."""
    capture = read(every_function)
    for name in models_in(capture):
        model = load_capture(capture, name)
        assert model.operations


@pytest.mark.skipif(find_spec("ai_edge_litert") is None, reason="LiteRT is not installed")
def test_a_converted_capture_runs_in_litert(example, tmp_path):
    from ai_edge_litert.interpreter import Interpreter

    capture = read(example("mobilenet_block"))
    calls = [call for call in capture.calls if call.short == "Execution_compute"]
    for name, call in zip(models_in(capture), calls, strict=True):
        file = tmp_path / f"{name}.tflite"
        load_capture(capture, name).save(file)
        interpreter = Interpreter(str(file))
        interpreter.allocate_tensors()
        (arguments,), (goal,) = interpreter.get_input_details(), interpreter.get_output_details()
        interpreter.set_tensor(arguments["index"], capture.array(call.inputs[0]["contents"]))
        interpreter.invoke()
        result = interpreter.get_tensor(goal["index"])
        expected = capture.array(call.outputs[0]["contents"])
        if expected.dtype == np.float32:
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
        else:
            assert np.abs(result.astype(int) - expected.astype(int)).max() <= 1
