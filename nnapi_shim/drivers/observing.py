"""Observed runs: devices report each step, for profiles and traces.

    steps = []
    with observed(steps.append):
        prepared.execute(request, False, None, timeout_ns)

Runs of all threads are observed. Devices run step by step only between `begin` and `end`
(`steppable.py`), so other runs have no extra cost. An execution that was bound to its frame before
`begin` is not observed.
"""

import re
from contextlib import contextmanager
from threading import Lock, get_native_id

from nnapi_shim.drivers import steppable
from nnapi_shim.errors import Place, Where
from nnapi_shim.hints import Callable, Iterator, NamedTuple, Sequence

_OPERATION = re.compile(r"(\w+) \(operation (\d+)\)")


class ObservedStep(NamedTuple):
    """A step of a run.

    device: name of the device. kernel: the kernel of nnapi-cpu; "" on nnapi-reference, where each
        operation is one step.
    where: its operation as text, within an IF or WHILE with the enclosing ones, such as
        `WHILE (operation 3), body: ADD (operation 0)`.
    started_ns, ended_ns: time.monotonic_ns(). thread: native id of the thread. overhead_ns: the
    measured time of a step without work, which timing adds.
    """

    device: str
    kernel: str
    where: str
    started_ns: int
    ended_ns: int
    thread: int
    overhead_ns: int = 0

    @property
    def duration_ns(self) -> int:
        """The time of its work, at least 1."""
        return max(1, self.ended_ns - self.started_ns - self.overhead_ns)

    @property
    def operations(self) -> tuple[Place, ...]:
        """Numbers and types of the enclosing operations, outermost first, and of its own, the last.

        The first one is in the model's main graph, the others in referenced graphs.
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
    """Stop reporting to `observer`."""
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
    overhead_ns: int = 0,
) -> None:
    """Report a step of a device. around: the enclosing operations, outermost first."""
    step = ObservedStep(
        device,
        kernel,
        ": ".join(map(str, (*around, where))),
        started_ns,
        ended_ns,
        get_native_id(),
        overhead_ns,
    )
    for observer in _observers:
        observer(step)
