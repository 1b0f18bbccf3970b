"""Keeps a compiled model in as many files as a device of a profile asks for.

On Android a device says how many files it needs for a compiled model, and reads and writes those.
The device of this library that computes keeps one file. It gets a folder of its own here, and the
program's folder gets the file in parts.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

from nnapi_shim import log
from nnapi_shim.drivers.cpu.cache.folder import Folder, Untrusted
from nnapi_shim.hal.types import CacheHandles, Model
from nnapi_shim.phones.profile import CacheFiles

_DIGEST_BYTES = 32


@contextmanager
def in_parts(
    cache: CacheHandles, files: CacheFiles, device: str, model: Model
) -> Iterator[CacheHandles | None]:
    """A cache folder with the file that the parts make, if all of them are there; afterwards the
    program's folder has the parts of the file that is in it then.

    It is the program's folder itself if that cannot be used, of which the computing device tells;
    None if there is no room for another folder.
    """
    try:
        folder = Folder(cache.directory)
    except (OSError, ValueError, Untrusted):
        yield cache
        return
    names = _names(cache.token, files, device, model)
    with folder, ExitStack() as stack:
        before = _joined(folder, names)
        try:
            own = stack.enter_context(TemporaryDirectory(prefix="nnapi-shim-parts-"))
            inner = stack.enter_context(Folder(own))
            if before:
                name, _, contents = before.partition(b"\n")
                inner.write(name.decode(), contents)
        except OSError as error:
            log.warning(f"compiled models are not kept: {error}")
            yield None
            return
        yield CacheHandles(own, cache.token)
        _keep(folder, names, inner, before)


def _keep(folder: Folder, names: list[str], inner: Folder, before: bytes) -> None:
    """Write the file of the computing device in parts, if it is another one now."""
    try:
        for path in Path(inner.path).iterdir():
            whole = path.name.encode() + b"\n" + _contents(inner, path.name)
            if whole != before:
                _split(folder, names, whole)
    except OSError as error:
        log.warning(f"{folder.path}: the compiled model is not kept: {error}")


def _names(token: bytes, files: CacheFiles, device: str, model: Model) -> list[str]:
    """The names of the files, the same for each compilation of the model on the device."""
    described = (device, model.main, model.referenced, model.relax_computation_float32_to_float16)
    digest = blake2b(token + repr(described).encode(), digest_size=_DIGEST_BYTES).hexdigest()
    kinds = [f"model{at}" for at in range(files.model)] + [f"data{at}" for at in range(files.data)]
    return [f"nnapi_shim-{digest}-{kind}" for kind in kinds]


def _contents(folder: Folder, name: str) -> bytes:
    fd, length = folder.open(name)
    with os.fdopen(fd, "rb") as file:
        return file.read(length)


def _joined(folder: Folder, names: list[str]) -> bytes:
    """The name of the file of the computing device, a line end and its contents; nothing if a part
    is missing or damaged.
    """
    try:
        parts = b"".join([_contents(folder, name) for name in names])
    except FileNotFoundError:
        return b""
    except (OSError, Untrusted) as error:
        log.warning(f"{error}; the model is compiled and kept again")
        return b""
    digest, whole = parts[:_DIGEST_BYTES], parts[_DIGEST_BYTES:]
    if digest != _digest(whole):
        path = Path(folder.path, names[0])
        log.warning(f"{path}, or a file that belongs to it, is damaged; the model is compiled")
        return b""
    return whole


def _split(folder: Folder, names: list[str], whole: bytes) -> None:
    """Write the parts, all or none of them. Raises OSError."""
    contents = _digest(whole) + whole
    size = -(-len(contents) // len(names))
    try:
        for at, name in enumerate(names):
            folder.write(name, contents[at * size : (at + 1) * size])
    except OSError:
        for name in names:
            with suppress(OSError):
                Path(folder.path, name).unlink()
        raise


def _digest(whole: bytes) -> bytes:
    return blake2b(whole, digest_size=_DIGEST_BYTES).digest()
