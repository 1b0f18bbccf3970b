"""Results do not depend on when threads switch; `python -m tests.switches` tries all places."""

import pytest

from tests.switches.pausing import instructions_of, paused
from tests.switches.scenes import SCENES
from tests.switches.trying import tried

COUNT = 12
"""Places that are tried of each scene, others in each run of the tests."""


@pytest.mark.parametrize("name", SCENES)
def test_wherever_a_thread_is_interrupted(name, tmp_path):
    seed = int.from_bytes(str(tmp_path).encode(), "little")
    outcomes = list(tried(name, tmp_path, COUNT, seed))
    assert len(outcomes) == COUNT
    assert [(line, what) for line, what in outcomes if what] == []


def test_the_other_thread_comes_in_between(tmp_path):
    """Within `keep`, two threads that count and then add would lose an entry."""
    from nnapi_shim.drivers.cpu.compile.segments import keep

    order = []

    def work():
        keep({}, 1, None)
        order.append("one")

    def other():
        order.append("other")

    for location in instructions_of(lambda: keep({}, 1, None)):
        order.clear()
        paused(work, location, other)
        assert order == ["other", "one"]
