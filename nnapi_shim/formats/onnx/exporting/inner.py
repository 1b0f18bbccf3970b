"""Nested graphs of ONNX nodes."""

from typing import NamedTuple

from nnapi_shim.formats.graph.builder import Emitted
from nnapi_shim.formats.graph.tensor import Tensor


class Inner(NamedTuple):
    """A branch of an If, or the body of a Loop."""

    name: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    nodes: list[Emitted]
