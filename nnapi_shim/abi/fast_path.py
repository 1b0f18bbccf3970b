"""Executions and bursts that C runs again without Python, as they are lent (native/fast_path.c)."""

from collections.abc import Callable

from nnapi_shim import address, process
from nnapi_shim.hints import Protocol
from nnapi_shim.runtime.fast_path import Again, Lender

_take: Callable[[int], int]
_release: Callable[[int], int]
_is_running: Callable[[int], int]
_lend: Callable[[int, int, int, int], int] | None = None
"""The functions of C; set when the library attaches."""

_dropping = process.lock()
_released: list[tuple[int, object]] = []
"""What was freed while it ran, by its handle, until somebody looks whether the run has ended."""


class _Lendable(Protocol):
    def lend(self, lender: Lender) -> None: ...


def use(table: int) -> None:
    """Lend from now on, by the functions in a table of C (native/boot.h)."""
    global _lend, _take, _release, _is_running
    lend_, *others = address.words(table, "uintptr_t", 4)
    _take, _release, _is_running = (address.function(at, "int(*)(uintptr_t)") for at in others)
    _lend = address.function(lend_, "int(*)(uintptr_t, uintptr_t, uintptr_t, uintptr_t)")


def lend(handle: int, item: _Lendable) -> None:
    """Lend an object that has this handle, if it lets itself be lent."""
    if _lend is not None:
        item.lend(lambda again: _lent(handle, again))


def _lent(handle: int, again: Again) -> "_Lent | None":
    _drop_ended()
    return _Lent(handle) if _lend is not None and _lend(handle, *again) else None


def _drop_ended() -> None:
    if _released:
        with _dropping:  # two that look at once would forget what still runs
            _released[:] = [entry for entry in _released if _is_running(entry[0])]


class _Lent:
    """As runtime.lending.Lent."""

    __slots__ = ("_handle",)

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def take_back(self) -> int:
        """As Lent."""
        return _take(self._handle)

    def is_running(self) -> bool:
        """As Lent."""
        return bool(_is_running(self._handle))

    def release(self, item: object) -> None:
        """As Lent."""
        _drop_ended()
        with _dropping:
            if _release(self._handle):
                _released.append((self._handle, item))
