"""What is known of operations as node data of Model Explorer, which colours nodes by it."""

import math
from typing import Any

from model_explorer.node_data_builder import GraphNodeData, ModelNodeData, NodeDataResult

from nnapi_shim.pictures.shades import INK, Shades


def node_data(shades: Shades, graph_id: str) -> ModelNodeData:
    """Node data for a graph, with the colours that all pictures have.

    A gradient of the page's own would begin at the smallest number and not at 0, and make much of
    small differences. graph_id: of the graph that `graphs.graph` made.
    """
    results = {}
    for number, value in shades.values.items():
        # The page takes texts as well as the numbers that the package's types have.
        told: Any = value if isinstance(value, str) else _number(value)
        results[str(number)] = NodeDataResult(told, shades.colour(number), INK)
    is_text = not shades.is_numeric
    data = GraphNodeData(
        results,
        name=title(shades),
        hideInAggregatedStatsTable=is_text,
        hideInChildrenStatsTable=is_text,
    )
    return ModelNodeData({graph_id: data})


def _number(value: float) -> float | str:
    """Four digits, which is more than any of the numbers means; JSON has no infinities."""
    return float(f"{value:.4g}") if math.isfinite(value) else str(value)


def title(shades: Shades) -> str:
    """What the page calls it."""
    return f"{shades.title} ({shades.unit})" if shades.unit else shades.title
