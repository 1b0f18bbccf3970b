"""Models of the HAL for engines: as exporters read them, and what these say of each operation."""

from collections.abc import Callable
from typing import Any

from nnapi_shim.api.view import GraphView
from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.reading import read_graph
from nnapi_shim.formats.graph.tensor import ExportGraph, Node
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import Model
from nnapi_shim.runtime.referenced import Part

Declined = Callable[[Any], str]
"""The reason why an engine does not compute a node, or ""."""


def reasons(
    model: Model,
    builder: ExportBuilder,
    declined: Declined,
    any_size: bool = False,
    needs_rank: str = "",
) -> list[str]:
    """Why each operation of the main graph cannot be written, or "" if it can.

    builder: a new one of the format. any_size: as in read_graph. needs_rank: the reason for an
    output of unknown rank, as it may leave the model; "" if the format takes it.
    """
    graph = read_graph(view_of(model), any_size)
    foreign = iter(graph.foreign)
    nodes = {node.number: node for node in graph.nodes}
    return [
        next(foreign)
        if node is None
        else _reason(builder, node, declined) or (needs_rank if _has_no_rank(node) else "")
        for node in [nodes.get(item.number) for item in model.main.operations]
    ]


def _has_no_rank(node: Node) -> bool:
    return any(not t.dimensions and t.type not in SCALARS for t in node.outputs)


def _reason(builder: ExportBuilder, node: Node, declined: Declined) -> str:
    before = len(builder.refusals)
    try:
        builder.try_to_express(node)
    except (
        ArithmeticError,
        IndexError,
        ValueError,
    ) as error:  # dimensions with which every computation fails
        return f"its operands do not fit together ({error})"
    except AttributeError:  # of None, and every computation fails, too
        return "its operands do not fit together: one is omitted that another one needs"
    refused = builder.refusals[before:]
    prefix = f"operation {node.number} {node.kind}: "
    return "; ".join(text.removeprefix(prefix) for text in refused) or _declined(node, declined)


def _declined(node: Node, declined: Declined) -> str:
    """The reason of the engine, for the operation or one of its graphs."""
    reason = declined(node)
    inner = [
        item
        for value in node.named.values()
        if isinstance(value, ExportGraph)
        for item in value.nodes
    ]
    for item in inner:
        reason = reason or _declined(item, declined)
    return reason


def view_of(model: Model) -> GraphView:
    """A model as the exporters read it."""
    parts: list[Part] = []
    for graph in model.referenced:  # each refers to those before it
        parts.append(Part(model._replace(main=graph, referenced=()), parts))
    return GraphView(Part(model._replace(referenced=()), parts))
