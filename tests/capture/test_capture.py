"""What is in a capture, whatever becomes of the program."""

import json
import signal
import zipfile

import numpy as np
import pytest

from nnapi_shim.recording.reading import read
from nnapi_shim.recording.vocabulary import C_TYPES, PARAMETERS
from nnapi_shim.tools.replay import replay
from tests.capture.conftest import EXAMPLES, run

RUN = "ANeuralNetworksExecution_compute"
CALLS_OF_ADD = 23


def computations(capture):
    return [call for call in capture.calls if call.function == RUN and call.end is not None]


def test_calls_of_an_example(example):
    capture = read(example("simple_add"))
    assert capture.is_complete
    assert [device["name"] for device in capture.manifest["devices"]] == [
        "nnapi-cpu",
        "nnapi-reference",
    ]
    assert [call.number for call in capture.calls] == list(range(1, len(capture.calls) + 1))
    assert all(call.start <= call.end for call in capture.calls)
    assert {call.result for call in capture.calls} == {0, None}
    (run_call,) = computations(capture)
    arrays = [capture.array(item["contents"]) for item in run_call.inputs]
    (result,) = [capture.array(item["contents"]) for item in run_call.outputs]
    assert result.dtype == np.float32 and result.shape == (2, 3)
    np.testing.assert_array_equal(result, arrays[0] + arrays[1])
    (operand,) = [call for call in capture.calls if call.short == "Model_addOperand"][:1]
    assert operand.arguments["type"] == {
        "type": "TENSOR_FLOAT32",
        "dimensionCount": 2,
        "dimensions": [2, 3],
        "scale": 0.0,
        "zeroPoint": 0,
    }


def test_any_tool_can_read_it(example):
    """A zip archive of JSON lines and numpy's own files; each array once."""
    with zipfile.ZipFile(example("mobilenet_block")) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        lines = [
            line
            for name in names
            if name.startswith("calls-")
            for line in archive.read(name).decode().splitlines()
        ]
        arrays = [np.load(archive.open(name)) for name in names if name.endswith(".npy")]
    assert len({json.loads(line)["call"] for line in lines}) > 100
    assert len(set(names)) == len(names)
    assert len({(a.dtype.str, a.shape, a.tobytes()) for a in arrays}) == len(arrays) > 3


def test_the_vocabulary_is_that_of_the_functions():
    """Every function that Python answers, with the parameters that it has."""
    import inspect
    from importlib import import_module

    from nnapi_shim.abi import NOUNS

    for noun in NOUNS:
        import_module(f"nnapi_shim.abi.{noun}")
    from nnapi_shim.abi.boundary import EXPORTED

    assert EXPORTED.keys() == PARAMETERS.keys()
    for name, function in EXPORTED.items():
        assert [*inspect.signature(function).parameters] == [p.name for p in PARAMETERS[name]]
    kinds = {p.of for given in PARAMETERS.values() for p in given if p.kind in ("handle", "made")}
    assert kinds == C_TYPES.keys()


def test_a_program_that_is_killed(program, tmp_path):
    file = tmp_path / "capture.zip"
    done = run(program, "kill", NNAPI_SHIM_CAPTURE=file)
    assert done.returncode == -signal.SIGKILL
    capture = read(file)
    assert not capture.is_complete
    assert capture.calls[-1].short == "Model_finish" and capture.calls[-1].end is not None
    report = replay(capture)
    assert report.repeated == len(capture.calls) and not report.differences
    assert not report.is_complete and not report.died_in


def test_a_program_that_dies_in_a_call(program, tmp_path):
    file = tmp_path / "capture.zip"
    done = run(program, "crash", NNAPI_SHIM_CAPTURE=file)
    assert done.returncode == -signal.SIGSEGV
    capture = read(file)
    last = capture.calls[-1]
    assert (last.function, last.end) == (RUN, None)
    report = replay(capture)
    assert report.died_in == f"call {last.number}, {RUN}"
    assert report.repeated == len(capture.calls) - 1 and not report.differences


