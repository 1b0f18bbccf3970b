"""The graphs of a model in the order in which source code builds them."""

import re
from typing import Any

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperandType, OperationType


def graphs_of(model: Model) -> list[GraphView]:
    """All graphs, each once: the models of IF and WHILE first, the main model last.

    Raises BAD_DATA for operands and operations of extensions, which have no names in source.
    """
    graphs: list[GraphView] = []
    waiting: list[tuple[GraphView, bool]] = [(model.graph, False)]
    while waiting:
        graph, is_done = waiting.pop()
        if graph in graphs:
            continue
        if is_done:
            graphs.append(graph)
            continue
        _require_plain(graph)
        waiting.append((graph, True))
        inner = [operand.subgraph for operand in graph.operands]
        waiting += [(other, False) for other in inner if other is not None]
    return graphs


def _require_plain(graph: GraphView) -> None:
    for operand in graph.operands:
        if not isinstance(operand.type, OperandType):
            raise bad_data(
                f"operand {operand.index} has a type of an extension",
                "export.source.extension-operand",
            )
    for operation in graph.operations:
        if not isinstance(operation.type, OperationType):
            raise bad_data(
                f"operation {operation.number} is one of an extension",
                "export.source.extension-operation",
            )


def words(text: str) -> str:
    """A name as part of an identifier; "" if no valid character remains."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")


def label(operand: OperandView) -> str:
    """The name of an operand for a comment, without line breaks and comment ends."""
    name = operand.name or f"operand {operand.index}"
    return re.sub(r"[^\x20-\x7e]|\*/|/\*|\\", "_", name)


def number_text(value: float) -> str:
    """A decimal number that parses to the same float32."""
    import numpy as np

    return repr(float(str(np.float32(value))))


def operations_as_added(graph: GraphView) -> list[Any]:
    """Operations in the order in which the program added them."""
    return sorted(graph.operations, key=lambda operation: operation.number)
