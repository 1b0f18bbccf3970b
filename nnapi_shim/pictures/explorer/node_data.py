"""Values of operations as node data of Model Explorer, which colours nodes."""

import math

from nnapi_shim.pictures.explorer.schema import GraphNodeData, NodeDataResult
from nnapi_shim.pictures.shades import INK, Shades


def node_data(shades: Shades) -> GraphNodeData:
    """Node data for the graph of `graphs.graph`, with the colours of all pictures.

    The page's own gradient begins at the smallest number and not at 0, so it exaggerates small
    differences.
    """
    results = {}
    for number, value in shades.values.items():
        shown = value if isinstance(value, str) else _number(value)
        results[str(number)] = NodeDataResult(shown, shades.colour(number), INK)
    is_text = not shades.is_numeric
    return GraphNodeData(
        results,
        name=title(shades),
        hideInAggregatedStatsTable=is_text,
        hideInChildrenStatsTable=is_text,
    )


def _number(value: float) -> float | str:
    """A number rounded to four digits; infinities as text, because JSON has none."""
    return float(f"{value:.4g}") if math.isfinite(value) else str(value)


def title(shades: Shades) -> str:
    """The title on the page."""
    return f"{shades.title} ({shades.unit})" if shades.unit else shades.title
