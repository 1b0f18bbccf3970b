"""A region that a caller shares with workers: slot.h, slot.c, pool.c, and `help` of workers.c.

The tickets are two digits: the end of the units that nobody has taken, and the first of them. All
regions look the same there, as those of a loop do. A unit reads the region and writes its output,
which the next region writes again. A worker stops looking at any time, as it may sleep.
"""

from functools import partial
from typing import NamedTuple

from tests.memory_order.machine import Setting
from tests.memory_order.operations import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    Again,
    FutexWait,
    FutexWake,
    Load,
    Program,
    Read,
    Store,
    Update,
    Write,
    swap,
)
from tests.memory_order.protocol import Access, Change, Orders, Protocol

NO_FAILURE = 9
WAITED_FOR = 8
ACCESSES = {
    "take a slot": Access(
        "pool.c",
        "atomic_compare_exchange_weak(&nn_taken, &before",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE),
        "releases nothing: workers read the slot with a ticket",
    ),
    "give a slot back": Access(
        "pool.c",
        "atomic_fetch_and(&nn_taken",
        "update",
        SEQ_CST,
        (ACQ_REL, RELEASE),
        "acquires nothing: the caller leaves",
    ),
    "clear done": Access("pool.c", "atomic_store_explicit(&slot->done, 0", "store", RELAXED),
    "clear the failure": Access(
        "pool.c", "atomic_store_explicit(&slot->failure, NN_NO_FAILURE", "store", RELAXED
    ),
    "publish": Access(
        "pool.c",
        "atomic_exchange(&slot->tickets",
        "update",
        SEQ_CST,
        (ACQ_REL, RELEASE),
        "sequential consistency is for workers that go to sleep",
    ),
    "look at tickets": Access(
        "slot.c",
        "atomic_load_explicit(&slot->tickets, memory_order_acquire",
        "load",
        ACQUIRE,
        (RELAXED,),
        "the take acquires",
    ),
    "take units": Access(
        "slot.c",
        "atomic_compare_exchange_weak_explicit(\n                &slot->tickets, &tickets, rest",
        "update",
        ACQ_REL,
        (ACQUIRE,),
        "takes are updates, so they continue what the exchange released",
    ),
    "drop units: look": Access(
        "slot.c",
        "atomic_load(&slot->tickets)",
        "load",
        SEQ_CST,
        (ACQUIRE, RELAXED),
        "needs the number only",
    ),
    "drop units": Access(
        "slot.c",
        "atomic_compare_exchange_weak(\n        &slot->tickets",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE, RELEASE, RELAXED),
        "needs the number only",
    ),
    "look at the failure": Access(
        "slot.c", "atomic_load(&slot->failure)", "load", SEQ_CST, (ACQUIRE, RELAXED), "one word"
    ),
    "note a failure": Access(
        "slot.c",
        "atomic_compare_exchange_weak(&slot->failure",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE, RELEASE, RELAXED),
        "one word, and the report in `done` releases it",
    ),
    "report": Access(
        "workers.c",
        "atomic_fetch_add(&slot->done, run)",
        "update",
        SEQ_CST,
        (ACQ_REL, RELEASE),
        "acquires nothing: the worker reads nothing of the region afterwards",
    ),
    "wait": Access(
        "pool.c", "atomic_load_explicit(&slot->done, memory_order_acquire", "load", ACQUIRE
    ),
    "announce a sleep": Access(
        "pool.c",
        "atomic_fetch_or(&slot->done, NN_WAITED_FOR)",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE),
        "releases nothing that a worker needs for a wake",
    ),
    "look before a sleep": Access(
        "pool.c",
        "atomic_load(&slot->done)",
        "load",
        SEQ_CST,
        (ACQUIRE, RELAXED),
        "the kernel compares, and the next announcement acquires",
    ),
    "read the failure": Access(
        "pool.c", "atomic_load_explicit(&slot->failure, memory_order_relaxed", "load", RELAXED
    ),
}


def _left(tickets: int) -> bool:
    return tickets // 10 > tickets % 10


def _take(orders: Orders, is_caller: bool, may_wait: bool = False) -> Program:
    """Gives the unit that was taken; None if there is none."""
    accepts = _left if may_wait else None
    tickets = yield Load("tickets", orders["look at tickets"], accepts, may_last=may_wait)
    while _left(tickets):
        expected, rest = tickets, tickets + 1 if is_caller else tickets - 10
        tickets = yield swap("tickets", expected, rest, orders["take units"])
        if tickets == expected:
            return tickets % 10 if is_caller else tickets // 10 - 1
    return None


