"""What a thread of an abstract program does to memory that it shares with others.

A program is a generator that yields these operations and gets their results:

    def reader():
        if (yield Load("flag", ACQUIRE)) == 1:
            return (yield Read("data"))

It ends by `return`. `yield Again(function, arguments)` continues with another generator, so a loop
has no memory of its former rounds. An AssertionError in it is a finding.
"""

from collections.abc import Callable, Generator
from enum import Enum
from typing import Any, NamedTuple


class Order(Enum):
    """An order of C11's `memory_order`."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SEQ_CST = "seq_cst"

    @property
    def acquires(self) -> bool:
        """Whether a load of this order acquires."""
        return self in (Order.ACQUIRE, Order.ACQ_REL, Order.SEQ_CST)

    @property
    def releases(self) -> bool:
        """Whether a store of this order releases."""
        return self in (Order.RELEASE, Order.ACQ_REL, Order.SEQ_CST)


RELAXED, ACQUIRE, RELEASE = Order.RELAXED, Order.ACQUIRE, Order.RELEASE
ACQ_REL, SEQ_CST = Order.ACQ_REL, Order.SEQ_CST


class Load(NamedTuple):
    """Gives the value of an atomic; waits until `accepts` is true of it, as a loop that looks does.

    may_last: the thread may still wait when all others have ended, or wait likewise.
    """

    place: str
    order: Order
    accepts: Callable[[int], bool] | None = None
    may_last: bool = False


class Store(NamedTuple):
    """Writes an atomic."""

    place: str
    value: int
    order: Order


class Update(NamedTuple):
    """A read-modify-write: gives the old value. `change` gives the new one, or None to write
    nothing, as a compare-and-swap that fails; this is then a load of order `otherwise`. waits: it
    waits until there is a new one, as a lock does. expected: the only value that it changes.
    """

    place: str
    change: Callable[[int], int | None]
    order: Order
    otherwise: Order = RELAXED
    waits: bool = False
    expected: int | None = None


def swap(place: str, before: int, after: int, order: Order) -> Update:
    """A compare-and-swap. It succeeded if it gives `before`."""
    failed = {ACQ_REL: ACQUIRE, RELEASE: RELAXED}.get(order, order)
    change = {before: after}.get
    return Update(place, change, order, failed, expected=before)


class Fence(NamedTuple):
    """`atomic_thread_fence`."""

    order: Order


class Read(NamedTuple):
    """Gives the value of a plain variable. A data race is a finding."""

    place: str


class Write(NamedTuple):
    """Writes a plain variable. A data race is a finding."""

    place: str
    value: int


class FutexWait(NamedTuple):
    """Sleeps until a FutexWake, if the kernel reads this value; there are no time limits."""

    place: str
    value: int
    may_last: bool = False


class FutexWake(NamedTuple):
    """Wakes the thread that has slept longest."""

    place: str


class Choose(NamedTuple):
    """Gives each of 0 to count - 1, in executions of their own."""

    count: int


class Again(NamedTuple):
    """Continues with another generator."""

    function: "Callable[..., Program]"
    arguments: tuple[Any, ...] = ()


Operation = Load | Store | Update | Fence | Read | Write | FutexWait | FutexWake | Choose | Again
Program = Generator[Operation, Any, Any]
