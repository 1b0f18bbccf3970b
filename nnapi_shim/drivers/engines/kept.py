"""What an engine has compiled, kept in the application's cache folder (setCaching).

A compiled module is a program. So it is sealed with the user's secret key, and one that somebody
else has written, or that is damaged, counts as missing.
"""

from _operator import _compare_digest
from collections.abc import Callable, Sequence
from hashlib import blake2b
from io import FileIO
from struct import pack

from nnapi_shim import log, processors
from nnapi_shim.drivers.cpu.cache.folder import ABSENT, Folder, Untrusted, key_of_user
from nnapi_shim.hal.types import CacheHandles
from nnapi_shim.version import __version__

_SEAL = 32
_KEY = 64


def kept(
    cache: CacheHandles | None,
    about: Sequence[bytes],
    compiled: Callable[[], bytes],
    loads: Callable[[bytes], bool] = lambda module: True,
) -> bytes:
    """The module that is kept for all that it depends on, the processor, too; else what `compiled`
    makes is kept.

    compiled: gives b"" for what cannot be kept. loads: whether the engine takes what was kept,
    which one with another driver may not; else it is compiled and kept again. cache: the
    application's folder and token; None to compile. A folder that cannot be used is no error.
    """
    secret = key_of_user() if cache is not None else None
    if cache is None or secret is None:
        return compiled()
    parts = [cache.token, __version__.encode(), _processor(), *about]
    lengths = pack(f"<{len(parts)}q", *map(len, parts))
    name = blake2b(lengths + b"".join(parts), digest_size=32).hexdigest()
    seal = _Seal(secret, name)
    name = f"nnapi_shim-{name}"
    try:
        with Folder(cache.directory) as folder:
            module = seal.opened(_contents(folder, name))
            if not (module and loads(module)):
                module = compiled()
                if module:
                    _keep(folder, name, seal.closed(module))
            return module
    except Untrusted as error:
        log.warning_once(cache.directory, f"compiled models are not kept: {error}")
    except OSError as error:
        is_debug = error.errno in ABSENT
        log.write("debug" if is_debug else "warning", f"compiled models are not kept: {error}")
    return compiled()


def _processor() -> bytes:
    """What code that is made for this processor depends on."""
    name, features = processors.processor()
    return " ".join([name, *sorted(features)]).encode()


def _contents(folder: Folder, name: str) -> bytes:
    """The contents of a file; b"" if there is none that can be trusted."""
    try:
        file, length = folder.open(name)
    except FileNotFoundError:
        return b""
    except Untrusted as error:
        log.warning(f"{error}; the model is compiled and kept again")
        return b""
    with FileIO(file) as opened:
        return opened.read(length)


def _keep(folder: Folder, name: str, contents: bytes) -> None:
    try:
        folder.write(name, contents)
    except OSError as error:
        log.warning(f"{folder.path}/{name} cannot be written: {error}")


class _Seal:
    """A keyed digest of a module and its name, before the module."""

    def __init__(self, secret: bytes, name: str) -> None:
        self._key = blake2b(secret, digest_size=_KEY, person=b"engines").digest()
        self._name = name.encode()

    def closed(self, module: bytes) -> bytes:
        """The contents of a file."""
        return self._of(module) + module

    def opened(self, contents: bytes) -> bytes:
        """The module in a file; b"" if it is damaged or foreign."""
        seal, module = contents[:_SEAL], contents[_SEAL:]
        if contents and not _compare_digest(seal, self._of(module)):
            log.warning("a compiled model in the cache is damaged, or another's; it is made again")
            return b""
        return module

    def _of(self, module: bytes) -> bytes:
        return blake2b(self._name + module, digest_size=_SEAL, key=self._key).digest()
