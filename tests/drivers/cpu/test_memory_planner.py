"""The arena: ranges that live at the same time never overlap, and chains need two buffers."""

import random

import pytest

import nnapi_shim
from nnapi_shim.drivers.cpu.compile import layout
from nnapi_shim.drivers.cpu.program.memory_planner import (
    ALIGNMENT,
    GAP,
    PERIOD,
    STAGGERED,
    LiveRange,
    most_alive,
    plan,
)
from tests.trained_models.manifest import FOLDER, WHY_SKIPPED, entries

NEAR = 1.10
"""How many times what lives at the same time an arena may take."""


def check(ranges):
    offsets, size = plan(ranges)
    for a, (first, start) in enumerate(zip(ranges, offsets, strict=True)):
        assert start % ALIGNMENT == 0
        assert start + first.length <= size
        for second, other in list(zip(ranges, offsets, strict=True))[a + 1 :]:
            together = first.first <= second.last and second.first <= first.last
            if together:
                assert start + first.length <= other or other + second.length <= start
    return size


def test_nothing_needs_nothing():
    assert plan([]) == ([], 0)


def test_a_chain_alternates_between_two_buffers():
    chain = [LiveRange(1024, step, step + 1) for step in range(50)]
    assert check(chain) == 2 * 1024


def test_large_neighbours_do_not_begin_at_the_same_byte_of_half_a_page():
    for length in range(STAGGERED, STAGGERED + 2 * PERIOD, ALIGNMENT):
        offsets, size = plan([LiveRange(length, 0, 1), LiveRange(length, 1, 2)])
        distance = max(offsets) - min(offsets)
        assert GAP <= distance % PERIOD <= PERIOD - GAP
        assert 2 * length <= size <= 2 * (length + PERIOD // 2)


def test_a_hole_is_joined_and_used_again():
    parts = [LiveRange(256, 0, 1), LiveRange(256, 0, 1), LiveRange(512, 2, 3)]
    assert check(parts) == 512


def test_random_ranges_never_overlap():
    dice = random.Random(7)
    for _ in range(200):
        ranges = []
        for _ in range(dice.randrange(1, 30)):
            first = dice.randrange(20)
            ranges.append(LiveRange(dice.randrange(0, 5000), first, first + dice.randrange(6)))
        check(ranges)


def test_what_lives_at_the_same_time():
    assert most_alive([]) == 0
    assert most_alive([LiveRange(1, 0, 3), LiveRange(65, 3, 4), LiveRange(64, 4, 4)]) == 192


def test_a_random_graph_takes_little_more_than_what_lives():
    dice = random.Random(11)
    for _ in range(100):
        steps = dice.randrange(3, 80)
        ranges = [
            LiveRange(int(2 ** dice.uniform(6, 20)), first, first + 1 + int(dice.expovariate(0.7)))
            for first in range(steps)
            for _ in range(dice.randrange(1, 3))
        ]
        assert check(ranges) <= NEAR * most_alive(ranges)


def test_a_long_chain_is_planned_at_once():
    """So many ranges are not compared with each other."""
    dice = random.Random(12)
    chain = [LiveRange(dice.randrange(10000), at, at + dice.randrange(3)) for at in range(20000)]
    assert plan(chain)[1] < 2 * most_alive(chain)


@pytest.mark.skipif(not entries(), reason=WHY_SKIPPED)
def test_trained_models_take_little_more_than_what_lives(monkeypatch):
    planned = []

    def observed(ranges):
        planned.append((most_alive(ranges), plan(ranges)[1]))
        return plan(ranges)

    monkeypatch.setattr(layout, "plan", observed)
    for entry in entries().values():
        nnapi_shim.Compilation(nnapi_shim.load(FOLDER / entry["file"]), devices=["nnapi-cpu"])
    assert len(planned) >= 12
    assert all(taken <= NEAR * least for least, taken in planned)
