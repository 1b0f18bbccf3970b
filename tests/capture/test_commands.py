"""`nnapi-shim exec` and `nnapi-shim replay`."""

import json
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from nnapi_shim.recording.reading import read
from tests.capture.conftest import EXAMPLES, LIBRARIES, ROOT
from tests.cli.command import Command
from tests.waiting import HANGS_S

EXEC = [Path(sys.executable).with_name("nnapi-shim"), "exec"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/nowhere"}


def execute(*words, **settings):
    return subprocess.run(
        [str(word) for word in (*EXEC, *words)],
        env=ENVIRONMENT | settings,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


@pytest.fixture
def command(capsys):
    return Command(capsys)


def test_what_repeats_nothing_is_no_success(command, tmp_path):
    """Calls of functions that this version does not have."""
    capture, other = tmp_path / "capture.zip", tmp_path / "other.zip"
    execute("--capture", capture, "--", EXAMPLES / "simple_add")
    with zipfile.ZipFile(capture) as old, zipfile.ZipFile(other, "w") as new:
        for item in old.infolist():
            data = old.read(item).replace(b'"ANeuralNetworks', b'"AOtherNetworks')
            new.writestr(item.filename, data)
    code, printed, _ = command("replay", other)
    assert code == 1 and "0 calls of 19 repeated" in printed


def test_a_program_finds_the_library(tmp_path):
    trace, capture = tmp_path / "trace.json", tmp_path / "capture.zip"
    done = execute("--trace", trace, "--capture", capture, "--", EXAMPLES / "simple_add")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (ROOT / "c_examples" / "simple_add.expected").read_text()
    assert read(capture).is_complete
    assert len(json.loads(trace.read_text())) > 40
    second = execute("--capture", capture, "--", EXAMPLES / "simple_add")
    assert (second.returncode, second.stdout) == (2, "")
    assert "is there already" in second.stderr
    assert execute("--force", "--capture", capture, "--", EXAMPLES / "simple_add").returncode == 0


def test_a_folder_whose_name_says_process(tmp_path):
    """`%p` is the process's number in the name of the file alone."""
    folder = tmp_path / "at 100%pure"
    folder.mkdir()
    for capture, trace in (("c.zip", "t.json"), ("c-%p.zip", "t-%p.json")):
        words = ["--capture", capture, "--trace", trace, "--", EXAMPLES / "simple_add"]
        done = subprocess.run(
            [str(word) for word in (*EXEC, *words)],
            env=ENVIRONMENT,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
    names = sorted(path.name for path in folder.iterdir())
    assert names[0].startswith("c-") and names[0][2:-4].isdigit() and names[1] == "c.zip"
    assert names[2].startswith("t-") and names[2][2:-5].isdigit() and names[3] == "t.json"
    assert all(read(path).is_complete for path in folder.glob("c*.zip"))


def test_the_environment_is_what_was_asked_for():
    done = execute("--lint", "--device", "nnapi-.*", "--log", "debug,json", "--", "env", A="b")
    variables = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert variables["LD_LIBRARY_PATH"] == f"{LIBRARIES}:/nowhere"
    assert variables["NNAPI_SHIM_LINT"] == "1"
    assert variables["DEBUG_NN_ENABLED_DEVICES"] == "nnapi-.*"
    assert variables["NNAPI_SHIM_LOG"] == "debug,json"
    assert variables["A"] == "b" and "NNAPI_SHIM_TRACE" not in variables


def test_several_devices():
    words = ("--device", "nnapi-cpu", "--device", "npu.*", "--", "env")
    assert "DEBUG_NN_ENABLED_DEVICES=nnapi-cpu|npu.*\n" in execute(*words).stdout


def test_exit_codes_and_signals_are_the_programs():
    assert execute("--", "sh", "-c", "exit 7").returncode == 7
    assert execute("--", "sh", "-c", "kill -9 $$").returncode == -signal.SIGKILL
    done = execute("--", "sh", "-c", "kill -PIPE $$")
    assert done.returncode == -signal.SIGPIPE, "Python ignores it, and programs do not"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--device", "(", "--", "true"], "is no regular expression"),
        (["--log", "loud", "--", "true"], "there is no log level 'loud'; there are silent,"),
        (["--trace", "no/folder/t.json", "--", "true"], "there is no folder no/folder"),
        ([], "Missing argument"),
    ],
)
def test_what_exec_refuses(words, message):
    done = execute(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_replay(command, example):
    outcome = command.succeeds("replay", example("async"), "--device", "nnapi-reference")
    assert "118 calls of 118 repeated on nnapi-reference: " in outcome.out
    report = command.succeeds("replay", example("async"), "--json").json
    assert (report["repeated"], report["differences"], report["is_complete"]) == (118, [], True)


def test_replay_tells_of_differences(command, example, tmp_path):
    data = example("simple_add").read_bytes()
    at = data.rindex(b"0000c03f")
    target = tmp_path / "capture.zip"
    target.write_bytes(data[:at] + b"00002040" + data[at + 8 : data.index(b"PK\7\x08", at)])
    outcome = command("replay", target)
    assert outcome.code == 1
    assert "output 0" in outcome.out and "2.5 at 0" in outcome.out
    assert "the capture has no end" in outcome.out


def test_what_replay_refuses(command, example, tmp_path):
    file = tmp_path / "file"
    file.write_text("nothing")
    assert "is no capture" in command.refuses("replay", file)
    assert "No such file" in command.refuses("replay", tmp_path / "missing.zip")
    assert "does not end in .c" in command.refuses("replay", file, "--to-c", tmp_path / "x.py")
    assert "no device matches" in command.refuses("replay", example("async"), "--device", "x")


def test_reproducers(command, example, tmp_path):
    c, python = tmp_path / "a.c", tmp_path / "a.py"
    outcome = command.succeeds("replay", example("async"), "--to-c", c, "--to-python", python)
    assert outcome.out.splitlines() == [str(c), str(python)]
    assert "is there already" in command.refuses("replay", example("async"), "--to-c", c)


def test_captures_are_models_of_commands(command, example, tmp_path):
    """A converted capture is a file of TensorFlow Lite."""
    target = tmp_path / "model.tflite"
    command.succeeds("convert", example("mobilenet_block"), "-o", target)
    assert target.stat().st_size > 1000
    assert "CONV_2D" in command.succeeds("explain", example("mobilenet_block")).out
