"""NNAPI_SHIM_ENGINES: which devices are listed, and what is said of engines that are not there."""

import subprocess
import sys

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim import extras
from nnapi_shim.drivers import engine_devices
from nnapi_shim.runtime import device_manager
from tests.engines.fake import Engine

OWN = ["nnapi-cpu", "nnapi-reference"]

WITHOUT = """
import sys
import nnapi_shim
with nnapi_shim.Model() as model:
    x = model.input("float32", (2,), name="x")
    model.outputs(model.add(x, x))
    model.finish()
    assert model.compile().run([1, 2]).tolist() == [2, 4]
print([device.name for device in nnapi_shim.devices()])
print([name for name in sys.modules if "engine" in name or name in ("onnxruntime", "openvino")])
"""


@pytest.fixture
def engine(monkeypatch):
    """The only engine there is: doubles, by the name "fake"."""
    monkeypatch.setattr(device_manager, "_devices", {})
    made = Engine(lambda x: [x + x])
    package = next(iter(engine_devices.PACKAGES.values()))
    monkeypatch.setattr(engine_devices, "PACKAGES", {"fake": package})
    monkeypatch.setattr(engine_devices, "missing_packages", lambda name: [])
    monkeypatch.setattr(engine_devices, "loaded_engine", lambda name: made)
    return made


def names():
    return [device.name for device in nnapi_shim.devices()]


def doubling():
    """A finished model of x + x."""
    model = nnapi_shim.Model()
    x = model.input("float32", (2,), name="x")
    model.outputs(model.add(x, x))
    model.finish()
    return model


def test_without_it_nothing_is_imported():
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == (f"{OWN}\n[]\n", "")


@pytest.mark.parametrize("value", ["fake", "all", " fake , all,", "fake,fake"])
def test_its_devices_come_before_those_of_the_library(value, engine, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_ENGINES", value)
    assert names() == ["fake-cpu", *OWN]


def test_a_program_that_names_no_device_uses_it(engine, monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.setenv("NNAPI_SHIM_ENGINES", "fake")
    with doubling() as model:
        assert model.compile().run(np.float32([1, 2])).tolist() == [2, 4]
    assert len(engine.runs) == 1


def test_a_profile_says_that_it_tells_no_times(engine, monkeypatch, capsys):
    pytest.importorskip("onnx")
    from nnapi_shim.cli.profile import _show
    from nnapi_shim.tools.profile import profile

    monkeypatch.setenv("NNAPI_SHIM_ENGINES", "fake")
    with doubling() as model:
        for device in ("fake-cpu", "nnapi-cpu"):
            _show(profile(model, device, runs=1, against_peaks=False), steps=False, top=0)
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("fake-cpu does not tell the times of its operations") == 1
    assert sum("tell the times" in line for line in lines) == 1
    assert sum(line.startswith("operation") for line in lines) == 1, "of nnapi-cpu alone"


def test_a_failure_falls_back(engine, monkeypatch, capfd):
    pytest.importorskip("onnx")
    monkeypatch.setenv("NNAPI_SHIM_ENGINES", "fake")
    engine.function = lambda x: 1 / 0
    with doubling() as model:
        assert model.compile().run(np.float32([1, 2])).tolist() == [2, 4]
    (line,) = capfd.readouterr().err.splitlines()
    assert "failed on fake-cpu and runs again on nnapi-reference" in line


@pytest.mark.parametrize("names", [[], ["openvino"], ["all"]])
def test_some_engines_always_are_alone(names):
    isolated = engine_devices.to_isolate(names)
    assert "litert" in isolated
    assert ("iree" in isolated) is (names == ["all"])


def test_an_engine_that_nobody_knows(engine, monkeypatch, capfd):
    monkeypatch.setenv("NNAPI_SHIM_ENGINES", "fake,ghost")
    assert names() == ["fake-cpu", *OWN]
    assert capfd.readouterr().err == (
        "nnapi_shim error: NNAPI_SHIM_ENGINES is 'ghost', which is not used; "
        "engines are fake, all\n"
    )


def test_an_engine_that_is_not_installed(monkeypatch, capfd):
    monkeypatch.setattr(device_manager, "_devices", {})
    monkeypatch.setattr(engine_devices, "find_spec", lambda name: None)
    monkeypatch.setenv("NNAPI_SHIM_ENGINES", "onnxruntime")
    assert names() == OWN
    (line,) = capfd.readouterr().err.splitlines()
    assert line == (
        "nnapi_shim error: NNAPI_SHIM_ENGINES: onnxruntime is left out: onnxruntime and numpy and "
        f"onnx cannot be found; `{extras.install_command('onnxruntime')}` installs it"
    )
    monkeypatch.setattr(device_manager, "_devices", {})
    monkeypatch.setenv("NNAPI_SHIM_ENGINES", "all")
    assert names() == OWN
    assert not capfd.readouterr().err


def test_an_engine_that_cannot_be_imported(monkeypatch, capfd, tmp_path):
    """Too old, too new, or without a library that it needs."""
    monkeypatch.setattr(device_manager, "_devices", {})
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('libcudart.so.12: not found')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [n for n in sys.modules if n.partition(".")[0] == "onnxruntime"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "nnapi_shim.drivers.engines.onnxruntime", raising=False)
    monkeypatch.setenv("NNAPI_SHIM_ENGINES", "onnxruntime")
    assert names() == OWN
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("is left out: it cannot be imported: libcudart.so.12: not found")


def test_an_engine_that_hangs_while_it_is_imported(engine, monkeypatch, capfd):
    monkeypatch.setenv("NNAPI_SHIM_DRIVER_LOAD_TIMEOUT", "0.01")
    monkeypatch.setenv("NNAPI_SHIM_ENGINES", "fake")
    monkeypatch.setattr(engine_devices, "loaded_engine", lambda name: engine.stopped.wait(60))
    assert names() == OWN
    engine.stopped.set()
    (line,) = capfd.readouterr().err.splitlines()
    assert "fake is left out" in line and "did not end within 0.01 s" in line
