"""Lowerings to the NNAPI operation with the same operands."""

from collections.abc import Callable

from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing

Lowering = Callable[[Importing, Operator], None]
"""Adds the operations of an operator. Raises BAD_DATA with the reason if it cannot."""


def plain(type: str) -> Lowering:
    """A lowering to the operation with the same operands."""

    def lower(graph: Importing, operator: Operator) -> None:
        graph.add(type, graph.operands(operator.inputs), operator)

    return lower
