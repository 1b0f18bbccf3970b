"""What `calibrate` measures, and what it does with devices that fail."""

from pathlib import Path

import pytest

from nnapi_shim import NnapiError
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import DeviceType
from nnapi_shim.runtime import calibration as file
from nnapi_shim.runtime import device_manager
from nnapi_shim.runtime.division import NOISE
from nnapi_shim.runtime.work_kinds import FLOAT32, KINDS, RECURRENT, RELAXED, TYPES
from nnapi_shim.tools import calibrate as tool
from nnapi_shim.tools import calibrate_compilations
from nnapi_shim.tools.calibrate import _evaluated, _Times, calibrate, forget, shown
from nnapi_shim.tools.explain import explain
from nnapi_shim.tools.probes import PROBES, probe_models
from nnapi_shim.units import percent
from tests.runtime.calibrations import keep, measured
from tests.runtime.partial_devices import PartialDevice
from tests.tools.models import conv_log_softmax

TWO = ("convolution", RECURRENT)


@pytest.fixture(autouse=True)
def no_calibration():
    file.remove()
    yield
    file.remove()


def other(name="other", runs=None, type=DeviceType.ACCELERATOR):
    device = PartialDevice(name, runs)
    device.prepare = CpuDevice().prepareModel
    device.type = type
    return device


@pytest.fixture
def quick(monkeypatch):
    """Two kinds of work, of which one is not quantized, are measured."""
    monkeypatch.setattr(tool, "KINDS", TWO)


def test_every_kind_and_type_is_measured(listed) -> None:
    told = []
    listed(other())
    report = calibrate(seconds=0.1, progress=lambda *state: told.append(state))
    assert report.path == file.path() and report.problem == "" and report.seconds > 0
    assert file.read() == report.calibration
    of_other, of_cpu = report.calibration.devices
    assert (of_other.name, of_cpu.name) == ("other", "nnapi-cpu")
    for device, types in ((of_other, TYPES), (of_cpu, [t for t in TYPES if t != RELAXED])):
        assert list(device.times) == list(KINDS)
        for kind, by_type in device.times.items():
            assert set(by_type) == {t for t in types if kind != RECURRENT or t != "quant8"}
            for small, large in by_type.values():
                assert 0 < small.amount < large.amount and small.seconds > 0 < large.seconds
        assert set(device.handing_over) == set(types) and 0 < device.call < 1
    assert [done for done, _, _ in told] == list(range(len(told)))
    assert len({total for _, total, _ in told}) == 1 and told[-1][0] == told[-1][1]
    assert set(PROBES) == set(KINDS)


def test_devices_that_fail_are_measured_with_what_they_run(listed, quick, monkeypatch) -> None:
    monkeypatch.setattr(file, "KINDS", TWO)
    fails = other("fails")
    prepare = fails.prepare

    def prepared(model, *arguments):
        if any(item.type.name == "CONV_2D" for item in model.main.operations):
            raise op_failed("no", "driver.fails.no")
        return prepare(model, *arguments)

    fails.prepare = prepared
    listed(fails, other("convolves", "CONV_2D ADD"))
    report = calibrate(seconds=0.01)
    by_name = {device.name: list(device.times) for device in report.calibration.devices}
    assert by_name == {"fails": [RECURRENT], "convolves": [TWO[0]], "nnapi-cpu": list(TWO)}


def test_a_device_that_adds_nothing_is_left_out(listed, quick, monkeypatch, capfd) -> None:
    monkeypatch.setattr(file, "KINDS", TWO)
    listed(other("muls", "MUL"), other("adds", "ADD"))
    report = calibrate(seconds=0.01)
    assert [device.name for device in report.calibration.devices] == ["adds", "nnapi-cpu"]
    (line,) = capfd.readouterr().err.splitlines()
    assert "muls is left out of the calibration" in line


class Slow:
    """Makes a device one that compiles several models at once, and remembers what it compiled."""

    def __init__(self, device, refused=""):
        self.ahead, self.caches, self.refused = [], [], refused
        self.prepare = device.prepare
        device.prepare, device.compileTogether = self.prepared, self.together

    def together(self, models, cache, deadline_ns):
        names = [item.type.name for item in models[0].main.operations]
        self.ahead.append(len(models))
        if self.refused in names:
            raise op_failed("no", "driver.slow.no")
        return True

    def prepared(self, model, preference, priority, deadline, cache):
        self.caches.append(cache and Path(cache.directory).exists())
        return self.prepare(model, preference, priority, deadline, None)


@pytest.mark.parametrize("refused", ["-", "CONV_2D"])
def test_slow_compilations_come_first(refused, listed, quick, monkeypatch) -> None:
    """Those of a part at once; what is refused then is not tried again."""
    monkeypatch.setattr(file, "KINDS", TWO)
    told, device = [], other("slow")
    slow = Slow(device, refused)
    listed(device)
    report = calibrate(seconds=0.01, progress=lambda *state: told.append(state))
    assert slow.ahead == [1] + 7 * [3]
    (measured, _) = report.calibration.devices
    assert list(measured.times) == ([TWO[1]] if refused == "CONV_2D" else list(TWO))
    without, with_cache = slow.caches.count(None), slow.caches.count(True)
    assert (without, with_cache) == (1, 9 if refused == "CONV_2D" else 22)
    assert [what for _, _, what in told][1] == "compiling for slow: convolution, float32"


