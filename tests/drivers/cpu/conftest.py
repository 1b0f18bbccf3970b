"""What the tests of the CPU device share."""

import pytest

from nnapi_shim.drivers.cpu.segments import Segment


@pytest.fixture
def lowered(monkeypatch):
    """How many graphs were lowered since."""
    counted = []
    real = Segment.__init__

    def counting(self, builder):
        counted.append(builder)
        real(self, builder)

    monkeypatch.setattr(Segment, "__init__", counting)
    return counted
