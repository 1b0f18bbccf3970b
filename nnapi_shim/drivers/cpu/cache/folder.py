"""Trusted folders: permission checks, atomic file writes, and the user's secret cache key.

All accesses use the folder's descriptor, so no path is resolved twice. The checks apply to the
opened file: its owner must be the effective user or root, and no other user may write to it. Other
processes of the same user are trusted.

A compiled model is a program: a forged file could make kernels read and write any address. Files
are therefore authenticated with a secret key, which lies outside the cache folder, so a cache
folder that comes from elsewhere, such as an archive, is not trusted.

The key is in this module because importing another one takes 4% of the time to load a model.
"""

import os
from errno import EACCES, EFBIG, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, EPERM, EROFS
from stat import S_IMODE, S_ISREG

from nnapi_shim import log
from nnapi_shim.drivers.cpu.program.digest import KEY_BYTES
from nnapi_shim.pages import above_standard
from nnapi_shim.settings import STATE, is_environment_ignored

KEY = "models.key"

OTHERS_MAY_WRITE = 0o022
ALL_MAY_WRITE = 0o002
OTHERS_MAY_READ = 0o077
PRIVATE = 0o600

ABSENT = (EACCES, ENAMETOOLONG, ENOENT, ENOTDIR, EPERM, EROFS)
"""Errors of a folder that is missing or inaccessible; these are expected and logged as debug."""

ABANDONED_SECONDS = 600
"""Age from which a temporary file counts as abandoned by its writer."""

_CLOSED = os.O_NOFOLLOW | os.O_CLOEXEC


class Untrusted(Exception):  # noqa: N818 (a finding)
    """Another user may have written the file or folder; the message names it."""


class Folder:
    """An open folder; a context manager. Raises Untrusted if other users may write to it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = above_standard(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        try:
            status = os.fstat(self._fd)
            # The process's own group may write to the folder, as under umask 002; files in it are
            # checked separately.
            is_own_group = status.st_gid == os.getegid()
            _require_trusted(status, path, ALL_MAY_WRITE if is_own_group else OTHERS_MAY_WRITE)
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)

    def open(self, name: str, forbidden: int = OTHERS_MAY_WRITE) -> tuple[int, int]:
        """Open a file; returns descriptor and length. Raises Untrusted if it is not a regular file,
        or its mode has a `forbidden` bit.
        """
        path = f"{self.path}/{name}"
        try:
            # O_NONBLOCK: opening a pipe must not block.
            fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _CLOSED, dir_fd=self._fd)
        except OSError as error:
            if error.errno == ELOOP:
                raise Untrusted(f"{path} is a symbolic link") from None
            raise
        fd = above_standard(fd)
        try:
            status = os.fstat(fd)
            if not S_ISREG(status.st_mode):
                raise Untrusted(f"{path} is no plain file")
            _require_trusted(status, path, forbidden)
        except BaseException:
            os.close(fd)
            raise
        return fd, status.st_size

    def write(self, name: str, contents: bytes, replace: bool = True) -> None:
        """Write a file atomically and durably.

        replace: whether to replace an existing file; otherwise raises FileExistsError. Raises
            OSError and leaves no partial file.
        """
        _require_room(len(contents))
        self._clear(name)
        beside = f"{name}.{os.urandom(12).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSED
        fd = above_standard(os.open(beside, flags, PRIVATE, dir_fd=self._fd))
        try:
            try:
                os.fchmod(fd, PRIVATE)  # the umask may have cleared the owner's bits
                rest = memoryview(contents)
                while rest:
                    rest = rest[os.write(fd, rest) :]
                os.fsync(fd)
            finally:
                os.close(fd)
            if replace:
                os.rename(beside, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            else:
                self._name_first(beside, name)
        except BaseException:
            self._remove(beside)
            raise
        os.fsync(self._fd)

    def _name_first(self, beside: str, name: str) -> None:
        """Rename a temporary file unless the name exists."""
        os.link(beside, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        self._remove(beside)

    def _remove(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._fd)
        except OSError:  # another process has removed it
            pass

    def _clear(self, name: str) -> None:
        """Remove abandoned temporary files of `name`."""
        from time import time

        for other in os.listdir(self._fd):
            if not other.startswith(f"{name}."):
                continue
            try:
                status = os.stat(other, dir_fd=self._fd, follow_symlinks=False)
            except OSError:
                continue
            if time() - status.st_mtime > ABANDONED_SECONDS:
                self._remove(other)


def _require_trusted(status: os.stat_result, path: str, forbidden: int) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        raise Untrusted(f"{path} belongs to user {status.st_uid}")
    if status.st_mode & forbidden:
        raise Untrusted(f"{path} is open to other users, its mode is {S_IMODE(status.st_mode):o}")


def _require_room(length: int) -> None:
    """Raise OSError for a file above RLIMIT_FSIZE, where a write would raise SIGXFSZ."""
    from resource import RLIM_INFINITY, RLIMIT_FSIZE, getrlimit

    limit = getrlimit(RLIMIT_FSIZE)[0]
    if limit not in (RLIM_INFINITY, -1) and length > limit:
        raise OSError(EFBIG, f"{length} bytes are more than a file may have, {limit}")


def key_of_user() -> bytes | None:
    """The KEY_BYTES random bytes that all processes of a user share; None if they cannot be stored.
    None for a program with raised privileges, too: its caller controls the environment, and would
    control the key.
    """
    if is_privileged():
        log.write("debug", "compiled models are not kept: the program has raised privileges")
        return None
    path = folder_of_user()
    try:
        try:
            folder = Folder(path)
        except FileNotFoundError:
            os.makedirs(path, 0o700, exist_ok=True)
            folder = Folder(path)
        with folder:
            return _read_key(folder) or _made_key(folder)
    except Untrusted as error:
        log.warning_once(path, f"compiled models are not kept: {error}")
    except (OSError, ValueError) as error:
        is_debug = not isinstance(error, OSError) or error.errno in ABSENT
        log.write(
            "debug" if is_debug else "warning",
            f"compiled models are not kept: no key can be kept in {path}: {error}",
        )
    return None


def folder_of_user() -> str:
    """The path of the folder for what is kept of a user; it need not exist."""
    base = STATE.get()
    if not base.startswith("/"):
        base = os.path.expanduser("~/.local/state")
    return f"{base}/nnapi_shim"


def _read_key(folder: Folder) -> bytes | None:
    """The stored key; None if it is missing or incomplete."""
    try:
        fd, length = folder.open(KEY, OTHERS_MAY_READ)
    except FileNotFoundError:
        return None
    try:
        key = os.read(fd, KEY_BYTES + 1)
    finally:
        os.close(fd)
    return key if len(key) == KEY_BYTES == length else None


def _made_key(folder: Folder) -> bytes | None:
    """Store a new key; returns it, or the key that another process stored at the same time."""
    key = os.urandom(KEY_BYTES)
    try:
        folder.write(KEY, key, replace=False)
    except FileExistsError:
        other_key = _read_key(folder)
        if other_key is not None:
            return other_key
        folder.write(KEY, key)  # replaces an incomplete key
    return key


def is_privileged() -> bool:
    """Whether the process has more privileges than its caller (setuid or similar)."""
    has_others = os.getuid() != os.geteuid() or os.getgid() != os.getegid()
    return has_others or is_environment_ignored()
