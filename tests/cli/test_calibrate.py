"""`nnapi-shim calibrate`, and what `explain` prints of it."""

import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.runtime import calibration as file
from nnapi_shim.runtime import device_manager
from nnapi_shim.tools import calibrate as tool
from tests.cli.command import Command
from tests.runtime.calibrations import keep, measured
from tests.runtime.partial_devices import PartialDevice

CONV = "tests.tools.models:conv_log_softmax"


@pytest.fixture(autouse=True)
def one_more_device(monkeypatch):
    """A device of others, and no calibration."""
    device = PartialDevice("fast", "CONV_2D ADD", (9.0, 9.0))
    device.prepare = CpuDevice().prepareModel
    listed = [device, CpuDevice(), ReferenceDevice()]
    monkeypatch.setattr(device_manager, "_devices", {"all": listed})
    file.remove()
    yield
    file.remove()


@pytest.fixture
def quick(monkeypatch):
    """Two kinds of work are measured."""
    monkeypatch.setattr(tool, "KINDS", ("convolution", "recurrent"))
    monkeypatch.setattr(file, "KINDS", ("convolution", "recurrent"))


def test_measure_show_forget(command: Command, quick) -> None:
    text = command.succeeds("calibrate", "--seconds", 0.1).out
    assert f"{file.path()}, measured in " in text
    assert "a step of several takes " in text
    row = next(line for line in text.splitlines() if line.startswith("recurrent"))
    assert " MOP" in row and " - " in row  # the device does not run it
    shown = command.succeeds("calibrate", "--show").out
    assert shown.splitlines()[1:] == text.splitlines()[1:]
    data = command.succeeds("calibrate", "--show", "--json").json
    assert data["problem"] == "" and data["seconds"] is None
    first, _ = data["calibration"]["devices"]
    assert first["times"]["convolution"]["float32"][0]["amount"] > 0
    assert command.succeeds("calibrate", "--forget").out == f"{file.path()} is removed\n"
    assert "there is no calibration" in command.refuses("calibrate", "--show")


def test_json(command: Command, quick, tmp_path) -> None:
    path = tmp_path / "calibration.json"
    assert command.succeeds("calibrate", "--seconds", 0.1, "--json", path).out == ""
    assert "there already" in command.refuses("calibrate", "--seconds", 0.1, "--json", path)
    assert command.succeeds("calibrate", "--device", "fast", "--seconds", 0.1, "--json").json


def test_one_that_is_not_used(command: Command) -> None:
    keep(measured("fast", version="older"))
    text = command.succeeds("calibrate", "--show").out
    assert "not used: it is of fast older, this is test" in text


def test_explain(command: Command, monkeypatch) -> None:
    keep(measured("fast", 100, rate=1e-12))
    lines = command.succeeds("explain", CONV).out.splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("division "))
    assert lines[at + 1].split()[:3] == ["chosen", "fast,", "nnapi-cpu"]
    assert lines[at + 2].startswith("nnapi-cpu alone")
    assert lines[at + 4].startswith("by figures")
    monkeypatch.setenv("NNAPI_SHIM_CALIBRATION", "off")
    assert "division " not in command.succeeds("explain", CONV).out
