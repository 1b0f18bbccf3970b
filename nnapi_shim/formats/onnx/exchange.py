"""Models of the HAL as .onnx in memory, for the engines that read it (drivers/engines)."""

from collections.abc import Callable
from typing import Any

from nnapi_shim import savers
from nnapi_shim.api.view import GraphView
from nnapi_shim.errors import bad_data
from nnapi_shim.extras import install_command
from nnapi_shim.formats.graph.reading import read_graph
from nnapi_shim.formats.graph.tensor import ExportGraph, Node
from nnapi_shim.formats.onnx.exporting.exporter import expressed_graph
from nnapi_shim.formats.onnx.exporting.table import OnnxBuilder
from nnapi_shim.formats.onnx.exporting.unsigned import made_unsigned
from nnapi_shim.hal.types import Model
from nnapi_shim.runtime.referenced import Part

Declined = Callable[[Any], str]
"""The reason why an engine does not compute a node, or ""."""


def reasons(model: Model, declined: Declined) -> list[str]:
    """Why each operation of the main graph cannot be written, or "" if it can."""
    graph = read_graph(_view(model))
    builder = OnnxBuilder()
    foreign = iter(graph.foreign)
    nodes = {node.number: node for node in graph.nodes}
    return [
        next(foreign) if node is None else _reason(builder, node, declined)
        for node in [nodes.get(item.number) for item in model.main.operations]
    ]


def _reason(builder: OnnxBuilder, node: Node, declined: Declined) -> str:
    before = len(builder.refusals)
    try:
        builder.try_to_express(node)
    except (
        ArithmeticError,
        IndexError,
        ValueError,
    ) as error:  # dimensions with which every computation fails
        return f"its operands do not fit together ({error})"
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


def written(model: Model) -> tuple[bytes, list[str], list[str]]:
    """The .onnx file of a model, and the names of its inputs and outputs.

    Raises BAD_DATA as `export`.
    """
    try:
        from nnapi_shim.formats.onnx.exporting.writing import written_with_names
    except ImportError as error:
        command = install_command("onnx")
        raise bad_data(
            f"the package {error.name} is missing; `{command}` installs it",
            "export.package-missing",
        ) from None
    graph, nodes = expressed_graph(read_graph(_view(model)))
    made_unsigned(nodes, graph)
    return written_with_names(graph, nodes)


def _view(model: Model) -> GraphView:
    """A model as the exporters read it."""
    parts: list[Part] = []
    for graph in model.referenced:  # each refers to those before it
        parts.append(Part(model._replace(main=graph, referenced=()), parts))
    return GraphView(Part(model._replace(referenced=()), parts))


class _Onnx:
    """savers.Exchange."""

    reasons = staticmethod(reasons)
    written = staticmethod(written)


savers.register_exchange(_Onnx())
