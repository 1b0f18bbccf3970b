"""The registry of the function that draws graphs, for notebooks.

`pictures/`, a higher layer, registers it here. The package names the module that registers it
(`savers.picture_module`), and the first picture imports that module.
"""

from collections.abc import Callable, Collection, Mapping
from importlib import import_module

from nnapi_shim import savers
from nnapi_shim.api.view import GraphView
from nnapi_shim.hints import NamedTuple


class Values(NamedTuple):
    """What colours operations: the number of an operation -> a number with a unit or a text.

    title: a description. notes: texts of operations without a value.
    """

    title: str
    values: Mapping[int, float | str]
    unit: str = ""
    notes: Mapping[int, str] = {}


Drawer = Callable[[GraphView, Values | None, Collection[int]], str]
"""draw(graph, values, states): SVG; states: operands that are carried from run to run."""

FlameDrawer = Callable[[Mapping[tuple[str, ...], int]], str]
"""draw_flames(stacks): SVG; stacks: names from the outermost to the innermost -> nanoseconds."""

_registered: list[tuple[Drawer, FlameDrawer]] = []


def register(draw_graph: Drawer, draw_flame_graph: FlameDrawer) -> None:
    """Make these functions draw graphs and flame graphs."""
    _registered.append((draw_graph, draw_flame_graph))


def draw(graph: GraphView, values: Values | None = None, states: Collection[int] = ()) -> str:
    """A small picture of the main graph of a finished model as SVG; "" if it is too large."""
    return _drawers()[0](graph, values, states)


def draw_flames(stacks: Mapping[tuple[str, ...], int]) -> str:
    """A flame graph as SVG."""
    return _drawers()[1](stacks)


def _drawers() -> tuple[Drawer, FlameDrawer]:
    if not _registered:
        import_module(savers.picture_module)
    return _registered[-1]
