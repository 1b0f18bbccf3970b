"""The Python side of the fast path, in which C re-runs executions (native/fast_path.c)."""

from nnapi_shim import address, process
from nnapi_shim.hints import Callable, Protocol
from nnapi_shim.runtime.fast_path import FastRun, Publisher

_reclaim: Callable[[int], int]
_release: Callable[[int], int]
_is_running: Callable[[int], int]
_publish: Callable[[int, int, int, int], int] | None = None
"""Functions of native/fast_path.c; set when the library attaches."""

_dropping = process.lock()
_released: list[tuple[int, object]] = []
"""Objects that were freed during a run, with their handles; dropped after the run has ended."""


class _Publishable(Protocol):
    def publish(self, publisher: Publisher) -> None: ...


def use(table: int) -> None:
    """Enable the fast path. table: address of `struct nn_fast_path` (native/boot.h)."""
    global _publish, _reclaim, _release, _is_running
    publish_, *others = address.words(table, "uintptr_t", 4)
    _reclaim, _release, _is_running = (address.function(at, "int(*)(uintptr_t)") for at in others)
    _publish = address.function(publish_, "int(*)(uintptr_t, uintptr_t, uintptr_t, uintptr_t)")


def publish(handle: int, item: _Publishable) -> None:
    """Publish the object with this handle, if it can be re-run without Python."""
    if _publish is not None:
        item.publish(lambda run: _slot(handle, run))


def _slot(handle: int, run: FastRun) -> "_Slot | None":
    _drop_ended()
    return _Slot(handle) if _publish is not None and _publish(handle, *run) else None


def _drop_ended() -> None:
    if _released:
        with _dropping:  # concurrent calls would drop objects that are still running
            _released[:] = [entry for entry in _released if _is_running(entry[0])]


class _Slot:
    """Implements runtime.fast_path.Slot."""

    __slots__ = ("_handle",)

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def reclaim(self) -> int:
        """As Slot."""
        return _reclaim(self._handle)

    def is_running(self) -> bool:
        """As Slot."""
        return bool(_is_running(self._handle))

    def release(self, item: object) -> None:
        """As Slot."""
        _drop_ended()
        with _dropping:
            if _release(self._handle):
                _released.append((self._handle, item))
