"""Subgraphs of emitted operators."""

from typing import NamedTuple

from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.tensor import Tensor

RESOURCE = "RESOURCE"
"""The type of a resource variable's handle, used in place of an operand type."""


class Subgraph(NamedTuple):
    """A subgraph of the file; the first one is the main graph."""

    name: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    operators: list[Emitted]
