"""Blocks signals during imports, in a program whose Python the library started.

A signal handler may fork. Child and parent then share the file offsets of the files and folders
that the import reads: each misses what the other has read, and finds no module.
"""

import sys
from _frozen_importlib_external import PathFinder

from nnapi_shim import address, modules
from nnapi_shim.hints import Any, Callable, Sequence

_BLOCK, _SET = 0, 2
_NUMBERS = 64
_MASK_BYTES = 128
"""Size of sigset_t, which has a bit for each signal number from 1 on."""
_AT_ONCE = (4, 5, 6, 7, 8, 11, 31)
"""Never blocked: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, which a thread raises
itself. native/signals.h has the same list for the start of Python and for threads of C.
"""


def defer_while_importing() -> None:
    """From now on, block the signals of a thread while it finds or loads a module."""
    functions = address.loaded_function("pthread_sigmask", "int(*)(int, uintptr_t, uintptr_t)", ())
    if functions is None or PathFinder not in sys.meta_path:
        return
    change, keep = functions
    mask = sum(1 << number for number in range(_NUMBERS) if number + 1 not in _AT_ONCE)
    waiting, kept = address.address_of(mask.to_bytes(_MASK_BYTES, "little"))
    unused: list[address.Block] = []  # imports are nested: each has a mask to restore

    def deferred(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            before = unused.pop() if unused else address.Block(_MASK_BYTES)
            change(_BLOCK, waiting, before.address)
            try:
                return function(*arguments)
            finally:
                change(_SET, before.address, 0)
                unused.append(before)

        return called

    class SourceLoader(modules.SourceLoader):
        """Loads a module of this package."""

        exec_module = deferred(modules.SourceLoader.exec_module)

    class OwnFinder:
        """Finds modules of this package, before others are asked."""

        @staticmethod
        def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
            """The spec of a module or None; reads no file."""
            return modules.find(name, path, SourceLoader)

    class Finder(PathFinder):
        """Finds modules as PathFinder does."""

        needed = keep, kept

        @classmethod
        def find_spec(cls, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
            """The spec of a module or None; its loader runs with signals blocked."""
            spec = find(name, path, target)
            loader: Any = getattr(spec, "loader", None)
            own = getattr(loader, "__dict__", None)
            # A loader, such as that of an archive, may serve many modules.
            if own is not None and "exec_module" not in own and hasattr(loader, "exec_module"):
                loader.exec_module = deferred(loader.exec_module)
                loader.create_module = deferred(loader.create_module)
            return spec

    find = deferred(PathFinder.find_spec)
    sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
    sys.meta_path.insert(0, OwnFinder)
