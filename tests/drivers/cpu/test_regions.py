"""Steps that are joined: a region runs as a whole, and what it needs stays as long as it runs."""

import numpy as np
import pytest

from nnapi_shim.drivers.cpu.compile.graph_lowering import GraphLowering
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.cpu.program.program import BESIDE, CHAIN, END
from nnapi_shim.drivers.cpu.program.record import record
from nnapi_shim.drivers.cpu.program.schedule import ScheduledStep, regions
from nnapi_shim.hal.enums import OperationType as O
from tests.drivers.cpu.test_programs import Graph

SIZE = [8, 64, 64]


def joined(monkeypatch, *joins):
    """Programs whose steps are joined like this."""
    build = GraphLowering.program

    def program(self, kept=()):
        for scheduled, link in zip(self.steps, joins, strict=True):
            scheduled.link = link
        return build(self, kept)

    monkeypatch.setattr(GraphLowering, "program", program)


def test_which_steps_are_a_region():
    class Nothing:
        record, tiles = record(), 1

    steps = [
        ScheduledStep(Nothing, "", link=link) for link in (END, CHAIN, BESIDE, END, BESIDE, END)
    ]
    assert regions(steps) == [(0, 0), (1, 3), (1, 3), (1, 3), (4, 5), (4, 5)]


@pytest.mark.parametrize(
    "joins",
    [(END,) * 4, (CHAIN, CHAIN, END, END), (BESIDE, END, END, END), (END, BESIDE, END, END)],
    ids=["END", "CHAIN", "BESIDE", "WITHIN"],
)
def test_a_region_gives_what_its_steps_give(monkeypatch, joins):
    """|x| and -x in either order are independent; the sum and its negative are chained to them."""
    graph = Graph()
    x = graph.input(SIZE)
    if joins[0] == CHAIN:
        last = graph.operation(O.NEG, [x], SIZE)
        last = graph.operation(O.ABS, [last], SIZE)
        last = graph.operation(O.NEG, [last], SIZE)
    else:
        first = graph.operation(O.ABS, [x], SIZE)
        second = graph.operation(O.NEG, [x if joins[0] == BESIDE else first], SIZE)
        third = [first, second] if joins[0] == BESIDE else [first, first]
        last = graph.operation(O.MAXIMUM, third, SIZE)
    graph.operation(O.NEG, [last], SIZE, output=True)
    values, expected, result = (
        np.random.default_rng(3).normal(size=SIZE).astype(np.float32),
        *(np.zeros(SIZE, np.float32) for _ in range(2)),
    )
    graph.prepare(CpuDevice()).execute(graph.request([values], [expected]), False, None, 0)
    joined(monkeypatch, *joins)
    graph.prepare(CpuDevice()).execute(graph.request([values], [result]), False, None, 0)
    np.testing.assert_array_equal(expected, result)
