"""The file of a calibration: what is read, what is not, and what is said then."""

import json
import os
import threading
from pathlib import Path

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import ExecutionPreference
from nnapi_shim.runtime import calibration as file
from nnapi_shim.runtime.calibration import UNIT, DamagedError, Point
from nnapi_shim.runtime.partitioning import Answers
from tests.runtime.calibrations import calibration, keep, measured
from tests.runtime.hal_models import chain
from tests.runtime.partial_devices import PartialDevice


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """A folder of its own for each test, and no warning that was given before."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("nnapi_shim.log._noted", {})
    file.forget_read()
    yield
    file.forget_read()


def is_used():
    """Whether a compilation for two devices uses it."""
    devices = [PartialDevice("one"), PartialDevice("other")]
    answers = Answers(chain("ADD"), devices, ExecutionPreference.FAST_SINGLE_ANSWER)
    return answers.measured() is not None


def test_what_is_written_is_read():
    made = keep(measured("one", 3, {"function": 7}, call=0.25), step=0.5)
    assert file.read() == made
    assert is_used()
    assert Path(file.path()).stat().st_mode & 0o777 == 0o600
    assert file.remove() and not file.remove()
    assert not is_used()


def test_there_is_none(capfd):
    assert not is_used()
    with pytest.raises(FileNotFoundError):
        file.read()
    assert capfd.readouterr().err == ""


def damaged(change):
    """The text of a calibration after a change of its dictionaries."""
    data = json.loads(json.dumps(file.to_json(calibration(measured("one")))))
    change(data)
    return json.dumps(data)


def put(*keys):
    """A change: the last value in the place of what the keys before it lead to."""

    def change(data):
        *path, last, value = keys
        for key in path:
            data = data[key]
        data[last] = value

    return change


CHANGES = {
    "no object": lambda data: data.clear(),
    "another schema": put("schema", 2),
    "a word for a number": put("step", "fast"),
    "truth for a number": put("step", True),
    "not a number": put("step", float("nan")),
    "infinite": put("step", float("inf")),
    "too large": put("step", 10**400),
    "below zero": put("devices", 0, "call", -1),
    "no threads": put("threads", None),
    "no changes": put("changes", None),
    "a change of one device": put("changes", [["one", 1]]),
    "a change without a time": put("changes", [["one", "other"]]),
    "a change that is none": put("changes", [1]),
    "no devices": put("devices", None),
    "a device that is none": put("devices", 0, []),
    "a type that is none": put("devices", 0, "handing_over", "int4", 1),
    "a kind that is none": put("devices", 0, "times", "magic", {}),
    "times that are none": put("devices", 0, "times", "function", []),
    "times of no type": put("devices", 0, "times", "function", "int4", []),
    "one point": put("devices", 0, "times", "function", "float32", [[1, 1]]),
    "a point with one number": put("devices", 0, "times", "function", "float32", [[1], [2, 1]]),
    "points in the wrong order": put(
        "devices", 0, "times", "function", "float32", [[2, 1], [2, 1]]
    ),
    "a point at nothing": put("devices", 0, "times", "function", "float32", [[0, 1], [2, 1]]),
    "nnapi-cpu without a kind": lambda data: data["devices"][1]["times"].pop("pooling"),
    "no nnapi-cpu": lambda data: data["devices"].pop(),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_damaged_file_is_one_line(what, capfd):
    keep(measured("one"))
    Path(file.path()).write_text(damaged(CHANGES[what]))
    with pytest.raises(DamagedError):
        file.read()
    assert not is_used() and not is_used()
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"nnapi_shim warning: the calibration {file.path()} is not used: ")
    assert line.endswith("`nnapi-shim calibrate` measures again")


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b"0"])
def test_bytes_that_are_no_calibration(text, capfd):
    keep(measured("one"))
    Path(file.path()).write_bytes(text)
    assert not is_used()
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_every_beginning_of_a_file_is_damaged_or_whole():
    keep(measured("one"))
    whole = Path(file.path()).read_bytes()
    for length in range(0, len(whole) - 1, 97):
        Path(file.path()).write_bytes(whole[:length])
        with pytest.raises(DamagedError):
            file.read()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"library": "0.0.1"}, "it is of nnapi_shim 0.0.1, this is "),
        ({"processor": "Z80"}, "it is of 'Z80', this is "),
        ({"threads": 1000}, "it is of runs with 1000 threads, here they have "),
    ],
)
def test_one_of_another_library_or_machine_is_not_used(change, words, capfd):
    keep(measured("one"), **change)
    assert not is_used() and not is_used()
    (line,) = capfd.readouterr().err.splitlines()
    assert f"is not used: {words}" in line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": "old"}, "it is of one old, this is test"),
        ({"is_isolated": True}, "one was measured isolated"),
    ],
)
def test_one_of_another_version_of_a_device_is_not_used(change, words, capfd):
    keep(measured("one")._replace(**change))
    assert not is_used()
    (line,) = capfd.readouterr().err.splitlines()
    assert f"is not used: {words}; " in line
    keep(measured("other"), measured("gone", version="old"))
    assert is_used()


def test_a_file_that_others_may_write_is_not_used(capfd):
    keep(measured("one"))
    Path(file.path()).chmod(0o666)
    assert not is_used()
    assert "is open to other users" in capfd.readouterr().err


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: Path(path).symlink_to("/dev/zero")]
)
def test_what_is_no_file_is_not_waited_for(make, capfd):
    keep(measured("one"))
    file.remove()
    make(file.path())
    assert not is_used()
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_a_program_with_raised_privileges_reads_none(monkeypatch, capfd):
    keep(measured("one"))
    monkeypatch.setattr("nnapi_shim.runtime.calibration.is_privileged", lambda: True)
    assert not is_used()
    assert capfd.readouterr().err == ""


def test_writers_at_once_leave_a_whole_file():
    """Readers find one calibration or another, and never a part of one."""
    made = [calibration(measured("one", speed)) for speed in (1, 2, 3)]
    file.write(made[0])
    ended = threading.Event()
    failures = []

    def write(which):
        try:
            while not ended.is_set():
                file.write(which)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(each,)) for each in made]
    for thread in threads:
        thread.start()
    try:
        for _ in range(100):
            assert file.read() in made
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not failures
    where = Path(file.path())
    assert [*where.parent.iterdir()] == [where]


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    """As a home that is mounted read-only."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    for action in (file.require_writable, lambda: file.write(calibration())):
        with pytest.raises(NnapiError, match=r"calibration.json cannot be written: ") as caught:
            action()
        assert caught.value.rule == "calibration.not-writable"
    assert not is_used()
    assert not file.remove()


def test_a_read_only_home(monkeypatch):
    def fails(*arguments, **others):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "makedirs", fails)
    with pytest.raises(NnapiError, match="cannot be written: Read-only file system"):
        file.require_writable()
    monkeypatch.setattr(os, "unlink", fails)
    with pytest.raises(NnapiError, match="cannot be removed: Read-only file system") as caught:
        file.remove()
    assert caught.value.rule == "calibration.not-removed"


def test_the_unit_is_always_there():
    assert calibration(measured("one")).device(UNIT).times["pooling"]["float32"] == (
        Point(1e3, 1e-6),
        Point(1e6, 1e-3),
    )
    assert calibration().device("nobody") is None
