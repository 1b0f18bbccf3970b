"""Where threads are in their programs."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.memory_order.operations import Again, Fence, Operation, Program, Store, Write


class Ended(NamedTuple):
    """A thread that has returned."""

    result: Any


class Failed(NamedTuple):
    """A thread with a finding."""

    text: str


class Controls:
    """Where threads can be: a generator, and the results that it has got."""

    def __init__(self) -> None:
        self._keys: list[tuple[Callable[..., Program], tuple[Any, ...], tuple[Any, ...]]] = []
        self._number: dict[Any, int] = {}
        self._next: list[Operation | Ended | Failed | None] = []
        self._after: dict[tuple[int, Any], int] = {}

    def _number_of(
        self, function: Callable[..., Program], arguments: tuple[Any, ...], got: tuple[Any, ...]
    ) -> int:
        key = (function, arguments, got)
        number = self._number.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
            self._next.append(None)
        return number

    def begin(self, function: Callable[..., Program], arguments: tuple[Any, ...] = ()) -> int:
        """The beginning of a generator."""
        number = self._number_of(function, arguments, ())
        operation = self.next(number)
        return self.begin(*operation) if isinstance(operation, Again) else number

    def next(self, number: int) -> Operation | Ended | Failed:
        """What the thread does here."""
        if (known := self._next[number]) is not None:
            return known
        function, arguments, got = self._keys[number]
        operation: Operation | Ended | Failed
        try:
            running = function(*arguments)
            operation = next(running)
            for result in got:
                operation = running.send(result)
        except StopIteration as end:
            operation = Ended(end.value)
        except AssertionError as error:
            operation = Failed(str(error))
        self._next[number] = operation
        return operation

    def after(self, number: int, result: Any) -> int:
        """Where the thread is after its operation here gave this."""
        key = (number, result)
        if (known := self._after.get(key)) is None:
            function, arguments, got = self._keys[number]
            known = self._number_of(function, arguments, (*got, result))
            operation = self.next(known)
            if isinstance(operation, Again):
                known = self.begin(*operation)
            self._after[key] = known
        return known


def text_of(operation: Any) -> str:
    """An operation, for readers."""
    if isinstance(operation, Fence):
        return f"fence {operation.order.value}"
    kind = {"FutexWait": "futex wait on", "FutexWake": "futex wake of"}.get(
        type(operation).__name__, type(operation).__name__.lower()
    )
    words = [kind, *([operation.place] if hasattr(operation, "place") else [])]
    if isinstance(operation, Store | Write):
        words.append(f"= {operation.value}")
    if hasattr(operation, "order"):
        words.append(operation.order.value)
    return " ".join(words)
