"""Litmus tests of the machine: what C11 allows and forbids in small programs.

The names are those of the literature: SB store buffering, MP message passing, LB load buffering,
IRIW independent reads of independent writes, CoRR and others coherence, 2+2W two threads that
write twice, WRC write to read causality, ISA2 a chain through three threads. C11 allows LB, the
machine does not.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.memory_order.exploration import Explored
from tests.memory_order.machine import Setting
from tests.memory_order.operations import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    Fence,
    Load,
    Operation,
    Program,
    Read,
    Store,
    Update,
    Write,
)


class Litmus(NamedTuple):
    """A program of straight threads. A thread's result are the values that it loaded.

    outcome: results of all threads, whether the machine allows them, and whether a data race is
    there.
    """

    name: str
    threads: tuple[tuple[Operation, ...], ...]
    outcome: tuple[tuple[int, ...], ...]
    is_allowed: bool
    is_race: bool = False

    def setting(self) -> Setting:
        """The program, whose variables begin as 0."""
        used = [operation for thread in self.threads for operation in thread]
        plain = {o.place: 0 for o in used if isinstance(o, Read | Write)}
        atomic = {o.place: 0 for o in used if isinstance(o, Load | Store | Update)}
        threads = {f"thread {at}": _straight(each) for at, each in enumerate(self.threads)}
        return Setting(threads, atomic, plain)

    def is_as_expected(self, explored: Explored) -> bool:
        """Whether the machine does what it should."""
        is_allowed = self.outcome in explored.results
        return (is_allowed, bool(explored.finding)) == (self.is_allowed, self.is_race)


def _straight(operations: tuple[Operation, ...]) -> Callable[[], Program]:
    def program() -> Program:
        values: list[Any] = []
        for operation in operations:
            value = yield operation
            if isinstance(operation, Load | Update | Read):
                values.append(value)
        return tuple(values)

    return program


def _add(place: str, order: Any) -> Update:
    return Update(place, _plus_one, order)


def _plus_one(value: int) -> int:
    return value + 1


def _is_set(value: int) -> bool:
    return value == 1


X, Y = "x", "y"
RX, RY = Load(X, RELAXED), Load(Y, RELAXED)
WX, WY = Store(X, 1, RELAXED), Store(Y, 1, RELAXED)
AX, AY = Load(X, ACQUIRE), Load(Y, ACQUIRE)
LX, LY = Store(X, 1, RELEASE), Store(Y, 1, RELEASE)
SX, SY = Store(X, 1, SEQ_CST), Store(Y, 1, SEQ_CST)
CX, CY = Load(X, SEQ_CST), Load(Y, SEQ_CST)
FULL, TO, FROM = Fence(SEQ_CST), Fence(RELEASE), Fence(ACQUIRE)
SEEN = Load(Y, ACQUIRE, _is_set)
NOTHING: tuple[int, ...] = ()

CASES = [
    Litmus("SB", ((WX, RY), (WY, RX)), ((0,), (0,)), True),
    Litmus("SB, release and acquire", ((LX, AY), (LY, AX)), ((0,), (0,)), True),
    Litmus("SB, sequentially consistent", ((SX, CY), (SY, CX)), ((0,), (0,)), False),
    Litmus("SB, one load acquires only", ((SX, AY), (SY, CX)), ((0,), (0,)), True),
    Litmus("SB, fences", ((WX, FULL, RY), (WY, FULL, RX)), ((0,), (0,)), False),
    Litmus("SB, one fence", ((WX, FULL, RY), (WY, RX)), ((0,), (0,)), True),
    Litmus("SB, a fence and operations", ((SX, FULL, RY), (SY, CX)), ((0,), (0,)), False),
    Litmus("SB, updates are no fences", ((_add(X, SEQ_CST), AY), (SY, CX)), ((0, 0), (0,)), True),
    Litmus(
        "SB, release and acquire fences", ((WX, TO, FROM, RY), (WY, FULL, RX)), ((0,), (0,)), True
    ),
    Litmus("MP", ((WX, WY), (RY, RX)), (NOTHING, (1, 0)), True),
    Litmus("MP, release and acquire", ((WX, LY), (AY, RX)), (NOTHING, (1, 0)), False),
    Litmus("MP, release only", ((WX, LY), (RY, RX)), (NOTHING, (1, 0)), True),
    Litmus("MP, acquire only", ((WX, WY), (AY, RX)), (NOTHING, (1, 0)), True),
    Litmus("MP, fences", ((WX, TO, WY), (RY, FROM, RX)), (NOTHING, (1, 0)), False),
    Litmus("MP, a fence behind the store", ((WX, WY, TO), (RY, FROM, RX)), (NOTHING, (1, 0)), True),
    Litmus("MP, plain data", ((Write("d", 1), LY), (SEEN, Read("d"))), (NOTHING, (1, 0)), False),
    Litmus(
        "MP, plain data is seen", ((Write("d", 1), LY), (SEEN, Read("d"))), (NOTHING, (1, 1)), True
    ),
    Litmus(
        "MP, plain data without release",
        ((Write("d", 1), WY), (SEEN, Read("d"))),
        (NOTHING, (1, 1)),
        False,
        is_race=True,
    ),
    Litmus(
        "a write behind a read that nothing orders",
        ((Read("d"), WY), (SEEN, Write("d", 1))),
        ((0,), (1,)),
        False,
        is_race=True,
    ),
    Litmus("a write behind a read", ((Read("d"), LY), (SEEN, Write("d", 1))), ((0,), (1,)), True),
    Litmus(
        "release sequence",
        ((WX, LY), (_add(Y, RELAXED),), (AY, RX)),
        (NOTHING, (1,), (2, 0)),
        False,
    ),
    Litmus(
        "a store ends a release sequence",
        ((WX, LY, Store(Y, 2, RELAXED)), (AY, RX)),
        (NOTHING, (2, 0)),
        True,
    ),
    Litmus("LB", ((RX, WY), (RY, WX)), ((1,), (1,)), False),
    Litmus("CoRR", ((WX,), (RX, RX)), (NOTHING, (1, 0)), False),
    Litmus("CoWR", ((WX, RX), (Store(X, 2, RELAXED),)), ((0,), NOTHING), False),
    Litmus("CoRW", ((RX, WX), (Store(X, 2, RELAXED), RX)), ((2,), (1,)), True),
    Litmus(
        "CoRR2",
        ((WX,), (Store(X, 2, RELAXED),), (RX, RX), (RX, RX)),
        (NOTHING, NOTHING, (1, 2), (2, 1)),
        False,
    ),
    Litmus(
        "2+2W",
        (
            (WX, Store(Y, 2, RELAXED), Load(Y, RELAXED)),
            (WY, Store(X, 2, RELAXED), Load(X, RELAXED)),
        ),
        ((1,), (1,)),
        True,
    ),
    Litmus(
        "2+2W, sequentially consistent",
        ((SX, Store(Y, 2, SEQ_CST), RY), (SY, Store(X, 2, SEQ_CST), RX)),
        ((1,), (1,)),
        False,
    ),
    Litmus("IRIW", ((WX,), (WY,), (RX, RY), (RY, RX)), (NOTHING, NOTHING, (1, 0), (1, 0)), True),
    Litmus(
        "IRIW, acquire",
        ((LX,), (LY,), (AX, AY), (AY, AX)),
        (NOTHING, NOTHING, (1, 0), (1, 0)),
        True,
    ),
    Litmus(
        "IRIW, sequentially consistent",
        ((SX,), (SY,), (CX, CY), (CY, CX)),
        (NOTHING, NOTHING, (1, 0), (1, 0)),
        False,
    ),
    Litmus(
        "IRIW, fences",
        ((WX,), (WY,), (RX, FULL, RY), (RY, FULL, RX)),
        (NOTHING, NOTHING, (1, 0), (1, 0)),
        False,
    ),
    Litmus("WRC", ((WX,), (RX, LY), (AY, RX)), (NOTHING, (1,), (1, 0)), False),
    Litmus("WRC, relaxed", ((WX,), (RX, WY), (RY, RX)), (NOTHING, (1,), (1, 0)), True),
    Litmus(
        "ISA2",
        ((WX, LY), (AY, Store("z", 1, RELEASE)), (Load("z", ACQUIRE), RX)),
        (NOTHING, (1,), (1, 0)),
        False,
    ),
    Litmus("updates count", ((_add(X, RELAXED),), (_add(X, RELAXED),)), ((0,), (0,)), False),
    Litmus(
        "an update reads the write in front of it",
        ((_add(X, ACQ_REL), RX), (WX,)),
        ((0, 2), NOTHING),
        False,
    ),
]
