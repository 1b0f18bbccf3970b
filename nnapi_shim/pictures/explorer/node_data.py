"""Values of operations as node data of Model Explorer, which colours nodes."""

import math
from typing import Any

from model_explorer.node_data_builder import GraphNodeData, ModelNodeData, NodeDataResult

from nnapi_shim.pictures.shades import INK, Shades


def node_data(shades: Shades, graph_id: str) -> ModelNodeData:
    """Node data for a graph, with the colours of all pictures.

    The page's own gradient begins at the smallest number and not at 0, so it exaggerates small
    differences. graph_id: of the graph from `graphs.graph`.
    """
    results = {}
    for number, value in shades.values.items():
        # The page accepts texts, although the package's types declare numbers.
        shown: Any = value if isinstance(value, str) else _number(value)
        results[str(number)] = NodeDataResult(shown, shades.colour(number), INK)
    is_text = not shades.is_numeric
    data = GraphNodeData(
        results,
        name=title(shades),
        hideInAggregatedStatsTable=is_text,
        hideInChildrenStatsTable=is_text,
    )
    return ModelNodeData({graph_id: data})


def _number(value: float) -> float | str:
    """A number rounded to four digits; infinities as text, because JSON has none."""
    return float(f"{value:.4g}") if math.isfinite(value) else str(value)


def title(shades: Shades) -> str:
    """The title on the page."""
    return f"{shades.title} ({shades.unit})" if shades.unit else shades.title
