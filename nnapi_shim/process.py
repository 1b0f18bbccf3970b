"""What there is to know of the process: whose Python it has, and which fork of a process it is.

A forked child has one thread, and what the others did in the parent does not go on.
"""

import os
from _thread import RLock, get_ident
from _weakref import ref
from importlib import import_module

from nnapi_shim import address
from nnapi_shim.hints import Any
from nnapi_shim.pages import has_room
from nnapi_shim.settings import is_environment_ignored

try:
    from _frozen_importlib import _module_locks  # type: ignore[attr-defined]
except ImportError:  # another Python than those that are known
    _module_locks = {}

runs_our_python = [False]
"""Whether the library has started Python, in a program that had none."""

generation = [0]
"""How many forks lie between this process and the one that started Python."""

_locks: set["ref[Any]"] = set()


def lock() -> Any:
    """A lock for short sections, which is open in a child, whichever other thread held it in the
    parent. A thread that has it already gets it again.
    """
    made = RLock()
    _locks.add(ref(made, _locks.discard))
    return made


def _in_child() -> None:
    generation[0] += 1
    for held in [reference() for reference in _locks]:
        # What the forking thread has is its own in the child as well: a signal's handler may fork.
        if held is not None and not held._is_owned():
            held._at_fork_reinit()  # what Python's own locks do


os.register_at_fork(after_in_child=_in_child)


def is_importing() -> bool:
    """Whether another thread is importing a module; a child forked then could never import it.

    Asked by native/boot.c.
    """
    return bool(_module_locks) and any(map(_is_of_another_thread, [*_module_locks.values()]))


def _is_of_another_thread(reference: Any) -> bool:
    held = reference()
    return getattr(held, "owner", None) not in (None, get_ident())


products = lock()
"""Held while numpy multiplies matrices: see load_numpy."""

_NUMPY_BYTES = 160 << 20
"""Addresses that numpy takes with OpenBLAS and one buffer of it: 130 MiB, and some to spare."""

_OF_NUMPY = (b"NPY_", b"NUMPY_", b"OPENBLAS_", b"GOTO_", b"OMP_", b"MKL_")
"""How settings of numpy and of the libraries for its products begin: the user's of a program with
raised privileges do not count.
"""

_LARGE = 256
"""Rows of a product that needs the buffer."""


def load_numpy() -> None:
    """Import numpy in a program that had no Python; one that has is left to do so as it likes.

    Its OpenBLAS ends the process where it can make no thread, or get no memory: with SIGINT, with
    exit(). So it gets one thread, and its buffer when there is memory; products take turns, so that
    they never need another.

    Raises ImportError where numpy is missing, MemoryError where there is no room for it.
    """
    if not runs_our_python[0] or _numpy:
        return
    with products:
        if not _numpy:
            if not has_room(_NUMPY_BYTES):
                raise MemoryError(f"numpy takes {_NUMPY_BYTES >> 20} MiB of addresses")
            without = _OF_NUMPY if is_environment_ignored() else ()
            with address.with_variable(b"OPENBLAS_NUM_THREADS=1", without):
                numpy = import_module("numpy")
            square = numpy.ones((_LARGE, _LARGE), numpy.float32)
            assert (square @ square)[0, 0] == _LARGE
            _numpy.append(numpy)


_numpy: list[Any] = []
"""Not empty once it is loaded."""
