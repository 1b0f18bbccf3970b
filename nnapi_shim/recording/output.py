"""Opens the output file of a setting for one process exclusively."""

import os
import stat
from collections.abc import Callable
from errno import EEXIST, EWOULDBLOCK
from fcntl import LOCK_EX, LOCK_NB, flock

from nnapi_shim import address

_FIRST_FREE = 3
"""Lower descriptors are reserved for stdin, stdout and stderr, even if they are closed."""


_BEGINNING = 64
"""Number of bytes that identify the kind of a file."""


def opened(setting: str, is_mine: Callable[[bytes], bool]) -> int:
    """A descriptor of the file, which is empty. `%p` in the file name, but not in its folder, is
    replaced by the process id.

    is_mine: whether an existing file that begins with these bytes may be overwritten.
    Raises OSError if it cannot be written, another process writes to it, or it is kept.
    """
    folder, slash, name = setting.rpartition("/")
    path = f"{folder}{slash}{name.replace('%p', str(os.getpid()), 1)}"
    # O_NONBLOCK: opening a pipe without a reader would block.
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
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
        if not _may_be_emptied(path, fd, is_mine):
            raise OSError(EEXIST, "there is a file that is no capture; it is kept")
        os.ftruncate(fd, 0)
    except OSError:
        os.close(fd)
        raise
    return fd


def _may_be_emptied(path: str, fd: int, is_mine: Callable[[bytes], bool]) -> bool:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
        return True
    reading = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return is_mine(os.read(reading, _BEGINNING))
    finally:
        os.close(reading)