def test_a_fork_records_nothing(program, tmp_path):
    file = tmp_path / "capture.zip"
    done = run(program, "fork", NNAPI_SHIM_CAPTURE=file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    capture = read(file)
    assert capture.is_complete and len(computations(capture)) == 2
    assert len({call.thread for call in capture.calls}) == 1


def test_threads(program, tmp_path):
    file = tmp_path / "capture.zip"
    done = run(program, "threads", NNAPI_SHIM_CAPTURE=file)
    assert (done.returncode, done.stderr) == (0, "")
    capture = read(file)
    assert capture.is_complete and len(computations(capture)) == 1 + 4 * 20
    assert len({call.thread for call in capture.calls}) == 5
    report = replay(capture, "nnapi-cpu")
    assert (report.executions, report.outputs, report.differences) == (81, 81, [])


def test_memory_is_recorded_when_it_is_used(program, tmp_path):
    file = tmp_path / "capture.zip"
    done = run(program, "memory", NNAPI_SHIM_CAPTURE=file)
    assert (done.returncode, done.stderr) == (0, "")
    capture = read(file)
    inputs = [capture.array(call.inputs[0]["contents"]) for call in computations(capture)[1:]]
    np.testing.assert_array_equal(inputs, [[0, 1, 2, 3], [10, 11, 12, 13]])
    for device in ("nnapi-cpu", "nnapi-reference"):
        report = replay(capture, device)
        assert (report.executions, report.outputs, report.differences) == (3, 3, [])


def test_descriptors_that_the_program_closes(program, tmp_path):
    """The capture ends; nothing of it gets into files of the program."""
    file, mine = tmp_path / "capture.zip", tmp_path / "mine"
    done = run(program, "close", mine, NNAPI_SHIM_CAPTURE=file)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.startswith("nnapi_shim warning: NNAPI_SHIM_CAPTURE: the capture ends here: ")
    assert done.stderr.count("\n") == 1
    assert mine.read_bytes() == b"mine"
    assert len(computations(read(file))) == 1


def test_never_two_processes_in_one_file(program, tmp_path):
    file = tmp_path / "capture.zip"
    done = run(program, "run", f"{program} plain", NNAPI_SHIM_CAPTURE=file)
    assert (done.returncode, done.stdout) == (0, "done\ndone\n")
    assert done.stderr == (
        f"nnapi_shim warning: NNAPI_SHIM_CAPTURE is '{file}', which is not used; another process "
        "writes to it (%p in a name is the process's number)\n"
    )
    assert len(computations(read(file))) == 2
    done = run(program, "run", f"{program} plain", NNAPI_SHIM_CAPTURE=tmp_path / "c-%p.zip")
    assert (done.returncode, done.stderr) == (0, "")
    actual = sorted(len(computations(read(path))) for path in tmp_path.glob("c-*.zip"))
    assert actual == [1, 2]


@pytest.mark.parametrize("name", ["no folder/capture.zip", "."])
def test_a_file_that_cannot_be_written(program, tmp_path, name):
    done = run(program, NNAPI_SHIM_CAPTURE=tmp_path / name)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("\n") == 1 and "which is not used; " in done.stderr


@pytest.mark.parametrize("content", [b"letters\n", b"PK\3\4" + bytes(60)])
def test_a_file_of_the_user_is_kept(program, tmp_path, content):
    file = tmp_path / "mine"
    file.write_bytes(content)
    done = run(program, NNAPI_SHIM_CAPTURE=file)
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.endswith("; there is a file that is no capture; it is kept\n")
    assert file.read_bytes() == content


def test_an_older_capture_is_written_anew(program, tmp_path):
    file = tmp_path / "capture.zip"
    for _ in range(2):
        assert run(program, NNAPI_SHIM_CAPTURE=file).stderr == ""
        assert len(computations(read(file))) == 1


def test_a_full_disk(program):
    done = run(program, NNAPI_SHIM_CAPTURE="/dev/full")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("\n") == 1 and "NNAPI_SHIM_CAPTURE" in done.stderr


def test_off_nothing_is_different(tmp_path):
    """Without the settings the functions are attached as they are, and nothing is imported."""
    code = """
import sys
from nnapi_shim import capi
from nnapi_shim.abi.boundary import EXPORTED
count = capi.ffi.new("uint32_t *")
assert capi.lib.ANeuralNetworks_getDeviceCount(count) == 0
print(sum(hasattr(f, "__wrapped__") for f in EXPORTED.values()))
print([name for name in sys.modules if "recording" in name or "captur" in name or "traced" in name])
"""
    import subprocess
    import sys

    def printed(**settings):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={name: str(value) for name, value in settings.items()},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    assert printed() == printed(NNAPI_SHIM_CAPTURE="") == ["0", "[]"]
    assert printed(NNAPI_SHIM_CAPTURE=tmp_path / "capture.zip")[0] == str(len(PARAMETERS))
    assert read(tmp_path / "capture.zip").is_complete


def test_results_are_the_same_with_it(example):
    assert read(example("async")).is_complete
    assert read(example("basic")).is_complete
    assert read(example("devices")).is_complete
    assert EXAMPLES.exists()
