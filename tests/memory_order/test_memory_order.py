"""The machine of the model checker, and the protocols of the C code on it.

`make check-memory-order` weakens every order.
"""

import shutil

import pytest

from tests.memory_order import fast_path, region, sleeping
from tests.memory_order.__main__ import main
from tests.memory_order.checking import PROTOCOLS
from tests.memory_order.exploration import explore
from tests.memory_order.litmus import CASES
from tests.memory_order.machine import Setting
from tests.memory_order.operations import (
    ACQUIRE,
    RELAXED,
    SEQ_CST,
    FutexWait,
    FutexWake,
    Load,
    Program,
    Store,
)
from tests.memory_order.protocol import Protocol
from tests.memory_order.sources import NATIVE, differences

WEAKENED = [
    (region.PROTOCOL, "two regions, a worker", "publish", RELAXED, "data race"),
    (region.PROTOCOL, "two regions, a worker", "wait", RELAXED, "data race"),
    (region.PROTOCOL, "two callers, a worker", "take a slot", RELAXED, "data race"),
    (sleeping.PROTOCOL, "a region", "fence", RELAXED, "waits for ever"),
    (sleeping.PROTOCOL, "a region", "look for sleepers", ACQUIRE, "waits for ever"),
    (fast_path.PROTOCOL, "a run that may fail", "publish", RELAXED, "data race"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_litmus(case):
    assert case.is_as_expected(explore(case.setting()))


@pytest.mark.parametrize("value", [0, 1])
def test_a_futex_is_not_missed(value):
    """A thread that sleeps only if the value is still 0, and one that changes it first or not."""

    def sleeper() -> Program:
        yield FutexWait("word", 0)

    def waker() -> Program:
        yield Store("word", value, RELAXED)
        yield FutexWake("word")

    explored = explore(Setting({"sleeper": sleeper, "waker": waker}, {"word": 0}))
    assert ("waits for ever: sleeper" in explored.finding) == (value == 0)


def test_an_execution_is_told():
    def reader() -> Program:
        yield Load("word", SEQ_CST, lambda word: word == 2)

    def writer() -> Program:
        yield Store("word", 1, SEQ_CST)

    explored = explore(Setting({"reader": reader, "writer": writer}, {"word": 0}))
    assert explored.finding == "waits for ever: reader at load word seq_cst"
    assert explored.execution == ["writer: store word = 1 seq_cst"]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_a_protocol_has_no_finding(protocol: Protocol):
    """The first program of each, with the orders that suffice, so with stronger ones as well."""
    make = next(iter(protocol.programs.values()))
    assert not explore(make(protocol.least())).finding


@pytest.mark.parametrize(("protocol", "program", "access", "order", "finding"), WEAKENED)
def test_a_weaker_order_is_found(protocol, program, access, order, finding):
    explored = explore(protocol.programs[program](protocol.orders({access: order})))
    assert finding in explored.finding


def test_the_c_code_has_these_orders(tmp_path):
    assert not list(differences(PROTOCOLS))
    shutil.copytree(NATIVE, tmp_path, dirs_exist_ok=True)
    for name, before, after in (
        ("pool.c", "atomic_exchange(&slot->tickets,", "atomic_exchange_explicit(&slot->tickets,"),
        (
            "workers.c",
            "atomic_thread_fence(memory_order_seq_cst)",
            "atomic_thread_fence(memory_order_acq_rel)",
        ),
    ):
        path = tmp_path / name
        path.write_text(path.read_text().replace(before, after))
    found = list(differences(PROTOCOLS, tmp_path))
    assert any("there is no such operation" in line for line in found)
    assert any("fence: seq_cst is expected" in line for line in found)


@pytest.mark.parametrize("words", ["nonsense", "", "count up: relaxed"])
def test_words_that_are_in_no_line_are_refused(words, capsys):
    with pytest.raises(SystemExit) as end:
        main(["--execution", words])
    assert end.value.code == 2
    told = capsys.readouterr().err
    assert f"--execution {words!r}" in told
    assert "fence: seq_cst -> none" in told
