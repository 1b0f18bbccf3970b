"""What the tests of the CPU device share."""

import pytest

from nnapi_shim.drivers.cpu.compile.segments import Segment
from nnapi_shim.drivers.cpu.device import CpuDevice
from tests.drivers.cpu.test_cache import network, prepared, result_of


@pytest.fixture
def lowered(monkeypatch):
    """How many graphs were lowered since."""
    counted = []
    real = Segment.__init__

    def counting(self, lowering):
        counted.append(lowering)
        real(self, lowering)

    monkeypatch.setattr(Segment, "__init__", counting)
    return counted


@pytest.fixture
def kept(tmp_path):
    """A model, what it computes, and its file."""
    graph = network()
    expected = result_of(graph, graph.prepare(CpuDevice()))
    prepared(graph, tmp_path)
    (path,) = tmp_path.iterdir()
    return graph, expected, path
