"""The time limit of what this thread compiles: set in one place, looked at by all long loops."""

from _thread import _local
from collections.abc import Iterable, Iterator
from time import monotonic_ns

from nnapi_shim.errors import Where
from nnapi_shim.hints import TypeVar

T = TypeVar("T")


class TooLate(Exception):  # noqa: N818 (not of what is compiled: none of it is to keep it as its error)
    """The limit has passed. place: the operation that was looked at, if one was."""

    def __init__(self, place: Where = "") -> None:
        super().__init__(place)
        self.place = place


class _Limit(_local):
    """deadline_ns: time.monotonic_ns() that is too late; 0 for never."""

    deadline_ns = 0


_of_thread = _Limit()


class until:  # noqa: N801 (it is used as a word of a sentence)
    """`with until(deadline_ns)`: what is done meanwhile on this thread looks at this clock.

    deadline_ns: time.monotonic_ns() behind which `look` raises TooLate; 0 for never.
    """

    __slots__ = ("_before", "_deadline_ns")

    def __init__(self, deadline_ns: int) -> None:
        self._deadline_ns = deadline_ns

    def __enter__(self) -> None:
        self._before = _of_thread.deadline_ns
        _of_thread.deadline_ns = self._deadline_ns

    def __exit__(self, *raised: object) -> None:
        _of_thread.deadline_ns = self._before


def look(place: Where = "") -> None:
    """Raise TooLate if the limit has passed."""
    deadline_ns = _of_thread.deadline_ns
    if deadline_ns and monotonic_ns() >= deadline_ns:
        raise TooLate(place)


def watched(items: Iterable[T]) -> Iterable[T]:
    """The items; where there is a limit, with a look at the clock in front of each."""
    return _watched(items) if _of_thread.deadline_ns else items


def _watched(items: Iterable[T]) -> Iterator[T]:
    for item in items:
        look()
        yield item
