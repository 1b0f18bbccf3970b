"""DEQUANTIZE and QUANTIZE through float32."""

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.tensor import Node
from nnapi_shim.hal.enums import OperandType as T


def dequantize(b: ExportBuilder, op: Node) -> None:
    """Dequantize to float32; cast to float16 if the output needs it."""
    if op.output.type is T.TENSOR_FLOAT16:
        b.cast(b.real(op.input), op.output)
    else:
        b.dequantize(op.input, op.output)


def quantize(b: ExportBuilder, op: Node) -> None:
    """Quantize; a float16 input is cast to float32 first."""
    b.quantize(b.real(op.input), op.output)
