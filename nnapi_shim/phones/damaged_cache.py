"""A cache folder whose files are damaged."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from nnapi_shim.hal.types import CacheHandles

_KEPT = 64
"""Bytes that are left of each file."""


@contextmanager
def damaged(cache: CacheHandles) -> Iterator[CacheHandles]:
    """A folder with the beginnings of the cached files. Those of the program stay as they are:
    other models may have mapped them.
    """
    with TemporaryDirectory(prefix="nnapi-shim-damaged-") as folder:
        try:
            files = [path for path in Path(cache.directory).iterdir() if path.is_file()]
        except OSError:  # the device refuses the folder
            files = []
        for path in files:
            try:
                with path.open("rb") as file:
                    beginning = file.read(_KEPT)
            except OSError:
                continue
            copy = Path(folder, path.name)
            copy.touch(0o600)
            copy.write_bytes(beginning)
        yield CacheHandles(folder, cache.token)
