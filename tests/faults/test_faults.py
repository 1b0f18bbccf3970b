"""What fails is told, and once nothing fails any more, everything works."""

import pytest

from tests.faults.running import DEVICES, KINDS, compiled, run, starts

FAULTS = {"memory": 12, "thread": 4, "descriptor": 12, "write": 6}
"""How many of each are tried; `python -m tests.faults` tries more."""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize(
    ("device", "kind", "start"),
    [
        (device, kind, start)
        for device in DEVICES
        for kind in KINDS
        for start in starts(device, kind)
    ],
)
def test_one_fault_in_each_run(program, device, kind, start):
    calls = run(program, device, kind, start, 1, 1, 1).calls
    step = max(1, calls // FAULTS[kind])
    counts = run(program, device, kind, start, 1 + step // 2, step, FAULTS[kind])
    assert counts.defects == ()
    assert counts.faults >= min(calls, FAULTS[kind]) // 2  # how many there are varies
    assert calls > 0 or (device, kind) == ("nnapi-reference", "write")
