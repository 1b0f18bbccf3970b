"""What is known of operations as node data of Model Explorer, which colours nodes by it."""

import math
from typing import Any

from model_explorer.node_data_builder import (
    GradientItem,
    GraphNodeData,
    ModelNodeData,
    NodeDataResult,
)

from nnapi_shim.pictures.shades import GRADIENT, Shades


def node_data(shades: Shades, graph_id: str) -> ModelNodeData:
    """Node data for a graph: a gradient for numbers, a colour for each text.

    graph_id: of the graph that `graphs.graph` made.
    """
    results = {}
    for number, value in shades.values.items():
        colour = None if shades.is_numeric else shades.colour(number)
        # The page takes texts as well as the numbers that the package's types have.
        told: Any = value if isinstance(value, str) else _number(value)
        results[str(number)] = NodeDataResult(told, bgColor=colour)
    gradient = [GradientItem(stop, bgColor=colour) for stop, colour in GRADIENT]
    data = GraphNodeData(
        results, name=title(shades), gradient=gradient if shades.is_numeric else []
    )
    return ModelNodeData({graph_id: data})


def _number(value: float) -> float | str:
    """Four digits, which is more than any of the numbers means; JSON has no infinities."""
    return float(f"{value:.4g}") if math.isfinite(value) else str(value)


def title(shades: Shades) -> str:
    """What the page calls it."""
    return f"{shades.title} ({shades.unit})" if shades.unit else shades.title