@pytest.mark.parametrize("is_ahead", [False, True])
def test_what_there_is_no_time_to_compile_is_left_out(
    is_ahead, listed, quick, monkeypatch, capfd
) -> None:
    monkeypatch.setattr(file, "KINDS", TWO)
    monkeypatch.setattr(calibrate_compilations, "_LEAST", 0.0)
    device = other("slow")
    if is_ahead:
        Slow(device)
    listed(device)
    report = calibrate(seconds=1e-9)
    measured, unit = report.calibration.devices
    assert list(unit.times) == list(TWO)
    assert not measured.times and measured.call
    (line,) = capfd.readouterr().err.splitlines()
    assert "slow is measured without 7 kinds and types of work" in line


def test_which_devices_are_measured(listed, quick, monkeypatch) -> None:
    monkeypatch.setattr(file, "KINDS", TWO)
    listed(other("one"), other("two"))

    def names(*choice):
        made = calibrate(*choice, seconds=0.01).calibration
        return [device.name for device in made.devices]

    assert names() == ["one", "two", "nnapi-cpu"]
    assert names("two") == ["two", "nnapi-cpu"]
    assert names(["nnapi-reference", "one"]) == ["nnapi-reference", "one", "nnapi-cpu"]


def test_nothing_to_divide(listed, monkeypatch) -> None:
    listed()
    with pytest.raises(NnapiError, match=r"nnapi-cpu is the only device.*NNAPI_SHIM_ENGINES=all"):
        calibrate()
    monkeypatch.setattr(device_manager, "_devices", {"all": [other()]})
    with pytest.raises(NnapiError, match="nnapi-cpu is not listed"):
        calibrate()


def test_a_calibration_that_cannot_be_kept_is_not_made(listed, monkeypatch, tmp_path) -> None:
    listed(other())
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(tool, "_Measuring", None)
    with pytest.raises(NnapiError, match="cannot be written"):
        calibrate()


def test_shown_and_forgotten(listed) -> None:
    listed(PartialDevice("one"))
    with pytest.raises(NnapiError, match=r"there is no calibration .*`nnapi-shim calibrate`"):
        shown()
    made = keep(measured("one"))
    assert shown().calibration == made and shown().problem == ""
    keep(measured("one", version="2"))
    assert shown().problem == "it is of one 2, this is test"
    Path(file.path()).write_text("{}")
    with pytest.raises(NnapiError, match="is not used: its schema is None"):
        shown()
    assert forget() == f"{file.path()} is removed"
    assert forget() == f"there is no {file.path()}"


def test_the_time_of_a_layer_is_that_of_more_layers() -> None:
    """1 us a call, 10 us to hand everything over, 4 us a large layer, 2 us a small one."""
    models = [model.finished for model in probe_models("elementwise", FLOAT32)]
    points, rate = _evaluated(models, _Times(7e-6, 15e-6, 23e-6), 1e-6)
    assert [point.seconds for point in points] == pytest.approx([2e-6, 4e-6])
    assert [point.amount for point in points] == [2 * 4 * 1024, 2 * 4 * 200704]
    assert rate == pytest.approx(10e-6 / (2 * 4 * 200704))
    points, rate = _evaluated(models, _Times(7e-6, 30e-6, 23e-6), 1e-6)
    assert points[1].seconds == pytest.approx(22e-6 / 3 / 4)  # noise: it cannot be below 0


# What explain says


def test_explain_has_the_times(listed) -> None:
    keep(
        measured("fast", 4, {"function": 1e-3}, rate=1e-12),
        measured("nnapi-cpu", 1, version=CpuDevice.version, rate=1e-12),
    )
    listed(PartialDevice("fast", "CONV_2D SOFTMAX LOG", (9.0, 9.0)))
    result = explain(conv_log_softmax())
    assert "least estimated time, by the calibration of now" in result.decision
    assert [item.device for item in result.operations] == ["fast", "nnapi-cpu", "nnapi-cpu"]
    first, second, _ = result.operations
    assert first.why.startswith("estimated time: ") and "nnapi-cpu" in first.why
    times = {verdict.device: verdict.seconds for verdict in second.verdicts}
    assert times["fast"] > times["nnapi-cpu"] > 0
    assert times["nnapi-reference"] == pytest.approx(10 * times["nnapi-cpu"])
    names = [item.what for item in result.divisions]
    assert names == [
        *("chosen", "fast alone", "nnapi-cpu alone", "nnapi-reference alone"),
        "by figures",
    ]
    chosen, _, cpu, _, figures = result.divisions
    assert chosen.devices == ("fast", "nnapi-cpu")
    assert chosen.seconds == min(item.seconds for item in result.divisions)
    assert chosen.seconds == chosen.computing + chosen.calls + chosen.handing_over
    assert figures.devices == cpu.devices == ("nnapi-cpu",) and figures.seconds == cpu.seconds
    assert result.to_json()["divisions"][0]["what"] == "chosen"


def test_explain_says_why_a_faster_device_is_not_taken(listed) -> None:
    keep(measured("fast", 4, call=1e-2), measured("nnapi-cpu", 1, version=CpuDevice.version))
    listed(PartialDevice("fast", "CONV_2D"))
    result = explain(conv_log_softmax())
    assert {item.device for item in result.operations} == {"nnapi-cpu"}
    (verdict,) = [v for v in result.operations[0].verdicts if v.device == "fast"]
    assert f"that was tried saves {percent(NOISE)} of the whole time" in verdict.reasons[0].text
    unable = [v for v in result.operations[1].verdicts if v.device == "fast"]
    assert unable[0].seconds is None


def test_without_a_calibration_there_are_no_times(listed) -> None:
    listed(PartialDevice("fast", "CONV_2D", (9.0, 9.0)))
    result = explain(conv_log_softmax())
    assert result.divisions == ()
    assert {v.seconds for item in result.operations for v in item.verdicts} == {None}
