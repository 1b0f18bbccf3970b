"""Roots of quantized tensors."""

from nnapi_shim.formats.graph.builder import Builder
from nnapi_shim.formats.graph.tensor import Node
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE


def quantized_rsqrt(b: Builder, op: Node) -> None:
    """In float32; of 0 and of negative numbers the largest number that the output has.

    Inputs are raised to what gives more than that, so that nothing is infinite.
    """
    out = op.output
    highest = (QUANTIZED_RANGE[out.type][1] - out.zero_point + 1) * out.scale
    least = 1 / (4 * highest * highest) if highest > 0 else 1.0
    x = b.binary("MAXIMUM", b.real(op.input), least)
    b.store(b.unary("RSQRT", x, x.like(type=T.TENSOR_FLOAT32)), out)
