"""Observed runs: devices report each step, for profiles and traces.

    steps = []
    with observed(steps.append):
        prepared.execute(request, False, None, timeout_ns)

Runs of all threads are observed. Runs that are not observed cost nothing more: devices run step by
step only between `begin` and `end` (`steppable.py`). An execution that was bound to its frame
before goes on as it did.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, get_native_id

from nnapi_shim.drivers import steppable
from nnapi_shim.errors import Place, Where
from nnapi_shim.hints import NamedTuple

_OPERATION = re.compile(r"(\w+) \(operation (\d+)\)")


class ObservedStep(NamedTuple):
    """A step of a run.

    device: name of the device. kernel: what ran: a kernel of nnapi-cpu; "" on nnapi-reference,
        where each operation is one step.
    where: the operation that it belongs to, in words; within an IF or WHILE with those around it,
        such as `WHILE (operation 3), body: ADD (operation 0)`.
    started_ns, ended_ns: time.monotonic_ns(). thread: number of the thread, as the kernel has it.
    """

    device: str
    kernel: str
    where: str
    started_ns: int
    ended_ns: int
    thread: int

    @property
    def operations(self) -> tuple[Place, ...]:
        """The operation that it belongs to, the last one, and those around it: numbers and types.

        The first is one of the model's main graph, the others of the graphs that they refer to.
        """
        return tuple(
            Place("operation", int(number), name) for name, number in _OPERATION.findall(self.where)
        )


Observer = Callable[[ObservedStep], None]

_observers: tuple[Observer, ...] = ()
_lock = Lock()


def begin(observer: Observer) -> None:
    """Report to `observer` every step of runs that begin from now on."""
    global _observers
    with _lock:
        _observers = (*_observers, observer)
        steppable.begin()


def end(observer: Observer) -> None:
    """Report to `observer` no more."""
    global _observers
    with _lock:
        at = _observers.index(observer)
        _observers = _observers[:at] + _observers[at + 1 :]
        if not _observers:
            steppable.end()


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Report to `observer` every step of runs that begin within this block."""
    begin(observer)
    try:
        yield
    finally:
        end(observer)


def report(
    device: str,
    kernel: str,
    around: Sequence[Where],
    where: Where,
    started_ns: int,
    ended_ns: int,
) -> None:
    """Report a step of a device. around: the positions of the graphs around it, outermost first."""
    step = ObservedStep(
        device,
        kernel,
        ": ".join(map(str, (*around, where))),
        started_ns,
        ended_ns,
        get_native_id(),
    )
    for observer in _observers:
        observer(step)
