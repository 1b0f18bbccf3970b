"""The file that a setting names, opened so that one process alone writes to it."""

import os
from errno import EWOULDBLOCK
from fcntl import LOCK_EX, LOCK_NB, flock

from nnapi_shim import address

_FIRST_FREE = 3
"""Descriptors below are the program's stdin, stdout and stderr, even where it has closed them."""


def opened(setting: str) -> int:
    """A descriptor of the file, which is empty; `%p` in its name is the number of the process.

    Raises OSError where it cannot be written, or another process writes to it.
    """
    path = setting.replace("%p", str(os.getpid()), 1)
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe nobody reads waits
    fd = os.open(path, flags, 0o600)
    try:
        if fd < _FIRST_FREE:
            low = fd
            fd = address.duplicate(low, _FIRST_FREE)
            os.close(low)
        try:
            flock(fd, LOCK_EX | LOCK_NB)
        except OSError as error:
            if error.errno == EWOULDBLOCK:
                message = "another process writes to it (%p in a name is the process's number)"
                raise OSError(EWOULDBLOCK, message) from None
        os.ftruncate(fd, 0)
    except OSError:
        os.close(fd)
        raise
    return fd
