"""Which threads run a burst, for devices whose runs in bursts take another time."""

from _thread import get_ident
from collections.abc import Callable
from functools import wraps

from nnapi_shim.hints import Any

_threads: set[int] = set()


def in_a_burst(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function during which its thread runs a burst."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        _threads.add(get_ident())
        try:
            return function(*arguments)
        finally:
            _threads.discard(get_ident())

    return call


def is_in_a_burst() -> bool:
    """Whether this thread runs a burst."""
    return get_ident() in _threads
