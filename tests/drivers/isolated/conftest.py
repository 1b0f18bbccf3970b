"""The device of misbehaving.py, in a process of its own."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from nnapi_shim.drivers.isolated import process
from nnapi_shim.drivers.isolated.device import loaded
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from tests.runtime.hal_models import Bound, chain
from tests.waiting import HANGS_S

NAME = "misbehaving"
MODULE = str(Path(__file__).with_name("misbehaving.py"))
X = np.float32([1, 2])


def manifest(folder, **fields):
    """Write a manifest of the device, and return its path."""
    described = {"name": NAME, "hal": "canonical", "module": MODULE, "class": "Device", **fields}
    path = folder / "misbehaving.json"
    path.write_text(json.dumps(described))
    return path


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A function that loads the device in a process; its argument is for MISBEHAVE."""
    monkeypatch.setattr(process, "GRACE_NS", 10**7)
    path = manifest(tmp_path)

    def loading(misbehave=""):
        monkeypatch.setenv("MISBEHAVE", misbehave)
        try:
            return loaded(NAME, ("manifest", str(path)))
        finally:
            monkeypatch.delenv("MISBEHAVE")  # the next process is a good one

    return loading


def prepared(device, model=None, deadline_ns=None):
    return device.prepareModel(
        model or chain("ADD"),
        ExecutionPreference.FAST_SINGLE_ANSWER,
        Priority.MEDIUM,
        deadline_ns,
        None,
    )


def bound(made, x=X, room=8, **others):
    return Bound(made, chain("ADD"), [x], room, **others)


def wait_until(condition):
    """Wait for what has to come."""
    end = time.monotonic() + HANGS_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


def works(device):
    """Whether a model that is compiled now computes."""
    return np.array_equal(bound(prepared(device)).outputs()[0], X + X)
