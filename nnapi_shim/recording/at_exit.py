"""Runs functions at the end of the process."""

import atexit
from collections.abc import Callable
from typing import Any

import _cffi_backend

from nnapi_shim import address, process

_kept: list[Any] = []
"""Objects that C has pointers to."""


def at_exit(function: Callable[[], None]) -> None:
    """Call a function when the process ends by exit() or a return from main().

    Python's atexit needs the interpreter to finalize, which never happens in a program whose Python
    the library started. There on_exit() is used; without it, or without executable memory for the
    callback, the function is not called.
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
    except MemoryError:  # no executable memory
        return
    _kept.extend((on_exit, callback))
    on_exit[0](address.of_function(callback), 0)
