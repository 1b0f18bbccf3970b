"""Reports each operation of runs, for those who observe them."""

from collections.abc import Sequence
from threading import local
from time import monotonic_ns
from typing import Any

from nnapi_shim.drivers.observing import report
from nnapi_shim.drivers.reference.prepared_model import GraphRun
from nnapi_shim.errors import Place, Where
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.trampoline import Call

NAME = "nnapi-reference"

_plain = {name: getattr(GraphRun, name) for name in ("_step", "_if", "_while", "_run_graph")}


class _Around(local):
    """The locations of the graphs that a thread runs, outermost first."""

    def __init__(self) -> None:
        self.path: list[str] = []


_around = _Around()


def begin() -> None:
    """Report each operation from now on."""
    for name, method in _REPORTED.items():
        setattr(GraphRun, name, method)


def end() -> None:
    """Report none."""
    for name, method in _plain.items():
        setattr(GraphRun, name, method)


def _location(item: hal.Operation) -> Place:
    return Place("operation", item.number, OperationType(item.type).name)


def _step(self: GraphRun, item: hal.Operation) -> None:
    began = monotonic_ns()
    try:
        _plain["_step"](self, item)
    finally:
        report(NAME, "", _around.path, _location(item), began, monotonic_ns())


def _if(self: GraphRun, item: hal.Operation) -> Call[None]:
    return _controlling(self, item, "_if")


def _while(self: GraphRun, item: hal.Operation) -> Call[None]:
    return _controlling(self, item, "_while")


def _controlling(self: GraphRun, item: hal.Operation, name: str) -> Call[None]:
    began = monotonic_ns()
    _around.path.append(str(_location(item)))
    try:
        yield from _plain[name](self, item)
    finally:
        _around.path.pop()
        report(NAME, "", _around.path, _location(item), began, monotonic_ns())


def _run_graph(self: GraphRun, model_operand: int, inputs: Sequence[Any], word: str) -> Call[Any]:
    path = _around.path
    outside: Where = path[-1]
    path[-1] = f"{outside}, {word}"
    try:
        return (yield from _plain["_run_graph"](self, model_operand, inputs, word))
    finally:
        path[-1] = str(outside)


_REPORTED = {"_step": _step, "_if": _if, "_while": _while, "_run_graph": _run_graph}
