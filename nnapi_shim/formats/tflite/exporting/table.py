"""The rule of each operation for TensorFlow Lite."""

from typing import Any

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.tensor import ExportGraph, Tensor
from nnapi_shim.formats.tflite.exporting import (
    convolution,
    elementwise,
    moves,
    pooling,
    special,
)
from nnapi_shim.formats.tflite.exporting.kinds import ints
from nnapi_shim.formats.tflite.exporting.subgraph import Subgraph
from nnapi_shim.hal.enums import OperandType as T

RULES = {
    **convolution.RULES,
    **elementwise.RULES,
    **moves.RULES,
    **pooling.RULES,
    **special.RULES,
}
"""Operation -> rule."""


class TfliteBuilder(ExportBuilder):
    """Collects operators; the subgraphs of IF and WHILE follow the main graph."""

    rules = RULES
    format = "TensorFlow Lite"
    round = "ROUND"

    def __init__(self, subgraphs: "list[Subgraph] | None" = None) -> None:
        super().__init__()
        self.subgraphs: list[Subgraph] = [] if subgraphs is None else subgraphs

    def subgraph(self, graph: ExportGraph, name: str, passed: int | None = None) -> int:
        """Lower a graph as the next subgraph; returns its index.

        passed: the number of inputs that it must return; inputs after its own outputs are returned
            unchanged.
        """
        index = len(self.subgraphs)
        inner = self if index == 0 else TfliteBuilder(self.subgraphs)
        lowered = Subgraph(name, list(graph.inputs), list(graph.outputs), inner.emitted)
        self.subgraphs.append(lowered)
        inner.run(graph)
        if inner is not self:
            self.refusals += inner.refusals
        if passed is not None:
            lowered.outputs.extend(graph.inputs[len(graph.outputs) : passed])
        return index

    def cast(self, x: Tensor, out: Tensor) -> Tensor:
        """Emit CAST."""
        elementwise.converted(self, x, out)
        return out

    def dequantize(self, x: Tensor, out: Tensor) -> None:
        """Emit DEQUANTIZE, or arithmetic for unsigned 16-bit types."""
        if x.type is T.TENSOR_QUANT16_ASYMM:
            self.dequantize_by_arithmetic(x, out)
        else:
            self.emit("DEQUANTIZE", [x], [out])

    def quantize(self, x: Tensor, out: Tensor) -> None:
        """Emit QUANTIZE, or arithmetic for unsigned 16-bit types."""
        if out.type is T.TENSOR_QUANT16_ASYMM:
            self.quantize_by_arithmetic(x, out)
        else:
            self.emit("QUANTIZE", [x], [out])

    def integers(self, values: Any) -> Tensor:
        """An int32 constant, or the tensor that the model computes."""
        return ints(values)
