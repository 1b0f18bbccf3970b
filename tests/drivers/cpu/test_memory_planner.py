"""The arena: ranges that live at the same time never overlap, and chains need two buffers."""

import random

from nnapi_shim.drivers.cpu.memory_planner import ALIGNMENT, LiveRange, plan


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
