"""Tests that look at all that their process has, run in a process that runs no other test."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ALL_OF_IT = re.compile(r"/proc/self/((status|maps|smaps|task)\b|fd[^/])|ru_maxrss")
"""What counts memory, mappings, threads or descriptors of a whole process."""

LOOKING = [path for path in TESTS.rglob("test_*.py") if ALL_OF_IT.search(path.read_text("utf-8"))]


def test_some_do():
    assert len(LOOKING) > 4


@pytest.mark.parametrize("path", LOOKING, ids=lambda path: path.stem)
def test_they_are_marked(path):
    """Threads and memory of other tests come and go meanwhile; abi/rules run by themselves."""
    assert "own_process" in path.read_text("utf-8")


@pytest.mark.own_process
def test_no_other_test_has_run_in_this_process(request):
    assert request.session.testscollected == 1
