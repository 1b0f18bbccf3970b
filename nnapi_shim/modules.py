"""Finds and loads the modules of this package with few calls, in a program whose Python the library
started.

importlib's PathFinder lists folders, tries the suffixes of libraries and reads a file in six calls,
all from Python. This takes a third of the time, for each of the hundred modules that a first result
needs. What it does not know, a module without current bytecode included, is left to importlib.
"""

import marshal
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader, cache_from_source
from _imp import _fix_co_filename  # type: ignore[attr-defined]
from posix import O_CLOEXEC, O_RDONLY, close, fstat, pread, stat, stat_result
from posix import open as open_file

from nnapi_shim.hints import Any, Sequence

PACKAGE = f"{__package__}."
_BY_TIME = MAGIC_NUMBER + bytes(4)
"""How bytecode begins whose source has the time and the size that follow."""
_HEAD_BYTES = 16
_BESIDE = sys.pycache_prefix is None
"""Whether bytecode is in folders beside the sources; PYTHONPYCACHEPREFIX names another one."""
_CACHE, _, _SUFFIX = (cache_from_source("*.py") if _BESIDE else "").partition("*")
"""How their names, relative to the folder of the source, begin and end."""


class SourceLoader(SourceFileLoader):
    """A SourceFileLoader that reads current bytecode itself.

    source: the status of the source file, which counts for the first load.
    """

    def __init__(self, name: str, path: str, cached: str, source: stat_result) -> None:
        super().__init__(name, path)
        self.cached = cached
        self._source: stat_result | None = source

    def get_code(self, fullname: str) -> Any:
        """The code object of the module."""
        code = self._from_bytecode()
        return super().get_code(fullname) if code is None else code

    def _from_bytecode(self) -> Any:
        """The code in the file of bytecode; None unless it is of this Python and of the source, by
        its time and size.
        """
        source, self._source = self._source, None
        try:
            if source is None:
                source = stat(self.path)
            file = open_file(self.cached, O_RDONLY | O_CLOEXEC)
        except OSError:
            return None
        try:
            size = fstat(file).st_size
            content = pread(file, size, 0)
        except OSError:
            return None
        finally:
            close(file)
        head = _BY_TIME + _word(source.st_mtime) + _word(source.st_size)
        if len(content) != size or content[:_HEAD_BYTES] != head:
            return None
        code = marshal.loads(memoryview(content)[_HEAD_BYTES:])
        _fix_co_filename(code, self.path)  # it may have been compiled elsewhere
        return code


def import_module(name: str) -> Any:
    """The module of this name, as importlib.import_module gives it; importing `importlib` itself
    takes 0.7 ms.
    """
    __import__(name)
    return sys.modules[name]


def _word(value: float) -> bytes:
    return (int(value) & 0xFFFFFFFF).to_bytes(4, "little")


def find(
    name: str, path: Sequence[str] | None, loader: type[SourceLoader] = SourceLoader
) -> ModuleSpec | None:
    """The spec of a module of this package, as importlib makes it; None for any other.

    path: the folders of the package that the module is in.
    """
    if not _BESIDE or path is None or len(path) != 1 or not name.startswith(PACKAGE):
        return None
    stem = name.rpartition(".")[2]
    package = f"{path[0]}/{stem}"
    for folder, file, folders in ((path[0], stem, None), (package, "__init__", [package])):
        source = f"{folder}/{file}.py"
        try:
            status = stat(source)
        except OSError:
            continue
        cached = f"{folder}/{_CACHE}{file}{_SUFFIX}"
        spec = ModuleSpec(name, loader(name, source, cached, status), origin=source)
        spec.submodule_search_locations = folders
        spec.cached = cached
        spec.has_location = True
        return spec
    return None
