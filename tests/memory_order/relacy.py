"""The same programs on Relacy, a model checker for C++: a second proof.

relacy.cc does the steps of a program; this side says what they are. So the programs are written
once. Relacy searches at random, the same way each time.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.memory_order.checking import Weakening, weakenings
from tests.memory_order.controls import Controls, Ended, Failed
from tests.memory_order.machine import Setting
from tests.memory_order.operations import (
    RELAXED,
    Choose,
    Fence,
    FutexWait,
    FutexWake,
    Load,
    Operation,
    Order,
    Read,
    Store,
    Update,
    Write,
)
from tests.memory_order.protocol import Make, Orders, Protocol

SOURCE = Path(__file__).with_suffix(".cc")
HEADER = "relacy/relacy.hpp"
ADVICE = "Relacy is not here, so the second proof is left out: apt-get install relacy-dev g++"
EXECUTIONS = 10_000
"""Of each program. Relacy ends with the first that has a finding."""

ORDERS = list(Order)
RESULTS = {1: "woken", 2: "changed"}
"""Of a sleep, in relacy.cc."""

APPENDS = "Relacy puts a store behind all that ran before it; here it has to come earlier"
MISSED = {
    (
        "a worker that sleeps",
        "relaxed stores to `sleeping`, and a bit that releases nothing",
    ): APPENDS,
    (
        "a worker that sleeps",
        "relaxed stores to `sleeping`, and a waker that acquires nothing",
    ): APPENDS,
}
"""A protocol and a weakening that Relacy does not find -> why."""


class Line(NamedTuple):
    """What Relacy says. finding: empty if there is none; missed: why it finds none."""

    what: str
    finding: str
    executions: int
    is_good: bool
    missed: str = ""


class Answers:
    """What relacy.cc asks about a program."""

    def __init__(self, setting: Setting) -> None:
        self._controls = Controls()
        self._threads = list(setting.threads.values())
        self._atomics, self._plains = list(setting.atomics), list(setting.plains)

    def to(self, kind: str, number: int, value: int) -> str:
        """The answer to a question."""
        if kind == "B":
            return self._step(self._controls.begin(self._threads[number]))
        match kind, self._controls.next(number):
            case "A", FutexWait():
                return self._step(self._controls.after(number, RESULTS[value]))
            case "A", Store() | Fence() | Write() | FutexWake():
                return self._step(self._controls.after(number, None))
            case "A", _:
                return self._step(self._controls.after(number, value))
            case "L", Load(accepts=accepts) if accepts:
                return str(int(accepts(value)))
            case "U", Update(change=change):
                return str(change(value))
        raise ValueError(f"{kind} {number} {value}: no such question")

    def _step(self, number: int) -> str:
        kind, place, order, a, b, otherwise = self._fields(self._controls.next(number))
        return f"{number} {kind} {place} {ORDERS.index(order)} {a} {b} {ORDERS.index(otherwise)}"

    def _fields(self, step: Operation | Ended | Failed) -> tuple[str, int, Order, int, int, Order]:
        match step:
            case Load(place, order, accepts, may_last):
                at = self._atomics.index(place)
                return "L", at, order, int(accepts is not None), int(may_last), RELAXED
            case Store(place, value, order):
                return "S", self._atomics.index(place), order, value, 0, RELAXED
            case Update(place, _, order, otherwise, waits, None):
                return "U", self._atomics.index(place), order, 0, 0, RELAXED
            case Update(place, _, order, otherwise, waits, expected):
                return "C", self._atomics.index(place), order, expected, int(waits), otherwise
            case Fence(order):
                return "F", 0, order, 0, 0, RELAXED
            case Read(place):
                return "R", self._plains.index(place), RELAXED, 0, 0, RELAXED
            case Write(place, value):
                return "W", self._plains.index(place), RELAXED, value, 0, RELAXED
            case FutexWait(place, value, may_last):
                return "P", self._atomics.index(place), RELAXED, value, int(may_last), RELAXED
            case FutexWake(place):
                return "K", self._atomics.index(place), RELAXED, 0, 0, RELAXED
            case Choose(count):
                return "O", 0, RELAXED, count, 0, RELAXED
            case Failed():
                return "X", 0, RELAXED, 0, 0, RELAXED
        return "E", 0, RELAXED, 0, 0, RELAXED


def run(checker: Path, setting: Setting, executions: int = EXECUTIONS) -> tuple[str, int]:
    """The finding of Relacy, empty if there is none, and how many executions it has tried."""
    answers = Answers(setting)
    values = [*setting.atomics.values(), *setting.plains.values()]
    counts = [len(setting.threads), executions, len(setting.atomics), len(setting.plains)]
    with subprocess.Popen(
        [checker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin and process.stdout
        print(*counts, *values, file=process.stdin, flush=True)
        for line in process.stdout:
            kind, *words = line.split(maxsplit=3)
            if kind == "end":
                return words[2].strip().lower() if int(words[0]) else "", int(words[1])
            print(answers.to(kind, *map(int, words)), file=process.stdin, flush=True)
    raise RuntimeError(f"{checker} ended with {process.returncode}")


def build(folder: Path) -> Path | None:
    """Compiles relacy.cc by $CXX or g++; None if that or Relacy's header is not here. Ends the
    program if it does not compile.
    """
    compiler = os.environ.get("CXX", "g++")
    checker = folder / "relacy"
    flags = ["-std=c++11", "-O0", "-fpermissive", "-w"]
    try:
        found = subprocess.run(
            [compiler, "-E", "-x", "c++", "-"],
            input=f"#if !__has_include(<{HEADER}>)\n#error\n#endif\n",
            text=True,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        return None
    if found.returncode != 0:
        return None
    done = subprocess.run([compiler, *flags, str(SOURCE), "-o", str(checker)], check=False)
    if done.returncode:
        sys.exit(f"check-memory-order: {compiler} does not compile {SOURCE.name} (see above)")
    return checker


def _search(checker: Path, programs: dict[str, Make], orders: Orders) -> tuple[str, int]:
    tried = 0
    for name, make in programs.items():
        finding, executions = run(checker, make(orders))
        tried += executions
        if finding:
            return f"{finding} ({name})", tried
    return "", tried


def lines(checker: Path, protocol: Protocol) -> Iterator[Line]:
    """A protocol as it is, with all orders that suffice at once, and with each weakening."""
    for what, orders in (
        ("as it is", protocol.orders()),
        ("all that suffice, at once", protocol.least()),
    ):
        finding, tried = _search(checker, dict(protocol.programs), orders)
        yield Line(what, finding, tried, not finding)
    for one in weakenings(protocol):
        yield _weakened(checker, protocol, one)


def _weakened(checker: Path, protocol: Protocol, one: Weakening) -> Line:
    missed = MISSED.get((protocol.name, one.what), "")
    finding, tried = _search(checker, dict(one.programs), one.orders)
    return Line(one.what, finding, tried, bool(finding) != bool(missed), missed)
