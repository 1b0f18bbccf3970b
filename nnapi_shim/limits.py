"""The deadline of a compilation on this thread; all long loops check it."""

from _thread import _local
from time import monotonic_ns

from nnapi_shim.errors import Where
from nnapi_shim.hints import Iterable, Iterator, TypeVar

T = TypeVar("T")


class TooLate(Exception):  # noqa: N818 (no error of the model: nothing may store it as one)
    """The deadline has passed. place: the current operation, if any."""

    def __init__(self, place: Where = "") -> None:
        super().__init__(place)
        self.place = place


class _Limit(_local):
    """deadline_ns: limit of time.monotonic_ns(); 0 for none."""

    deadline_ns = 0


_of_thread = _Limit()


class until:  # noqa: N801 (it is used as a word of a sentence)
    """`with until(deadline_ns)`: sets the deadline of this thread for the block.

    deadline_ns: time.monotonic_ns() from which on `look` raises TooLate; 0 for none.
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
    """Raise TooLate if the deadline has passed."""
    deadline_ns = _of_thread.deadline_ns
    if deadline_ns and monotonic_ns() >= deadline_ns:
        raise TooLate(place)


def watched(items: Iterable[T]) -> Iterable[T]:
    """The items; if a deadline is set, it is checked before each."""
    return _watched(items) if _of_thread.deadline_ns else items


def _watched(items: Iterable[T]) -> Iterator[T]:
    for item in items:
        look()
        yield item
