"""Devices of installed packages: entry points of the group `nnapi_shim.drivers`.

A package declares them in its metadata, such as `fast = "package.module:Device"`; the name is that
of the device. Importing importlib.metadata takes longer than the start of a program, so this module
reads the files itself, one per installed package.
"""

import os
import sys

from nnapi_shim import log
from nnapi_shim.drivers.adoption import ENTRY_POINT, Found, made, require_name
from nnapi_shim.errors import NnapiError, bad_data
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import Iterator

GROUP = "nnapi_shim.drivers"
_METADATA = (".dist-info", ".egg-info")


def installed() -> list[Found]:
    """The devices of all packages on the module search path, by package and name."""
    devices = []
    for path in _files():
        data = _contents(path)
        if GROUP.encode() not in data:
            continue
        for name, where in _entries(data.decode(errors="replace")):
            try:
                require_name(name)
            except NnapiError as error:
                log.error(f"{path}: {error.message}")
                continue
            devices.append(described(name, where, path))
    return devices


def described(name: str, where: str, path: str) -> Found:
    """The device of an entry point; nothing is imported yet. path: of the file that names it."""
    source = ENTRY_POINT, name, where, path
    return Found(name, path, where, lambda: _load(name, where), source)


def _contents(path: str) -> bytes:
    """The content of a file, or b"" if it is missing. open() would be slower than all the rest."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, os.fstat(file).st_size)
    except OSError:
        return b""
    finally:
        os.close(file)


def _files() -> Iterator[str]:
    """The possible entry-point files of all packages.

    Python's own folders, which contain no packages, are skipped.
    """
    python = ("python{}.{}".format(*sys.version_info), "lib-dynload")
    for folder in dict.fromkeys(sys.path):
        if os.path.basename(folder) in python:
            continue
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in sorted(names):
            if name.endswith(_METADATA):
                yield f"{folder}/{name}/entry_points.txt"


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Name and object of each entry of the group."""
    in_group = False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("["):
            in_group = line == f"[{GROUP}]"
        elif in_group and line and line[0] not in "#;":
            name, _, where = line.partition("=")
            yield name.strip(), where.partition("[")[0].strip()


def _load(name: str, where: str) -> IDevice:
    """Import the object of an entry point and create the device."""
    from nnapi_shim.drivers.versioned.answer import guarded
    from nnapi_shim.modules import import_module

    module_name, _, path = where.partition(":")
    if not module_name or not path:
        raise bad_data(f"{where!r} is not of the form module:object", "driver.entry-point.form")
    maker = guarded(f"import of {module_name}", lambda: import_module(module_name))
    for part in path.split("."):
        if not hasattr(maker, part):
            raise bad_data(f"{module_name} has no {path}", "driver.entry-point.no-object")
        maker = getattr(maker, part)
    return made(maker, where, name=name)
