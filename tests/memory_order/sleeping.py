"""A worker that goes to sleep, and a caller that wakes it: `sleep_long`, `nn_wake_workers`.

A caller publishes a unit, looks whether the worker sleeps, and wakes it; then it waits until the
worker has run the unit. The C code would run the unit itself: here a missed wake has to be seen.
"""

from collections.abc import Callable
from functools import partial

from tests.memory_order.machine import Setting
from tests.memory_order.operations import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    Again,
    Choose,
    Fence,
    FutexWait,
    FutexWake,
    Load,
    Program,
    Store,
    Update,
    swap,
)
from tests.memory_order.protocol import Access, Change, Orders, Protocol

LOOKS_AGAIN = (
    "a worker that is woken looks for tickets again, and behind the fence before it sleeps"
)
ACCESSES = {
    "publish": Access("pool.c", "atomic_exchange(&slot->tickets", "update"),
    "look for sleepers": Access("workers.c", "atomic_load(&asleep)", "load"),
    "clear the bit of a sleeper": Access(
        "workers.c",
        "atomic_fetch_and(&asleep, ~bit) & bit) != 0) {",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE, RELEASE, RELAXED),
        "both stores to `sleeping` are sequentially consistent; with relaxed ones it acquires",
        ACQUIRE,
    ),
    "end a sleep": Access(
        "workers.c",
        "atomic_store(&sleeping[number], 0)",
        "store",
        SEQ_CST,
        (RELEASE, RELAXED),
        LOOKS_AGAIN,
    ),
    "announce": Access(
        "workers.c",
        "atomic_store(&sleeping[number], 1)",
        "store",
        SEQ_CST,
        (RELEASE, RELAXED),
        "the bit releases it",
    ),
    "set the bit": Access(
        "workers.c",
        "atomic_fetch_or(&asleep, bit)",
        "update",
        SEQ_CST,
        (ACQ_REL, RELEASE, ACQUIRE, RELAXED),
        "the fence orders it before the looks; with relaxed stores to `sleeping` it releases",
        RELEASE,
    ),
    "fence": Access("workers.c", "atomic_thread_fence(memory_order_seq_cst)", "fence"),
    "look at slots": Access(
        "workers.c",
        "atomic_load_explicit(&nn_taken, memory_order_acquire",
        "load",
        ACQUIRE,
        (RELAXED,),
        "what is in a slot is protected by its tickets",
    ),
    "look at tickets": Access(
        "slot.c",
        "atomic_load_explicit(&slot->tickets, memory_order_acquire",
        "load",
        ACQUIRE,
        (RELAXED,),
        "the take acquires",
    ),
    "find work in time": Access(
        "workers.c",
        "atomic_fetch_and(&asleep, ~bit);\n        return true",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE, RELEASE, RELAXED),
        "a caller that is late wakes a worker that is awake",
    ),
    "look whether it is over": Access(
        "workers.c",
        "atomic_load(&sleeping[number])",
        "load",
        SEQ_CST,
        (ACQUIRE, RELAXED),
        LOOKS_AGAIN,
    ),
    "end after a long sleep": Access(
        "workers.c",
        "atomic_fetch_and(&asleep, ~bit) & bit) != 0)\n            return false",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE, RELEASE, RELAXED),
        "whoever clears the bit decides, which an update of any order does",
    ),
    "clear the own bit": Access(
        "workers.c",
        "atomic_fetch_and(&asleep, ~bit);\n    return true",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE, RELEASE, RELAXED),
        "the bit is clear already",
    ),
}


RELAXED_STORES = {"announce": RELAXED, "end a sleep": RELAXED}


def caller(orders: Orders, regions: int, ends: bool) -> Program:
    """Publishes some regions of a unit each, and has them run by the worker."""
    yield Update("taken", lambda v: v | 1, SEQ_CST)
    for region in range(1, regions + 1):
        yield Update("tickets", lambda _: 1, orders["publish"])
        woken = not ends
        if (yield Load("asleep", orders["look for sleepers"])) == 1:
            bit = yield Update("asleep", _clear, orders["clear the bit of a sleeper"])
            if bit:
                woken = True
                yield Store("sleeping", 0, orders["end a sleep"])
                yield FutexWake("sleeping")
        if woken:
            yield Load("done", ACQUIRE, lambda value, region=region: value == region)


def _clear(_: int) -> int:
    return 0


def _is_clear(value: int) -> bool:
    return value == 0


def worker(orders: Orders, ends: bool) -> Program:
    """Goes to sleep, after it has looked in vain."""
    yield Store("sleeping", 1, orders["announce"])
    yield Update("asleep", lambda _: 1, orders["set the bit"])
    if orders["fence"] is not RELAXED:
        yield Fence(orders["fence"])
    if (yield from _help(orders)):
        yield Update("asleep", _clear, orders["find work in time"])
        yield Again(worker, (orders, ends))
    while (yield Load("sleeping", orders["look whether it is over"])) == 1:
        if ends and (yield Choose(2)):
            if (yield Update("asleep", _clear, orders["end after a long sleep"])) == 1:
                return
            yield Load("sleeping", orders["look whether it is over"], _is_clear)
            break
        yield FutexWait("sleeping", 1, may_last=True)
    yield Update("asleep", _clear, orders["clear the own bit"])
    yield from _help(orders)
    yield Again(worker, (orders, ends))


def _help(orders: Orders) -> Program:
    """Whether there was a unit, which it ran."""
    if (yield Load("taken", orders["look at slots"])) == 0:
        return False
    if (yield Load("tickets", orders["look at tickets"])) == 0:
        return False
    if (yield swap("tickets", 1, 0, ACQ_REL)) == 0:
        return False
    yield Update("done", lambda value: value + 1, SEQ_CST)
    return True


def program(orders: Orders, regions: int = 1, ends: bool = False) -> Setting:
    """A caller and a worker. ends: the worker may end after a long sleep; if the caller has
    cleared its bit before, it must not.
    """
    threads: dict[str, Callable[[], Program]] = {
        "caller": partial(caller, orders, regions, ends),
        "worker": partial(worker, orders, ends),
    }
    atomics = {"taken": 0, "tickets": 0, "asleep": 0, "sleeping": 0, "done": 0}
    return Setting(threads, atomics)


PROTOCOL = Protocol(
    "a worker that sleeps",
    ACCESSES,
    {
        "a region": program,
        "two regions": partial(program, regions=2),
        "a worker that may end": partial(program, ends=True),
    },
    {
        "relaxed stores to `sleeping`, and a bit that releases nothing": Change(
            {"a region": program}, {**RELAXED_STORES, "set the bit": RELAXED}
        ),
        "relaxed stores to `sleeping`, and a waker that acquires nothing": Change(
            {"two regions": partial(program, regions=2)},
            {**RELAXED_STORES, "clear the bit of a sleeper": RELAXED},
        ),
    },
)
