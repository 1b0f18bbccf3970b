"""DEQUANTIZE and QUANTIZE by way of float32."""

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.tensor import Node
from nnapi_shim.hal.enums import OperandType as T


def dequantize(b: ExportBuilder, op: Node) -> None:
    """Stored elements as numbers; float16 ones are converted from float32."""
    if op.output.type is T.TENSOR_FLOAT16:
        b.cast(b.real(op.input), op.output)
    else:
        b.dequantize(op.input, op.output)


def quantize(b: ExportBuilder, op: Node) -> None:
    """Numbers as stored elements."""
    b.quantize(b.real(op.input), op.output)
