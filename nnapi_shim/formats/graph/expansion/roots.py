"""RSQRT of quantized tensors, and PRELU with broadcast inputs."""

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.tensor import Node
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.hal.quantization import QUANTIZED_RANGE


def is_quantized(node: Node) -> bool:
    """Whether the output is quantized."""
    return bool(node.output.is_quantized)


def quantized_rsqrt(b: ExportBuilder, op: Node) -> None:
    """RSQRT in float32; for 0 and negative inputs the largest value of the output type.

    Inputs are clamped to a positive minimum whose result saturates, so that no result is infinite.
    """
    out = op.output
    highest = (QUANTIZED_RANGE[out.type][1] - out.zero_point + 1) * out.scale
    least = 1 / (4 * highest * highest) if highest > 0 else 1.0
    x = b.binary("MAXIMUM", b.real(op.input), least)
    b.store(b.unary("RSQRT", x, x.like(type=T.TENSOR_FLOAT32)), out)


def prelu(b: ExportBuilder, op: Node) -> None:
    """max(0, x) + alpha * min(0, x), where alpha has more elements than x."""
    below = b.mul(b.binary("MINIMUM", op.input, 0.0), op.alpha)
    b.add(b.unary("RELU", op.input), below, op.output)
