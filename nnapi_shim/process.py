"""State of the process: who started its Python, and how often it was forked.

A forked child has only the thread that called fork.
"""

import os
from _thread import RLock, get_ident
from _weakref import ref

from nnapi_shim import address
from nnapi_shim.hints import Any
from nnapi_shim.modules import import_module
from nnapi_shim.pages import has_room
from nnapi_shim.settings import is_environment_ignored
from nnapi_shim.signals import defer_while_importing

try:
    from _frozen_importlib import _module_locks  # type: ignore[attr-defined]
except ImportError:  # an unknown Python
    _module_locks = {}

runs_our_python = [False]
"""Whether the library started the interpreter, in a program that had none."""

has_called = [False]
"""Whether there has been a call of the C API, at which the settings of its functions were read."""

generation = [0]
"""Number of forks between the process that started Python and this one."""

_locks: set["ref[Any]"] = set()


def begin() -> None:
    """The library has started the interpreter; the rest of the package is imported after this.

    Called by native/attach.c.
    """
    runs_our_python[0] = True
    defer_while_importing()
    from nnapi_shim.hal import codes

    codes.stands_in[0] = True


def lock() -> Any:
    """A reentrant lock for short sections. A forked child gets it released if another thread of the
    parent held it.
    """
    made = RLock()
    _locks.add(ref(made, _locks.discard))
    return made


def _in_child() -> None:
    generation[0] += 1
    for held in [reference() for reference in _locks]:
        # The forking thread keeps its locks in the child: a signal handler may fork.
        if held is not None and not held._is_owned():
            held._at_fork_reinit()  # as Python's own locks do


os.register_at_fork(after_in_child=_in_child)


def is_importing() -> bool:
    """Whether another thread imports a module; a child forked now could never import it.

    Called by native/boot.c.
    """
    return bool(_module_locks) and any(map(_is_of_another_thread, [*_module_locks.values()]))


def _is_of_another_thread(reference: Any) -> bool:
    held = reference()
    return getattr(held, "owner", None) not in (None, get_ident())


products = lock()
"""Held during matrix products of numpy: see load_numpy."""

_NUMPY_BYTES = 160 << 20
"""Address space for numpy and OpenBLAS with one buffer: 130 MiB and a margin, in bytes."""

_OF_NUMPY = (b"NPY_", b"NUMPY_", b"OPENBLAS_", b"GOTO_", b"OMP_", b"MKL_")
"""How settings of numpy and of the libraries for its products begin: the user's of a program with
raised privileges do not count.
"""

_LARGE = 256
"""Rows of a product that makes OpenBLAS allocate its buffer."""


def load_numpy() -> None:
    """Import numpy in a program whose Python the library started; other programs import it freely.

    OpenBLAS ends the process if it cannot create a thread (SIGINT) or allocate memory (exit()). So
    it gets one thread, and allocates its buffer here, after a check for free memory. The lock
    `products` serializes products, so that OpenBLAS never needs a second buffer.

    Raises ImportError if numpy is missing, MemoryError if there is too little address space.
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
            with numpy.errstate(all="ignore"):  # OpenBLAS's SVE kernels compute in unused lanes
                assert (square @ square)[0, 0] == _LARGE
            _numpy.append(numpy)


_numpy: list[Any] = []
"""Not empty once it is loaded."""
