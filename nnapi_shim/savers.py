"""The registry of savers: functions that write a model as a file.

`formats/`, a higher layer than `api/`, registers its saver here. The package sets the name of the
module that does so, and the first save imports it: no layer names a higher one, and a program that
does not save imports no format.
"""

from importlib import import_module

TYPE_CHECKING = False  # the package imports this module in every C program: no typing

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from typing import Any

    Saver = Callable[[Any, str | PathLike[str], bool], None]

module = ""
"""The module that registers a saver."""

_registered: "list[Saver]" = []


def register(saver: "Saver") -> None:
    """Make Model.save call save(model, path, overwrite)."""
    _registered.append(saver)


def save(model: object, path: "str | PathLike[str]", overwrite: bool) -> None:
    """Write a model with the last registered saver."""
    if not _registered:
        import_module(module)
    _registered[-1](model, path, overwrite)
