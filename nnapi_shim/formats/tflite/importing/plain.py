"""Lowerings that only hand operands on."""

from collections.abc import Callable

from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing

Lowering = Callable[[Importing, Operator], None]
"""Adds the operations of an operator. Raises BAD_DATA with the reason where there are none."""


def plain(type: str) -> Lowering:
    """An operation with the same operands and nothing more."""

    def lower(graph: Importing, operator: Operator) -> None:
        graph.add(type, graph.operands(operator.inputs), operator)

    return lower
