"""What is done when the process ends, whoever runs Python in it."""

import atexit
from collections.abc import Callable
from typing import Any

import _cffi_backend

from nnapi_shim import address, process

_kept: list[Any] = []
"""What C holds the addresses of."""


def at_exit(function: Callable[[], None]) -> None:
    """Call a function when the process ends by exit() or a return from main().

    Python's own way works where Python ends: in a program that had none, it never does. There, a C
    library without on_exit() leaves it undone, and so does a system that lets nobody make code.
    """
    if not process.runs_our_python[0]:
        atexit.register(function)
        return
    on_exit = address.loaded_function("on_exit", "int(*)(uintptr_t, uintptr_t)", ())
    if on_exit is None:
        return
    try:
        callback = _cffi_backend.FFI().callback(
            "void(int, uintptr_t)", lambda status, data: function()
        )
    except MemoryError:  # there is none that code may be written to
        return
    _kept.extend((on_exit, callback))
    on_exit[0](address.of_function(callback), 0)
