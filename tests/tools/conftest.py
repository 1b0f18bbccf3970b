"""What tests of the tools share."""

import pytest

from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.runtime import device_manager


@pytest.fixture
def listed(monkeypatch):
    """A function that puts devices in front of the built-in ones."""

    def put(*devices):
        everything = [*devices, CpuDevice(), ReferenceDevice()]
        monkeypatch.setattr(device_manager, "_devices", {"all": everything})

    return put
