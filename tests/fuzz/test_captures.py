"""A short run of what `python -m tests.fuzz.captures` does for longer; it finds defects."""

import os
from time import monotonic

import pytest

from nnapi_shim.recording import arrays, fitting
from nnapi_shim.recording.vocabulary import PARAMETERS
from tests.fuzz.capture_bases import covered
from tests.fuzz.captures import Captures, run

LONGEST_SECONDS = 60
"""On a machine that is busy with other things."""


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    return Captures(tmp_path_factory.mktemp("captures"), 60)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("NNAPI_SHIM_LOG", "silent")


def test_captures_have_every_function(captures):
    assert covered(captures.found) == PARAMETERS.keys()


def test_changed_captures(captures):
    seed = int.from_bytes(os.urandom(4), "little")
    done = run(captures, seed, LONGEST_SECONDS, 600)
    assert done.found == {}, seed
    assert done.captures == 600 and done.refused > 300 and done.captures - done.refused > 50


def test_a_capture_that_is_not_changed_is_taken(captures):
    """Else nothing behind the check is ever reached."""
    assert [captures.use_base(base) for base in captures.found[:-1]].count("refused") == 0


HOLES = {
    "arguments": lambda patch: patch.setattr(fitting, "argument", lambda *inputs: ""),
    "contents": lambda patch: patch.setattr(arrays, "flaw", lambda *inputs: ""),
}


@pytest.mark.parametrize("hole", HOLES)
def test_a_check_that_is_missing_is_found(captures, monkeypatch, hole):
    HOLES[hole](monkeypatch)
    until, first, result = monotonic() + LONGEST_SECONDS, 0, {}
    while not result and monotonic() < until:
        result = run(captures, first, LONGEST_SECONDS, 50).found
        first += 50
    assert result
