"""Random examples of operations, one file per family: see common.py for what a file holds."""

from importlib import import_module
from pathlib import Path
from typing import Any

from nnapi_shim.operations import FAMILIES, registry
from tests.operations.plans.common import Planner, elementwise


def merged(table: str) -> dict[Any, Any]:
    """A table of all families in one."""
    return {
        key: value
        for family in FAMILIES
        if Path(__file__).with_name(f"{family}.py").exists()
        for key, value in getattr(import_module(f"{__name__}.{family}"), table, {}).items()
    }


def planners() -> dict[str, Planner]:
    """Operation -> its plan; those that go element by element have one in common."""
    each = {result.type.name: elementwise for result in registry() if result.elementwise}
    return {**each, **merged("PLANS")}
