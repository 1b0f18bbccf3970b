"""The fast path: runs of an execution without Python, in fast_path.c.

One slot. Python's side holds the interpreter lock. It binds the execution (`block`), publishes it,
and reclaims it before it touches `block` again; another thread of the program frees it; threads
run it. A run writes `block`: its results are there.
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
    Choose,
    Load,
    Program,
    Read,
    Store,
    Update,
    Write,
    swap,
)
from tests.memory_order.protocol import Access, Orders, Protocol

EMPTY, FILLED, HANDLE, RUNNING, FAILED, RUNNING_FREED = range(6)
BUSY = -1
FAILURE = 7
FILE = "fast_path.c"
ACCESSES = {
    "fill": Access(
        FILE,
        "change(slot, 0, FILLED)",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE),
        "releases nothing: the handle is stored afterwards",
    ),
    "publish": Access(
        FILE,
        "atomic_store(&slot->state, handle)",
        "store",
        SEQ_CST,
        (RELEASE,),
        "no other atomic has to be in one order with it",
    ),
    "look before a run": Access(
        FILE, "atomic_load_explicit(&slot->state, memory_order_relaxed)", "load", RELAXED
    ),
    "begin": Access(
        FILE,
        "change(slot, handle, flagged(handle, RUNNING))",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE),
        "releases nothing: the run writes afterwards",
    ),
    "end": Access(
        FILE,
        "change(slot, flagged(handle, RUNNING), code",
        "update",
        SEQ_CST,
        (ACQ_REL, RELEASE),
        "acquires nothing: the run has ended",
    ),
    "empty after a freed run": Access(
        FILE,
        "atomic_store(&slot->state, 0);\n    return false",
        "store",
        SEQ_CST,
        (RELEASE,),
        "as for `publish`",
    ),
    "reclaim: look": Access(
        FILE,
        "atomic_load(&slot->state);\n    while (state == handle)\n",
        "load",
        SEQ_CST,
        (ACQUIRE,),
        "as for `publish`",
    ),
    "reclaim": Access(
        FILE,
        "atomic_compare_exchange_weak(&slot->state, &state, 0)",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE),
        "releases nothing: the interpreter lock orders Python's threads",
    ),
    "empty after a failure": Access(
        FILE,
        "atomic_store(&slot->state, 0);\n        return code",
        "store",
        SEQ_CST,
        (RELEASE, RELAXED),
        "the interpreter lock orders Python's threads",
    ),
    "release: look": Access(
        FILE,
        "atomic_load(&slot->state);\n    while (state == handle ||",
        "load",
        SEQ_CST,
        (ACQUIRE, RELAXED),
        "the compare-and-swap acquires",
    ),
    "release": Access(
        FILE,
        "atomic_compare_exchange_weak(&slot->state, &state,\n",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE),
        "as for `reclaim`",
    ),
    "is running": Access(
        FILE,
        "atomic_load(&slot_of(handle)->state)",
        "load",
        SEQ_CST,
        (ACQUIRE,),
        "as for `publish`",
    ),
    "settle": Access(
        FILE,
        "change(slot, flagged(handle, FAILED), 0)",
        "update",
        SEQ_CST,
        (ACQ_REL, ACQUIRE, RELEASE, RELAXED),
        "nothing is handed over: Python has reported the failure",
    ),
}


def _lock() -> Update:
    """Waits for the interpreter lock and takes it."""
    return Update("gil", {0: 1}.get, ACQUIRE, waits=True, expected=0)


def _unlock() -> Store:
    return Store("gil", 0, RELEASE)


def _publish(orders: Orders, base: int) -> Program:
    """base: the first number of the states of a handle."""
    if (yield swap("state", EMPTY, FILLED, orders["fill"])) != EMPTY:
        return
    yield Write("contents", base)
    yield Store("state", base + HANDLE, orders["publish"])


def _reclaim(orders: Orders, me: int) -> Program:
    """Empties the slot: 0, BUSY, or the code of a run that failed on this thread."""
    state = yield Load("state", orders["reclaim: look"])
    while state == HANDLE:
        state = yield swap("state", HANDLE, EMPTY, orders["reclaim"])
        if state == HANDLE:
            return 0
    if state == FAILED and (yield Read("thread")) == me:
        code = yield Read("code")
        yield Store("state", EMPTY, orders["empty after a failure"])
        return code
    return BUSY if state in (RUNNING, FAILED, RUNNING_FREED) else 0


def _release(orders: Orders) -> Program:
    """Empties the slot; true during a run, which then empties it."""
    state = yield Load("state", orders["release: look"])
    while state in (HANDLE, RUNNING, FAILED):
        expected, rest = state, RUNNING_FREED if state == RUNNING else EMPTY
        state = yield swap("state", expected, rest, orders["release"])
        if state == expected:
            return state == RUNNING
    return False


def owner(orders: Orders) -> Program:
    """Python binds an execution, publishes it, and changes it later."""
    yield _lock()
    yield Write("block", 1)
    yield from _publish(orders, 0)
    yield _unlock()
    yield _lock()
    if not (yield Read("freed")) and (yield from _reclaim(orders, 0)) != BUSY:
        yield Write("block", 1)
    yield _unlock()


def freer(orders: Orders) -> Program:
    """Python frees the execution, and publishes another in its slot, when it has ended."""
    yield _lock()
    yield Write("freed", 1)
    runs = yield from _release(orders)
    if runs:
        state = yield Load("state", orders["is running"])
        runs = state in (RUNNING, FAILED, RUNNING_FREED)
    if not runs:
        yield Write("block", 0)
    yield from _publish(orders, 10)
    yield _unlock()


def runner(orders: Orders, me: int, fails: bool) -> Program:
    """ANeuralNetworksExecution_compute: without Python if possible."""
    if (yield Load("state", orders["look before a run"])) != HANDLE or (
        yield swap("state", HANDLE, RUNNING, orders["begin"])
    ) != HANDLE:
        return (yield from _compute_in_python(orders, me))
    contents = yield Read("contents")
    assert contents == 0, "another execution runs"
    yield Write("block", 2)
    code = FAILURE if fails and (yield Choose(2)) else 0
    yield Write("thread", me)
    yield Write("code", code)
    ended = FAILED if code else HANDLE
    if (yield swap("state", RUNNING, ended, orders["end"])) != RUNNING:
        yield Store("state", EMPTY, orders["empty after a freed run"])
        return "freed"
    if not code:
        return "ran"
    result = yield from _compute_in_python(orders, me)
    yield swap("state", FAILED, EMPTY, orders["settle"])
    assert result in ("failed", "freed"), f"a failure is reported as {result}"
    return result


def _compute_in_python(orders: Orders, me: int) -> Program:
    yield _lock()
    if (yield Read("freed")):
        yield _unlock()
        return "freed"
    code = yield from _reclaim(orders, me)
    if code != BUSY:
        yield Write("block", 3)
    yield _unlock()
    return {BUSY: "refused", 0: "ran", FAILURE: "failed"}[code]


def program(
    orders: Orders, runners: int = 1, fails: bool = False, is_freed: bool = False
) -> Setting:
    """Python's side, and threads that run the execution."""
    threads: dict[str, Callable[[], Program]] = {"Python": partial(owner, orders)}
    if is_freed:
        threads["Python frees"] = partial(freer, orders)
    for at in range(1, runners + 1):
        threads[f"run {at}"] = partial(runner, orders, at, fails)
    plains = {"block": 0, "contents": 0, "thread": 0, "code": 0, "freed": 0}
    return Setting(threads, {"state": EMPTY, "gil": 0}, plains)


PROTOCOL = Protocol(
    "the fast path",
    ACCESSES,
    {
        "a run that may fail": partial(program, fails=True),
        "two runs that may fail": partial(program, runners=2, fails=True),
        "a run of a freed execution": partial(program, fails=True, is_freed=True),
    },
)
