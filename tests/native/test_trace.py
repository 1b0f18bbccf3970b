"""Traces: a file of trace events that viewers can read, whatever becomes of the program."""

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Program = Callable[..., subprocess.CompletedProcess[str]]
ON, OFF = 3, 4


@pytest.fixture
def run(build: Callable[..., Program]) -> Program:
    """Runs the program that traces."""
    return build("companion_trace", "android")


def trace(run: Program, tmp_path: Path, what: str) -> list[dict[str, Any]]:
    """The events of a program, without the first one, which names it."""
    file = tmp_path / "trace.json"
    result = run(what, NNAPI_SHIM_TRACE=str(file))
    assert (result.returncode, result.stdout, result.stderr) == (ON, "", "")
    first, *events = json.loads(file.read_bytes())
    assert first["ph"] == "M" and first["name"] == "process_name"
    assert first["args"] == {"name": "companion_trace-android"}
    assert {event["pid"] for event in events} <= {first["pid"]}
    assert all(event["ts"] > 0 and event["tid"] > 0 for event in events)
    return events


def test_events(run: Program, tmp_path: Path) -> None:
    """Each function writes its event; names come through whatever they contain."""
    events = trace(run, tmp_path, "events")
    assert [event["ph"] for event in events] == list("BBEEbCeBEBECCCB")
    names = [event["name"] for event in events if event["ph"] != "E"]
    assert names == [
        "outer",
        'with "quotes", \\ and \n\t\x01',
        "across threads",
        "bytes",
        "across threads",
        "grüß € \U0001f600",
        "\xfc \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82",
        "\x02" * 256,
        "\xbc" + "ü" * 127,
        "x" + "ü" * 127,
        "",
    ]
    assert [event["id"] for event in events if event["ph"] in "be"] == [-7, -7]
    counters = [event["args"]["value"] for event in events if event["ph"] == "C"]
    assert counters == [-(2**63), 1, 2, 3]
    times = [event["ts"] for event in events]
    assert times == sorted(times)


def test_events_of_threads_do_not_mix(run: Program, tmp_path: Path) -> None:
    """Four threads, 200 sections each; every thread has an id of its own."""
    events = trace(run, tmp_path, "threads")
    begun = Counter((event["name"], event["tid"]) for event in events if event["ph"] == "B")
    assert sorted(name for name, _ in begun) == list("abcd")
    assert len({tid for _, tid in begun}) == 4
    assert set(begun.values()) == {200}
    assert Counter(event["ph"] for event in events) == {"B": 800, "E": 800}


def test_nothing_comes_behind_the_end(run: Program, tmp_path: Path) -> None:
    """A program that exits while threads trace leaves an array that is complete."""
    assert len(trace(run, tmp_path, "exit")) > 10


def test_a_child_writes_nothing(run: Program, tmp_path: Path) -> None:
    """A fork does not write into its parent's trace, nor end it."""
    events = trace(run, tmp_path, "fork")
    assert [event["name"] for event in events] == ["parent", ""]


def test_a_program_that_dies_leaves_what_it_has_written(run: Program, tmp_path: Path) -> None:
    """Only the last bracket is missing, which viewers do without."""
    file = tmp_path / "trace.json"
    result = run("die", NNAPI_SHIM_TRACE=str(file))
    assert result.returncode == -signal.SIGABRT
    assert [event["name"] for event in json.loads(file.read_text() + "]")][1:] == ["last words"]


def test_without_the_setting_nothing_happens(run: Program, tmp_path: Path) -> None:
    """No file, no word."""
    for environment in ({}, {"NNAPI_SHIM_TRACE": ""}):
        result = run("events", **environment)
        assert (result.returncode, result.stdout, result.stderr) == (OFF, "", "")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_told_of(run: Program, tmp_path: Path) -> None:
    """One line, and no trace."""
    file = tmp_path / "no such folder" / "trace.json"
    result = run("events", NNAPI_SHIM_TRACE=str(file))
    assert result.returncode == OFF
    assert result.stderr == (
        f"E/nnapi_shim: NNAPI_SHIM_TRACE is '{file}', which is not used; "
        "No such file or directory\n"
    )
    result = run("events", NNAPI_SHIM_TRACE="x" * 5000)
    assert result.returncode == OFF
    assert result.stderr.endswith("which is not used; File name too long\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_told_of(run: Program) -> None:
    """One line, not one for each event."""
    result = run("threads", NNAPI_SHIM_TRACE="/dev/full")
    assert result.returncode == OFF
    assert result.stderr == (
        "E/nnapi_shim: NNAPI_SHIM_TRACE is '/dev/full', which is not used; "
        "No space left on device\n"
    )


def test_a_file_of_the_user_is_kept(run: Program, tmp_path: Path) -> None:
    """What is no trace is not emptied; an older trace is."""
    file = tmp_path / "mine.json"
    file.write_text('["letters"]')
    result = run("events", NNAPI_SHIM_TRACE=str(file))
    assert result.returncode == OFF
    assert result.stderr == (
        f"E/nnapi_shim: NNAPI_SHIM_TRACE is '{file}', which is not used; "
        "there is a file that is no trace; it is kept\n"
    )
    assert file.read_text() == '["letters"]'
    file.unlink()
    for _ in range(2):
        assert run("events", NNAPI_SHIM_TRACE=str(file)).returncode == ON
        json.loads(file.read_text())


def test_two_processes_do_not_write_to_one_file(run: Program, tmp_path: Path) -> None:
    """The second one says so; with %p in the name each has its own."""
    file = tmp_path / "trace.json"
    other = "/proc/$PPID/exe events 2>&1; test $? = {}"
    result = run("again", other.format(OFF), NNAPI_SHIM_TRACE=str(file))
    assert result.returncode == ON, result.stderr
    assert result.stdout == (
        f"E/nnapi_shim: NNAPI_SHIM_TRACE is '{file}', which is not used; "
        "another process writes to it (%p in a name is the process's number)\n"
    )
    assert [event["name"] for event in json.loads(file.read_text())][1:] == ["first", ""]
    file.unlink()
    result = run("again", other.format(ON), NNAPI_SHIM_TRACE=str(tmp_path / "trace-%p.json"))
    assert (result.returncode, result.stdout, result.stderr) == (ON, "", "")
    traces = [json.loads(path.read_text()) for path in tmp_path.iterdir()]
    assert sorted(len(events) for events in traces) == [3, 16]
    for path, events in zip(tmp_path.iterdir(), traces, strict=True):
        assert path.name == f"trace-{events[0]['pid']}.json"
