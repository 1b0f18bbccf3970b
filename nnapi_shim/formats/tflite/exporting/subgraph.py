"""What is to be written: subgraphs of emitted operators."""

from typing import NamedTuple

from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.tensor import Tensor

RESOURCE = "RESOURCE"
"""In place of an operand type: the handle of a variable."""


class Subgraph(NamedTuple):
    """A subgraph of the file; the first one is the model."""

    name: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    operators: list[Emitted]
