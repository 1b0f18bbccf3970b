"""The registry of savers: functions that write a model as a file, or for an engine.

`formats/`, a higher layer than `api/` and `drivers/`, registers them here. The package sets the
names of the modules that do so, and the first save imports one: no layer names a higher one, and a
program that does not save imports no format.
"""

TYPE_CHECKING = False  # the package imports this module in every C program: no typing

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from typing import Any, Protocol

    class Exchange(Protocol):
        """Writes models of the HAL for engines (formats/*/exchange.py)."""

        def reasons(
            self, model: Any, declined: Callable[[Any], str], any_size: bool = False
        ) -> list[str]:
            """Why each operation of the main graph cannot be written; "" if it can.

            declined: the reason why the engine does not compute a node, or "". any_size: whether
            the engine takes constants of more than 2 GB, which are in no file.
            """

        def written(
            self, model: Any, external: dict[str, Any] | None = None
        ) -> tuple[bytes, list[str], list[str]]:
            """The model in the format, and the names of its inputs and outputs.

            external: gets the constants of a model above the limit of a file, as arrays by the
            names that the file has for them; None if the engine does not take them.
            """

    Saver = Callable[[Any, str | PathLike[str], bool], None]

module = ""
"""The module that registers a saver."""

picture_module = ""
"""The module that registers how models are drawn, for api/drawing.py."""

exchange_modules: "dict[str, str]" = {}
"""Suffix of a format -> the module that registers how models are written for engines, for
drivers/engines.
"""

_registered: "list[Saver]" = []
_exchanges: "dict[str, Exchange]" = {}


def register(saver: "Saver") -> None:
    """Make Model.save call save(model, path, overwrite)."""
    _registered.append(saver)


def save(model: object, path: "str | PathLike[str]", overwrite: bool) -> None:
    """Write a model with the last registered saver."""
    if not _registered:
        from nnapi_shim.modules import import_module

        import_module(module)
    _registered[-1](model, path, overwrite)


def register_exchange(suffix: str, exchange: "Exchange") -> None:
    """Set what writes models in a format for engines."""
    _exchanges[suffix] = exchange


def exchange(suffix: str = ".onnx") -> "Exchange":
    """What writes models in a format for engines: the last one registered."""
    if suffix not in _exchanges:
        from nnapi_shim.modules import import_module

        import_module(exchange_modules[suffix])
    return _exchanges[suffix]
