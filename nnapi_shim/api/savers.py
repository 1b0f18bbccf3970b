"""The registry of savers: functions that write a model as a file.

`formats/`, a higher layer, registers its saver here. The package names the module that registers it
(`nnapi_shim._SAVERS`), and the first save imports that module: no layer names a higher one, and a
program that does not save imports no format.
"""

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import Any

from nnapi_shim import _SAVERS

Saver = Callable[[Any, str | PathLike[str], bool], None]
"""save(model, path, overwrite)."""

_registered: list[Saver] = []


def register(saver: Saver) -> None:
    """Make Model.save call this function."""
    _registered.append(saver)


def save(model: object, path: str | PathLike[str], overwrite: bool) -> None:
    """Write a model with the last registered saver."""
    if not _registered:
        import_module(_SAVERS)
    _registered[-1](model, path, overwrite)
