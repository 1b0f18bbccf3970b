"""Smaller protocols: the start of Python, counts of references, the thread of a task."""

from functools import partial

from tests.memory_order.machine import Setting
from tests.memory_order.operations import (
    ACQ_REL,
    ACQUIRE,
    RELAXED,
    RELEASE,
    SEQ_CST,
    Load,
    Program,
    Read,
    Store,
    Update,
    Write,
)
from tests.memory_order.protocol import Access, Orders, Protocol

ONE_FLAG = "no other atomic has to be in one order with it"
UNTRIED, READY = 0, 1
START = {
    "look": Access("boot.c", "atomic_load_explicit(&state, memory_order_acquire)", "load", ACQUIRE),
    "look with the lock": Access(
        "boot.c",
        "atomic_load(&state) == UNTRIED",
        "load",
        SEQ_CST,
        (ACQUIRE, RELAXED),
        "the lock orders it",
    ),
    "store": Access(
        "boot.c",
        "atomic_store(&state, start(&suspended) ? READY : FAILED)",
        "store",
        SEQ_CST,
        (RELEASE,),
        ONE_FLAG,
    ),
    "look behind the lock": Access(
        "boot.c",
        "atomic_load(&state) == READY;",
        "load",
        SEQ_CST,
        (ACQUIRE, RELAXED),
        "the lock orders it",
    ),
}
REFERENCES = {
    "count up": Access(
        "companion/hardware_buffer.c",
        "atomic_fetch_add_explicit(&buffer->references",
        "update",
        RELAXED,
    ),
    "count down": Access(
        "companion/hardware_buffer.c",
        "atomic_fetch_sub_explicit(&buffer->references",
        "update",
        ACQ_REL,
    ),
}
TASK = {
    "store the process": Access(
        "native_task.c",
        "atomic_store(&task->process, getpid())",
        "store",
        SEQ_CST,
        (RELEASE,),
        ONE_FLAG,
    ),
    "take the thread": Access(
        "native_task.c",
        "atomic_exchange(&task->process, 0)",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE),
        "releases nothing: the thread is joined once",
    ),
}


def first_call(orders: Orders) -> Program:
    """A first call of the API, on any thread."""
    if (yield Load("state", orders["look"])) != READY:
        yield Update("lock", {0: 1}.get, ACQUIRE, waits=True, expected=0)
        if (yield Load("state", orders["look with the lock"])) == UNTRIED:
            yield Write("calls", 1)
            yield Store("state", READY, orders["store"])
        yield Store("lock", 0, RELEASE)
        assert (yield Load("state", orders["look behind the lock"])) == READY, "it has not started"
    assert (yield Read("calls")) == 1, "the table of calls is empty"


def start(orders: Orders) -> Setting:
    """Three first calls at once."""
    threads = {f"call {at}": partial(first_call, orders) for at in range(3)}
    return Setting(threads, {"state": UNTRIED, "lock": 0}, {"calls": 0})


def holder(orders: Orders, shares: bool) -> Program:
    """Uses a buffer and releases it. shares: it takes one more reference and releases that, too."""
    if shares:
        yield Update("references", lambda value: value + 1, orders["count up"])
    for _ in range(1 + shares):
        yield Read("memory")
        if (yield Update("references", lambda value: value - 1, orders["count down"])) == 1:
            yield Write("memory", 0)


def references(orders: Orders) -> Setting:
    """Two threads with a reference each."""
    threads = {f"holder {at}": partial(holder, orders, bool(at)) for at in range(2)}
    return Setting(threads, {"references": 2}, {"memory": 1})


def beginner(orders: Orders) -> Program:
    """Starts the thread of a task."""
    yield Write("thread", 1)
    yield Store("process", 1, orders["store the process"])


def joiner(orders: Orders) -> Program:
    """Joins it, if no other has."""
    if (yield Update("process", lambda _: 0, orders["take the thread"])) == 0:
        return 0
    assert (yield Read("thread")) == 1, "there is no thread to join"
    yield Write("thread", 0)
    return 1


def task(orders: Orders) -> Setting:
    """A task that two threads want to join."""
    threads = {
        "beginner": partial(beginner, orders),
        "joiner 1": partial(joiner, orders),
        "joiner 2": partial(joiner, orders),
    }
    return Setting(threads, {"process": 0}, {"thread": 0})


PROTOCOLS = (
    Protocol("the start of Python", START, {"three first calls": start}),
    Protocol("references of a hardware buffer", REFERENCES, {"two holders": references}),
    Protocol("the thread of a task", TASK, {"two who join": task}),
)
