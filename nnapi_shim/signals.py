"""Signals wait while a module is imported, in a program that had no Python.

A signal's handler may fork. The child and its parent then share the files and folders that are
being read, with one place in them: what one reads the other does not get, and finds no module.
"""

import sys
from _frozen_importlib_external import PathFinder
from collections.abc import Callable, Sequence

from nnapi_shim import address
from nnapi_shim.hints import Any

_BLOCK, _SET = 0, 2
_NUMBERS = 64
_MASK_BYTES = 128
"""Of a sigset_t in the C library, which has a bit for each number from 1 on."""
_AT_ONCE = (4, 5, 6, 7, 8, 11, 31)
"""SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS: of what a thread does itself. native/
signals.h, for the time in which Python starts and for threads of C, leaves out the same.
"""


def defer_while_importing() -> None:
    """Let signals of a thread wait while it looks for a module or loads one, from now on."""
    functions = address.loaded_function("pthread_sigmask", "int(*)(int, uintptr_t, uintptr_t)", ())
    if functions is None or PathFinder not in sys.meta_path:
        return
    change, keep = functions
    mask = sum(1 << number for number in range(_NUMBERS) if number + 1 not in _AT_ONCE)
    waiting, kept = address.address_of(mask.to_bytes(_MASK_BYTES, "little"))

    def deferred(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            before = address.Block(_MASK_BYTES)
            change(_BLOCK, waiting, before.address)
            try:
                return function(*arguments)
            finally:
                change(_SET, before.address, 0)

        return called

    class Finder(PathFinder):
        """Finds modules as PathFinder does."""

        needed = keep, kept

        @classmethod
        def find_spec(cls, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
            """Where a module is, or None; the loader loads it while signals wait."""
            spec = find(name, path, target)
            loader: Any = getattr(spec, "loader", None)
            own = getattr(loader, "__dict__", None)
            # One loader may have many modules, as that of an archive has.
            if own is not None and "exec_module" not in own and hasattr(loader, "exec_module"):
                loader.exec_module = deferred(loader.exec_module)
                loader.create_module = deferred(loader.create_module)
            return spec

    find = deferred(PathFinder.find_spec)
    sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
