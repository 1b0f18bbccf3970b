"""Calls of libraries that write to stderr."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock

from nnapi_shim.pages import above_standard

_MOST_TOLD = 1 << 16
"""Bytes that are looked at."""

_lock = RLock()
_files: list[int] = []


@contextmanager
def quiet() -> Iterator[Callable[[], str]]:
    """Meanwhile, what the process writes to stderr goes to memory; gives a function that reads it.

    Lines of other threads go there, too: it is for calls that keep Python's lock, in the process of
    an engine.
    """
    with _lock:
        if not _files:
            _files.append(above_standard(os.memfd_create("stderr")))
        (file,) = _files
        try:
            stderr = os.dup(2)
        except OSError:  # the program has closed it
            stderr = -1
        os.dup2(file, 2)
        start = os.lseek(file, 0, os.SEEK_CUR)
        try:
            yield lambda: os.pread(file, _MOST_TOLD, start).decode(errors="replace")
        finally:
            if os.lseek(file, 0, os.SEEK_CUR) > _MOST_TOLD:
                os.ftruncate(file, 0)
                os.lseek(file, 0, os.SEEK_SET)
            if stderr < 0:
                os.close(2)
            else:
                os.dup2(stderr, 2)
                os.close(stderr)
