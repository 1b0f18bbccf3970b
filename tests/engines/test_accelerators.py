"""What `make test-gpu` and `make bench-gpu` find."""

import os
import sys

import pytest

from nnapi_shim.drivers.adoption import Found
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import DeviceType
from tests.engines import accelerators
from tests.engines.fake import Engine


def devices(monkeypatch, *entries):
    found = [Found(name, "test", "fake", load, ("engine", "fake")) for name, load in entries]
    monkeypatch.setattr(accelerators, "of_engines", lambda names: found)


def of_type(type):
    """What loads a device of that type."""
    device = Engine(lambda x: [x]).device()
    device.type, device.version = type, "1.0, a card"
    return lambda: device


def broken():
    raise op_failed("it has no memory", "fake.memory")


def test_a_machine_with_processors_alone(monkeypatch, capsys):
    devices(monkeypatch, ("fake-cpu", of_type(DeviceType.CPU)))
    monkeypatch.setattr(sys, "argv", ["accelerators", "vectors"])
    accelerators.main()
    assert capsys.readouterr().out.startswith("skipped: none of the installed engines")


@pytest.mark.parametrize(
    ("what", "command"),
    [("vectors", ["tests.engines.vectors", "fake-cpu"]), ("models", ["tests.bench.suite"])],
)
def test_a_machine_with_a_gpu(monkeypatch, capsys, what, command):
    devices(monkeypatch, ("fake-gpu.0", of_type(DeviceType.GPU)), ("fake-gpu.1", broken))
    monkeypatch.setattr(sys, "argv", ["accelerators", what])
    monkeypatch.setenv("DEVICES", "")
    started = []
    monkeypatch.setattr(os, "execv", lambda path, words: started.append(words[2:]))
    accelerators.main()
    assert started == [command]
    assert os.environ["DEVICES"] == "fake-cpu"
    assert capsys.readouterr().out.splitlines() == [
        "fake-gpu.1 is left out: it has no memory",
        "fake-cpu: GPU of 1.0, a card",
    ]
