"""NNAPI_SHIM_ISOLATE and manifests: which devices get a process, and what a program sees."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim.drivers.isolated import process
from nnapi_shim.drivers.isolated.device import IsolatedDevice
from nnapi_shim.runtime import device_manager
from nnapi_shim.tools.info import info
from tests.drivers.isolated.conftest import MODULE, NAME, X, manifest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of manifests; nothing is listed yet."""
    monkeypatch.setattr(process, "GRACE_NS", 10**7)
    monkeypatch.setattr(device_manager, "_devices", {})
    monkeypatch.setenv("NNAPI_SHIM_DRIVERS", str(tmp_path))
    return tmp_path


def listed():
    return {device.name: device for device in device_manager.devices()}


@pytest.mark.parametrize(
    ("setting", "flag", "isolated"),
    [
        ("", False, False),
        ("", True, True),
        (NAME, False, True),
        ("all", False, True),
        ("openvino", False, False),
    ],
)
def test_which_devices_are_isolated(setting, flag, isolated, folder, monkeypatch, capfd):
    manifest(folder, isolated=flag)
    monkeypatch.setenv("NNAPI_SHIM_ISOLATE", setting)
    device = listed()[NAME]
    assert isinstance(device, IsolatedDevice) is isolated
    shown = {each.name: each.is_isolated for each in info().devices}
    assert shown == {NAME: isolated, "nnapi-cpu": False, "nnapi-reference": False}
    assert "error" not in capfd.readouterr().err


def test_a_name_that_nothing_has(folder, monkeypatch, capfd):
    manifest(folder)
    monkeypatch.setenv("NNAPI_SHIM_ISOLATE", "ghost,nnapi-cpu")
    assert not isinstance(listed()[NAME], IsolatedDevice)
    lines = capfd.readouterr().err.splitlines()
    known = (
        "engines are openvino, onnxruntime, iree, litert; devices of manifests, packages and "
        f"engines are {NAME}; all is all of them"
    )
    assert [line for line in lines if "ISOLATE" in line] == [
        f"nnapi_shim error: NNAPI_SHIM_ISOLATE is {name!r}, which is not used; {known}"
        for name in ("ghost", "nnapi-cpu")
    ]


def test_a_flag_that_is_none(folder, capfd):
    manifest(folder, isolated="yes")
    assert NAME not in listed()
    assert "isolated is 'yes'; it must be true or false" in capfd.readouterr().err


def test_a_device_that_cannot_be_loaded_in_its_process(folder, capfd):
    manifest(folder, isolated=True, **{"class": "Ghost"})
    assert NAME not in listed()
    (line,) = [each for each in capfd.readouterr().err.splitlines() if "left out" in each]
    assert f"{MODULE} has no Ghost" in line


def test_a_crash_falls_back_and_the_next_compilation_has_a_new_process(folder, capfd):
    manifest(folder, isolated=True)
    with nnapi_shim.Model() as model:
        x = model.input("float32", (2,), name="x")
        model.outputs(model.add(x, x))
        model.finish()
        for _ in range(2):
            compiled = model.compile()
            assert compiled.run(X).tolist() == [2, 4]
            assert compiled.run(np.float32([13, 2])).tolist() == [26, 4], "here it kills itself"
            assert compiled.run(X).tolist() == [2, 4]
    lines = [each for each in capfd.readouterr().err.splitlines() if "nnapi_shim" in each]
    assert len(lines) == 2, "one for each compilation"
    assert all(
        f"failed on {NAME} and runs again on nnapi-reference" in line and "DEAD_OBJECT" in line
        for line in lines
    )


def test_a_program_that_names_the_device_gets_the_error(folder):
    manifest(folder, isolated=True)
    with nnapi_shim.Model() as model:
        x = model.input("float32", (2,), name="x")
        model.outputs(model.add(x, x))
        model.finish()
        compiled = model.compile(devices=[NAME])
        with pytest.raises(nnapi_shim.NnapiError, match="starts a new one") as dead:
            compiled.run(np.float32([13, 2]))
        assert dead.value.code is nnapi_shim.ResultCode.DEAD_OBJECT
        assert model.compile(devices=[NAME]).run(X).tolist() == [2, 4]


def test_older_interfaces(folder, monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_DRIVERS", "examples/drivers")
    monkeypatch.setenv("NNAPI_SHIM_ISOLATE", "all")
    for name, hal in (("example-plain", "1.0"), ("example-threaded", "1.1")):
        assert listed()[name].hal == hal
        with nnapi_shim.Model() as model:
            x = model.input("float32", (2,), name="x")
            model.outputs(model.add(x, x))
            model.finish()
            assert model.compile(devices=[name]).run(X).tolist() == [2, 4]


PAINTER = """
import nnapi_shim, json
from nnapi_shim.runtime import device_manager
(device, *_) = device_manager.devices()
print(json.dumps([type(device).__name__, [each.name for each in device.getSupportedExtensions()]]))
"""


def test_extensions(monkeypatch):
    run = subprocess.run(
        [sys.executable, "-c", PAINTER],
        env={
            **os.environ,
            "NNAPI_SHIM_DRIVERS": "tests/abi/extension_driver",
            "NNAPI_SHIM_ISOLATE": "all",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    kind, names = json.loads(run.stdout)
    assert kind == "IsolatedDevice" and names


def test_an_engine():
    """Its package is imported in its process alone."""
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    code = """
import sys
import nnapi_shim
with nnapi_shim.Model() as model:
    x = model.input("float32", (2,), name="x")
    model.outputs(model.add(x, x))
    model.finish()
    print(model.compile(devices=["onnxruntime-cpu"]).run([1, 2]).tolist())
from nnapi_shim.tools.info import info
print([engine.devices for engine in info().engines if engine.name == "onnxruntime"])
print("onnxruntime" in sys.modules)
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "NNAPI_SHIM_ENGINES": "onnxruntime",
            "NNAPI_SHIM_ISOLATE": "onnxruntime",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout, run.stderr) == ("[2.0, 4.0]\n[('onnxruntime-cpu',)]\nFalse\n", "")
