"""Injected faults in captures and traces, and in replays of captures."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nnapi_shim import NnapiError
from nnapi_shim.phones.fault_replay import RecordedFaults
from nnapi_shim.recording.reading import read as read_capture
from nnapi_shim.tools.replay import replay
from tests.phones.test_faults import run
from tests.waiting import HANGS_S

Compiled = Callable[..., Path]
SUPPORTED = "device=nnapi-cpu do=fewer nth=1"


def replayed(capture: Path, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nnapi_shim", "replay", str(capture), *options],
        env=dict(os.environ) | {"NNAPI_SHIM_LOG": "silent"} | settings,
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("faults", "calls", "devices"),
    [
        ("function=Model_addOperand probability=0.4 code=OP_FAILED; seed=2", {}, ""),
        ("device=nnapi-cpu do=nan", {"Execution_compute": 1}, ""),
        ("device=generic-gpu do=lost delay=1ms", {"Execution_compute": 1}, "android-10-gpu"),
        (
            "function=Compilation_finish code=OP_FAILED; device=any at=supported delay=1us",
            {"Compilation_finish": 1},
            "",
        ),
    ],
)
def test_a_replay_repeats_them(
    tmp_path: Path, faults: str, calls: dict[str, int], devices: str
) -> None:
    path = tmp_path / "x.zip"
    settings = {"NNAPI_SHIM_PROFILE": devices} if devices else {}
    outcome = run(faults, NNAPI_SHIM_CAPTURE=str(path), **settings)
    told = outcome.stderr.count("warning: injected fault")
    capture = read_capture(str(path))
    with_faults = {call.short: len(call.faults) for call in capture.calls if call.faults}
    assert with_faults.items() >= calls.items()
    assert sum(with_faults.values()) == told > 0
    again = replayed(path, "--faults", **settings)
    assert (again.returncode, again.stderr) == (0, "")
    assert f"{told} of {told} injected fault" in again.stdout
    assert "0 differences" in again.stdout
    if "do=nan" in faults:
        assert replayed(path).returncode == 1


def test_faults_of_another_thread_are_in_the_next_call(compiled: Compiled, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    program = compiled("fences.c", "-lneuralnetworks", "-pthread")
    faults = "device=nnapi-cpu do=ulp nth=1"
    run(faults, program, "plain", NNAPI_SHIM_CAPTURE=str(path))
    capture = read_capture(str(path))
    (fault,) = [fault for call in capture.calls for fault in call.faults]
    assert fault == {"rule": faults, "call": 1, "where": "nnapi-cpu, run"}
    again = replayed(path, "--faults")
    assert again.returncode == 0, again.stdout
    assert "1 of 1 injected fault repeated" in again.stdout


def test_what_takes_time_is_not_repeated() -> None:
    rules = [
        "device=any do=hang nth=1",
        "device=any delay=100s do=nan",
        "function=Execution_startCompute do=no-signal",
    ]
    made = RecordedFaults([{"rule": text, "call": 1} for text in rules])
    hang, nan, signal = made.rules.rules
    assert hang.code is not None
    assert (hang.deed, nan.deed, signal.deed) == ("", "nan", "")
    assert nan.delay_s == 0
    with pytest.raises(NnapiError, match="has 'x'"):
        RecordedFaults([{"rule": "x", "call": 1}])


def test_replays_that_cannot_repeat_faults(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    run("", NNAPI_SHIM_CAPTURE=str(path))
    plain = replayed(path, "--faults")
    assert (plain.returncode, plain.stdout) == (2, "")
    assert "has no injected faults to repeat" in plain.stderr
    path.unlink()
    run("device=any do=nan", NNAPI_SHIM_CAPTURE=str(path))
    other = replayed(path, "--faults", "--device", "nnapi-reference")
    assert (other.returncode, other.stdout) == (2, "")
    assert "faults are repeated on the devices of the capture" in other.stderr
    __import__("nnapi_shim").devices()
    with pytest.raises(NnapiError, match="only in a process that has not used the library yet"):
        replay(str(path), faults=True)


IN_PYTHON = """
import sys
from nnapi_shim import NnapiError, capi
from nnapi_shim.tools.replay import replay
{before}
try:
    report = replay(sys.argv[1], faults=True)
    print(report.faults, report.recorded_faults, report.differences)
except NnapiError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("before", "printed"),
    [
        ("", "1 1 []\n"),
        (
            "capi.lib.ANeuralNetworksModel_create(capi.ffi.NULL)",
            "BAD_STATE: faults are repeated only in a process that has not used the library yet\n",
        ),
    ],
)
def test_a_replay_in_python(tmp_path: Path, before: str, printed: str) -> None:
    """Functions get their faults at the first call; after one, none could be repeated."""
    path = tmp_path / "x.zip"
    run("function=Compilation_finish code=OP_FAILED", NNAPI_SHIM_CAPTURE=str(path))
    outcome = subprocess.run(
        [sys.executable, "-c", IN_PYTHON.format(before=before), path],
        env=dict(os.environ) | {"NNAPI_SHIM_LOG": "silent"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert (outcome.stdout, outcome.stderr) == (printed, "")


def test_a_trace_has_them(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    faults = "function=Execution_compute code=OP_FAILED; device=any at=prepare delay=1us"
    run(faults, NNAPI_SHIM_TRACE=str(path))
    events = [it for it in json.loads(path.read_text()) if it["name"] == "injected fault"]
    assert [(it["ph"], it["args"]["where"]) for it in events] == [
        ("i", "nnapi-cpu, prepare"),
        ("i", "ANeuralNetworksExecution_compute"),
    ]
    assert {it["s"] for it in events} == {"t"}
    assert events[1]["args"]["rule"] == "function=Execution_compute code=OP_FAILED"
