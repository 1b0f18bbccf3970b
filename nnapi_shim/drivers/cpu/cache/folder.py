"""Folders that hold what is believed later: who may write there, and files that appear as a whole;
and in one of them the key of a user's cached models, random bytes that nobody else can read.

Everything goes by the folder's descriptor, so that no name is looked up twice, and rules are about
what was opened: an owner who is this process's effective user or root, and nobody else who may
write. Another process of the same user is not kept out; it could do anything else as well.

Without the key, whoever can put a file into a cache folder could have kernels read and write
anywhere: a compiled model is a program. It is not in the cache folder, so what came with a folder
from somewhere else, in an archive for example, is not believed.

The key has no module of its own: to import one takes a twenty-fifth of what loading a model does.
"""

import os
from errno import EACCES, EFBIG, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, EPERM, EROFS
from stat import S_IMODE, S_ISREG
from types import TracebackType

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
"""Errors of a folder that is not there, or not for this process: nothing is wrong with that."""

ABANDONED_SECONDS = 600
"""Age at which a file that is being written belongs to nobody any more."""

_CLOSED = os.O_NOFOLLOW | os.O_CLOEXEC


class Untrusted(Exception):  # noqa: N818 (a finding)
    """Somebody else may have written what is there; the message says what it is."""


class Folder:
    """An open folder, closed by `with`. Raises Untrusted for one that others may write to."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = above_standard(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        try:
            found = os.fstat(self._fd)
            # The process's own group may write there, as it may where umask is 002: what is in the
            # files is another matter.
            is_own_group = found.st_gid == os.getegid()
            _require_trusted(found, path, ALL_MAY_WRITE if is_own_group else OTHERS_MAY_WRITE)
        except BaseException:
            os.close(self._fd)
            raise

    def __enter__(self) -> "Folder":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the folder go."""
        os.close(self._fd)

    def open(self, name: str, forbidden: int = OTHERS_MAY_WRITE) -> tuple[int, int]:
        """Descriptor and length of a file. Raises Untrusted for what is no plain file, or has one
        of the `forbidden` bits of its mode.
        """
        path = f"{self.path}/{name}"
        try:
            # A pipe in its place does not make this wait.
            fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _CLOSED, dir_fd=self._fd)
        except OSError as error:
            if error.errno == ELOOP:
                raise Untrusted(f"{path} is a symbolic link") from None
            raise
        fd = above_standard(fd)
        try:
            found = os.fstat(fd)
            if not S_ISREG(found.st_mode):
                raise Untrusted(f"{path} is no plain file")
            _require_trusted(found, path, forbidden)
        except BaseException:
            os.close(fd)
            raise
        return fd, found.st_size

    def write(self, name: str, contents: bytes, replace: bool = True) -> None:
        """Write a file that others see as a whole or not at all, and that outlasts a power cut.

        replace: whether one that is there gives way; otherwise it stays, and FileExistsError is
            raised. Raises OSError, and leaves nothing then.
        """
        _require_room(len(contents))
        self._clear(name)
        beside = f"{name}.{os.urandom(12).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSED
        fd = above_standard(os.open(beside, flags, PRIVATE, dir_fd=self._fd))
        try:
            try:
                os.fchmod(fd, PRIVATE)  # an umask may have taken the owner's rights
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
        """Give a file its name unless there is one of that name."""
        os.link(beside, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        self._remove(beside)

    def _remove(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._fd)
        except OSError:  # another process does the same
            pass

    def _clear(self, name: str) -> None:
        """Remove what writers left beside a file that did not come to their end."""
        from time import time

        for other in os.listdir(self._fd):
            if not other.startswith(f"{name}."):
                continue
            try:
                found = os.stat(other, dir_fd=self._fd, follow_symlinks=False)
            except OSError:
                continue
            if time() - found.st_mtime > ABANDONED_SECONDS:
                self._remove(other)


def _require_trusted(found: os.stat_result, path: str, forbidden: int) -> None:
    if found.st_uid not in (os.geteuid(), 0):
        raise Untrusted(f"{path} belongs to user {found.st_uid}")
    if found.st_mode & forbidden:
        raise Untrusted(f"{path} is open to other users, its mode is {S_IMODE(found.st_mode):o}")


def _require_room(length: int) -> None:
    """Raise OSError for a file beyond the limit of the process, which a signal would end."""
    from resource import RLIM_INFINITY, RLIMIT_FSIZE, getrlimit

    limit = getrlimit(RLIMIT_FSIZE)[0]
    if limit not in (RLIM_INFINITY, -1) and length > limit:
        raise OSError(EFBIG, f"{length} bytes are more than a file may have, {limit}")


def key_of_user() -> bytes | None:
    """KEY_BYTES random bytes, the same for all processes of a user; None where there is no place
    for them, or where the program has privileges that its caller lacks: the environment is the
    caller's then, and so would be the key.
    """
    if _is_privileged():
        log.write("debug", "compiled models are not kept: the program has raised privileges")
        return None
    path = _folder_of_key()
    try:
        try:
            folder = Folder(path)
        except FileNotFoundError:
            os.makedirs(path, 0o700, exist_ok=True)
            folder = Folder(path)
        with folder:
            return _read_key(folder) or _made_key(folder)
    except Untrusted as found:
        log.warning_once(path, f"compiled models are not kept: {found}")
    except (OSError, ValueError) as error:
        quiet = not isinstance(error, OSError) or error.errno in ABSENT
        log.write(
            "debug" if quiet else "warning",
            f"compiled models are not kept: no key can be kept in {path}: {error}",
        )
    return None


def _folder_of_key() -> str:
    base = STATE.get()
    if not base.startswith("/"):
        base = os.path.expanduser("~/.local/state")
    return f"{base}/nnapi_shim"


def _read_key(folder: Folder) -> bytes | None:
    """The key; None where there is none, or half of one."""
    try:
        fd, length = folder.open(KEY, OTHERS_MAY_READ)
    except FileNotFoundError:
        return None
    try:
        found = os.read(fd, KEY_BYTES + 1)
    finally:
        os.close(fd)
    return found if len(found) == KEY_BYTES == length else None


def _made_key(folder: Folder) -> bytes | None:
    """A new key, or the one that another process has made meanwhile."""
    made = os.urandom(KEY_BYTES)
    try:
        folder.write(KEY, made, replace=False)
    except FileExistsError:
        found = _read_key(folder)
        if found is not None:
            return found
        folder.write(KEY, made)  # half of a key
    return made


def _is_privileged() -> bool:
    """Whether the program was started with more rights than its caller has, or has taken on some
    of its own since.
    """
    has_others = os.getuid() != os.geteuid() or os.getgid() != os.getegid()
    return has_others or is_environment_ignored()
