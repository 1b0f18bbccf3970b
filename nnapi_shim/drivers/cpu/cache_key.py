"""The key of a user's cached models: random bytes in a file that nobody else can read.

Without it, whoever can put a file into a cache folder could have kernels read and write anywhere: a
compiled model is a program. It is not in the cache folder, so what came with a folder from
somewhere else, in an archive for example, is not believed.
"""

import os

from nnapi_shim import log
from nnapi_shim.drivers.cpu.cache_folder import ABSENT, OTHERS_MAY_READ, Folder, Untrusted
from nnapi_shim.drivers.cpu.digest import KEY_BYTES
from nnapi_shim.settings import STATE, is_environment_ignored

NAME = "cache.key"


def key_of_user() -> bytes | None:
    """KEY_BYTES random bytes, the same for all processes of a user; None where there is no place
    for them, or where the program has privileges that its caller lacks: the environment is the
    caller's then, and so would be the key.
    """
    if _is_privileged():
        log.write("debug", "compiled models are not kept: the program has raised privileges")
        return None
    path = _folder()
    try:
        try:
            folder = Folder(path)
        except FileNotFoundError:
            os.makedirs(path, 0o700, exist_ok=True)
            folder = Folder(path)
        with folder:
            return _read(folder) or _made(folder)
    except Untrusted as found:
        log.warning_once(path, f"compiled models are not kept: {found}")
    except (OSError, ValueError) as error:
        quiet = not isinstance(error, OSError) or error.errno in ABSENT
        log.write(
            "debug" if quiet else "warning",
            f"compiled models are not kept: no key can be kept in {path}: {error}",
        )
    return None


def _folder() -> str:
    base = STATE.get()
    if not base.startswith("/"):
        base = os.path.expanduser("~/.local/state")
    return f"{base}/nnapi_shim"


def _read(folder: Folder) -> bytes | None:
    """The key; None where there is none, or half of one."""
    try:
        fd, length = folder.open(NAME, OTHERS_MAY_READ)
    except FileNotFoundError:
        return None
    try:
        found = os.read(fd, KEY_BYTES + 1)
    finally:
        os.close(fd)
    return found if len(found) == KEY_BYTES == length else None


def _made(folder: Folder) -> bytes | None:
    """A new key, or the one that another process has made meanwhile."""
    made = os.urandom(KEY_BYTES)
    try:
        folder.write(NAME, made, replace=False)
    except FileExistsError:
        found = _read(folder)
        if found is not None:
            return found
        folder.write(NAME, made)  # half of a key
    return made


def _is_privileged() -> bool:
    """Whether the program was started with more rights than its caller has, or has taken on some
    of its own since.
    """
    has_others = os.getuid() != os.geteuid() or os.getgid() != os.getegid()
    return has_others or is_environment_ignored()
