"""Source of a module with one text replaced, in the place of what is loaded."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import Any

import pytest

from nnapi_shim.drivers.cpu.passes.graph.pattern import Op


@contextmanager
def mutated(name: str, old: str, new: str) -> Iterator[None]:
    """A module in which `new` stands for `old`, which occurs once: its functions and methods have
    the code of the changed source meanwhile, whoever refers to them, and its numbers and patterns
    the values.
    """
    module = import_module(name)
    source = inspect.getsource(module)
    if source.count(old) != 1:
        raise AssertionError(f"{name} has {source.count(old)} times, not once: {old}")
    space: dict[str, Any] = {"__name__": name, "__file__": module.__file__}
    exec(compile(source.replace(old, new), str(module.__file__), "exec"), space)
    with pytest.MonkeyPatch.context() as patch:
        for key, other in space.items():
            ours = vars(module).get(key)
            if isinstance(other, int | float | tuple | frozenset | Op):
                patch.setattr(module, key, other)
            elif getattr(other, "__module__", None) == name:
                _take_code(patch, ours, other)
        yield


def _take_code(patch: pytest.MonkeyPatch, ours: Any, other: Any) -> None:
    """Give a function, or those of a class, the code of another one."""
    if isinstance(other, FunctionType):
        patch.setattr(ours, "__code__", other.__code__)
    elif isinstance(other, type):
        for key, function in vars(other).items():
            mine = vars(ours).get(key)
            if isinstance(function, property):
                function, mine = function.fget, getattr(mine, "fget", None)
            if isinstance(function, FunctionType) and isinstance(mine, FunctionType):
                patch.setattr(mine, "__code__", function.__code__)
