"""The registry of savers: functions that write a model as a file.

`formats/`, a layer above, registers its saver here. The top of the package names the module that
does so (`nnapi_shim._SAVERS`), and the first save imports it: no layer names one above it, and a
program that saves nothing imports no format.
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
    """Let Model.save call this function from now on."""
    _registered.append(saver)


def save(model: object, path: str | PathLike[str], overwrite: bool) -> None:
    """Write a model with the saver that was registered last."""
    if not _registered:
        import_module(_SAVERS)
    _registered[-1](model, path, overwrite)
