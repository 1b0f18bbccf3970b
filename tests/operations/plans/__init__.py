"""Random examples of operations, one file per family: see common.py for what a file holds."""

from importlib import import_module
from typing import Any

from nnapi_shim.operations import FAMILIES


def merged(table: str) -> dict[Any, Any]:
    """A table of all families in one."""
    return {
        key: value
        for family in FAMILIES
        if family != "control_flow"
        for key, value in getattr(import_module(f"{__name__}.{family}"), table, {}).items()
    }
