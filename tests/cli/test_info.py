"""`nnapi-shim info`."""

import numpy as np
import pytest

import nnapi_shim
from nnapi_shim.drivers.engines import PACKAGES
from nnapi_shim.extras import install_command
from tests.cli.command import Command


def test_json(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_SHIM_DRIVER_TIMEOUT", "7")
    monkeypatch.setenv("DEBUG_NN_PARTITION", "nonsense")
    monkeypatch.setenv("NNAPI_SHIM_LOG", "silent")
    result = command.succeeds("info", "--json").json
    assert result["version"] == nnapi_shim.__version__
    assert result["packages"]["numpy"] == np.__version__
    names = [device.name for device in nnapi_shim.devices()]
    assert [device["name"] for device in result["devices"]] == names
    own = next(device for device in result["devices"] if device["name"] == "nnapi-reference")
    assert own["feature_level"] == 8
    assert own["exec_time"]["TENSOR_FLOAT32"] == 10
    assert result["processor"]["tier"] in result["processor"]["tiers"]
    settings = {setting["name"]: setting for setting in result["settings"]}
    inputs = settings["NNAPI_SHIM_DRIVER_TIMEOUT"]
    assert (inputs["value"], inputs["origin"], inputs["default"]) == ("7", "environment", "60")
    refused = settings["DEBUG_NN_PARTITION"]
    assert (refused["value"], refused["origin"]) == ("1", "default")


def test_text(command: Command) -> None:
    text = command.succeeds("info").out
    assert text.endswith("`nnapi-shim info --setting NAME` shows the meaning of a setting\n")
    assert "nnapi-reference" in text
    assert "NNAPI_SHIM_LOG" in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_setting(command: Command) -> None:
    text = command.succeeds("info", "--setting", "NNAPI_SHIM_THREADS").out
    assert text.startswith("NNAPI_SHIM_THREADS = '0' (default)\n  maximum number of threads ")
    result = command.succeeds("info", "--setting", "NNAPI_SHIM_JIT", "--json").json["settings"]
    assert [item["name"] for item in result] == ["NNAPI_SHIM_JIT"]
    line = command.refuses("info", "--setting", "NNAPI_SHIM_THREAD")
    assert "did you mean NNAPI_SHIM_THREADS" in line


def test_engines(command: Command) -> None:
    """Those that are not on, and how to turn them on."""
    engines = command.succeeds("info", "--json").json["engines"]
    assert {engine["name"] for engine in engines} == set(PACKAGES)
    for engine in engines:
        name = engine["name"]
        assert not engine["is_on"] and not engine["problem"]
        if engine["version"]:
            assert engine["next_step"] == f"NNAPI_SHIM_ENGINES={name}" and engine["devices"]
        else:
            assert engine["next_step"] == install_command(PACKAGES[name].extra)
