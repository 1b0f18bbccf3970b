"""Pictures for api/: small ones of models in notebooks, and flame graphs."""

import re
from collections.abc import Collection

from nnapi_shim.api import drawing
from nnapi_shim.api.view import GraphView
from nnapi_shim.pictures.flame import flame_graph
from nnapi_shim.pictures.shades import Shades
from nnapi_shim.pictures.svg import graph_svg

MOST = 500
"""The most operations of a graph that is drawn."""
SCALE = 0.7


def draw(graph: GraphView, values: drawing.Values | None, states: Collection[int]) -> str:
    """SVG in 0.7 of its size, or "" for a graph with too many operations."""
    if len(graph.operations) > MOST:
        return ""
    shades = None
    if values is not None:
        shades = Shades("value", values.title, values.unit, values.values, values.notes)
    text = graph_svg(graph, shades, states=states)
    return re.sub(
        r'(width|height)="(\d+)"', lambda match: f'{match[1]}="{_scaled(match[2])}"', text, count=2
    )


def _scaled(size: str) -> str:
    return f"{float(size) * SCALE:.0f}"


drawing.register(draw, flame_graph)
