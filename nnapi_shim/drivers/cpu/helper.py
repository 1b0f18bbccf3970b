"""A thread of C alone, which does one thing while Python goes on.

It never asks for Python's lock: it would wait for that while the thread that began it goes on.
"""

import os
from _signal import (  # type: ignore[import-not-found]
    SIG_BLOCK,
    SIG_SETMASK,
    SIGABRT,
    SIGBUS,
    SIGFPE,
    SIGILL,
    SIGSEGV,
    SIGSYS,
    SIGTRAP,
    pthread_sigmask,
    valid_signals,
)

from nnapi_shim import address
from nnapi_shim.hints import Any


class Helper:
    """A thread that calls `function(argument)`. Whoever lets go of it waits for it.

    owner: keeps all that the thread reads and writes, until then.
    """

    def __init__(self, function: int, argument: int, owner: Any) -> None:
        """Where no thread is to be had, nothing begins."""
        self._owner = owner
        self.thread, self._process = 0, os.getpid()
        self.thread = _started(function, argument)

    def result(self) -> int | None:
        """Wait for its end: the int32_t that the function gave. None where it may not have been
        called to its end: there was no thread, or this is the child of a fork, which has none.
        """
        thread, self.thread = self.thread, 0
        if not thread or os.getpid() != self._process:
            return None
        return _joined(thread)

    def __del__(self) -> None:
        self.result()


_OTHERS = valid_signals() - {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}
"""Signals that are the program's: it has threads for them. Those that a thread raises by what it
does come to it.
"""
_functions: list[Any] = []
"""pthread_create, pthread_join and what keeps each; None for one that is nowhere."""


def _started(function: int, argument: int) -> int:
    """A thread, to be joined; 0 where none is to be had."""
    if not _functions:
        _functions[:] = [_function("pthread_create", 4), _function("pthread_join", 2)]
    if None in _functions:
        return 0
    handle = bytearray(8)
    where, keep = address.address_of(handle)
    before = pthread_sigmask(SIG_BLOCK, _OTHERS)
    failed = _functions[0][0](where, 0, function, argument)
    del keep
    thread = 0 if failed else int.from_bytes(handle, "little")
    try:
        pthread_sigmask(SIG_SETMASK, before)
    except BaseException:  # of a handler in Python
        if thread:
            _joined(thread)
        raise
    return thread


def _joined(thread: int) -> int:
    """Wait for the end of a thread; what its function gave."""
    found = bytearray(8)
    where, keep = address.address_of(found)
    _functions[1][0](thread, where)
    del keep
    return int.from_bytes(found[:4], "little", signed=True)


def _function(name: str, arguments: int) -> tuple[Any, Any] | None:
    signature = f"int(*)({', '.join(['uintptr_t'] * arguments)})"
    return address.loaded_function(name, signature, ("libpthread.so.0",))
