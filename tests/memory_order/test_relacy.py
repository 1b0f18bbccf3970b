"""The second proof, by Relacy. `make check-memory-order` does it for all protocols."""

import pytest

from tests.memory_order import relacy, sleeping
from tests.memory_order.checking import PROTOCOLS, weakenings
from tests.memory_order.relacy import Answers


def test_without_a_compiler_there_is_no_checker(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    assert relacy.build(tmp_path) is None


def test_what_it_misses_is_a_weakening():
    there = {(protocol.name, one.what) for protocol in PROTOCOLS for one in weakenings(protocol)}
    assert set(relacy.MISSED) <= there


def test_steps_are_answered():
    """The caller of `sleeping`: it takes a slot, then publishes."""
    answers = Answers(sleeping.program(sleeping.PROTOCOL.orders()))
    number, *step = answers.to("B", 0, 0).split()
    assert step == ["U", "0", "4", "0", "0", "0"]
    assert answers.to("U", int(number), 6) == "7"
    number, *step = answers.to("A", int(number), 0).split()
    assert step == ["U", "1", "4", "0", "0", "0"]
    with pytest.raises(ValueError, match="no such question"):
        answers.to("L", int(number), 0)