def _leave(orders: Orders) -> Program:
    """Drops the units that no thread has taken; gives their number."""
    tickets = yield Load("tickets", orders["drop units: look"])
    while True:
        expected, rest = tickets, tickets // 10 * 11
        tickets = yield swap("tickets", expected, rest, orders["drop units"])
        if tickets == expected:
            return max(tickets // 10 - tickets % 10, 0)


def _run_unit(orders: Orders, unit: int, failing: tuple[int, ...], is_caller: bool) -> Program:
    """Gives the number of units that were dropped."""
    yield Read("run")
    region = yield Read("region")
    yield Write(f"output {unit}", region)
    if unit not in failing:
        return 0
    lowest = yield Load("failure", orders["look at the failure"])
    while unit < lowest:
        expected = lowest
        lowest = yield swap("failure", expected, unit, orders["note a failure"])
        if lowest == expected:
            break
    return (yield from _leave(orders)) if is_caller else 0


class Run(NamedTuple):
    """What a caller does. is_late: it clears `done` after the exchange, which is wrong."""

    regions: int
    units: int
    failing: tuple[int, ...]
    sleeps: bool
    is_late: bool


def caller(orders: Orders, run: Run) -> Program:
    """A run with some regions; alone if there is no slot."""
    if (yield swap("taken", 0, 1, orders["take a slot"])) != 0:
        return
    yield Write("run", 1)
    yield Again(_share, (orders, run, 1))


def _share(orders: Orders, run: Run, region: int) -> Program:
    """Publishes a region and takes units of it."""
    yield Write("region", region)
    if not run.is_late:
        yield Store("done", 0, orders["clear done"])
    yield Store("failure", NO_FAILURE, orders["clear the failure"])
    yield Update("tickets", lambda _: run.units * 10, orders["publish"])
    if run.is_late:
        yield Store("done", 0, orders["clear done"])
    mine = 0
    while (unit := (yield from _take(orders, is_caller=True))) is not None:
        mine += 1 + (yield from _run_unit(orders, unit, run.failing, is_caller=True))
    next_step = _end_region if mine == run.units else _sleep if run.sleeps else _spin
    yield Again(next_step, (orders, run, region, run.units - mine))


def _spin(orders: Orders, run: Run, region: int, wanted: int) -> Program:
    """Looks until workers have reported as many units."""
    yield Load("done", orders["wait"], lambda value: value == wanted)
    yield Again(_end_region, (orders, run, region, 0))


def _sleep(orders: Orders, run: Run, region: int, wanted: int) -> Program:
    """Sleeps until workers have reported as many units."""
    announced = yield Update("done", lambda v: v | WAITED_FOR, orders["announce a sleep"])
    if announced & ~WAITED_FOR == wanted:
        yield Again(_end_region, (orders, run, region, 0))
    seen = yield Load("done", orders["look before a sleep"])
    if seen & ~WAITED_FOR != wanted:
        yield FutexWait("done", seen)
    yield Again(_sleep, (orders, run, region, wanted))


def _end_region(orders: Orders, run: Run, region: int, _: int) -> Program:
    """Checks the results of a region."""
    failure = yield Load("failure", orders["read the failure"])
    assert failure == min(run.failing, default=NO_FAILURE), f"failure {failure} is reported"
    if not run.failing:
        for unit in range(run.units):
            output = yield Read(f"output {unit}")
            assert output == region, f"unit {unit} of region {region} has not run"
    if region < run.regions:
        yield Again(_share, (orders, run, region + 1))
    yield Update("taken", lambda _: 0, orders["give a slot back"])


def worker(orders: Orders, failing: tuple[int, ...]) -> Program:
    """Helps one region after another."""
    run = 0
    while (unit := (yield from _take(orders, is_caller=False, may_wait=run == 0))) is not None:
        run += 1 + (yield from _run_unit(orders, unit, failing, is_caller=False))
    if run and (yield Update("done", lambda v: v + run, orders["report"])) & WAITED_FOR:
        yield FutexWake("done")
    yield Again(worker, (orders, failing))


def program(
    orders: Orders,
    *,
    callers: int = 1,
    workers: int = 1,
    regions: int = 1,
    units: int = 2,
    failing: tuple[int, ...] = (),
    sleeps: bool = False,
    is_late: bool = False,
) -> Setting:
    """Callers that share regions of some units with workers."""
    orders = Orders(orders)
    run = Run(regions, units, failing, sleeps, is_late)
    threads = {
        **{f"caller {at}": partial(caller, orders, run) for at in range(callers)},
        **{f"worker {at}": partial(worker, orders, failing) for at in range(workers)},
    }
    atomics = {"taken": 0, "tickets": 0, "done": 0, "failure": NO_FAILURE}
    plains = {"run": 0, "region": 0, **{f"output {at}": 0 for at in range(units)}}
    return Setting(threads, atomics, plains)


PROTOCOL = Protocol(
    "a shared region",
    ACCESSES,
    {
        "two regions, a worker": partial(program, regions=2),
        "two regions, a worker, a caller that sleeps": partial(program, regions=2, sleeps=True),
        "two workers": partial(program, workers=2),
        "failures of two units": partial(program, units=3, failing=(1, 2)),
        "two callers, a worker": partial(program, callers=2, units=1),
    },
    {
        "`done` is cleared after the exchange": Change(
            {"two regions, a worker": partial(program, regions=2, is_late=True)}
        )
    },
)
