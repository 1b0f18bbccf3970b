"""Runs one operation on the reference device."""

import pytest

from nnapi_shim.drivers.reference.device import ReferenceDevice
from tests.single import execute


@pytest.fixture
def device():
    """The device under test."""
    return ReferenceDevice()


@pytest.fixture
def compute(device):
    """A function (operation type, inputs, output) -> contents of the output as nested lists."""

    def one(type, inputs, output):
        (array,) = execute(device, type, inputs, [output])
        return array.tolist()

    return one
