"""What both kinds of source need: the graphs of a model, in the order in which they are built."""

import re
from typing import Any

from nnapi_shim.api.model import Model
from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import OperandType, OperationType


def graphs_of(model: Model) -> list[GraphView]:
    """All graphs, those that others refer to first; that of the model last, each once.

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
    """A name as part of an identifier; empty if nothing is left of it."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")


def label(operand: OperandView) -> str:
    """What a comment calls an operand, without line ends and what ends comments."""
    name = operand.name or f"operand {operand.index}"
    return re.sub(r"[^\x20-\x7e]|\*/|/\*|\\", "_", name)


def number_text(value: float) -> str:
    """A number that is the same float32 when it is read again."""
    import numpy as np

    return repr(float(str(np.float32(value))))


def operations_as_added(graph: GraphView) -> list[Any]:
    """Operations in the order in which the program added them."""
    return sorted(graph.operations, key=lambda operation: operation.number)
