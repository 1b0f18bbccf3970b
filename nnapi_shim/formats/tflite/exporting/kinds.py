"""Predicates for operand types that TensorFlow Lite's kernels support, and constants for them."""

from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import HALF
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.hal.enums import OperandType as T

EIGHT = {T.TENSOR_QUANT8_ASYMM, T.TENSOR_QUANT8_ASYMM_SIGNED, T.TENSOR_QUANT8_SYMM}


def eight_bits(node: Node) -> bool:
    """Whether all quantized tensors are 8-bit per-tensor, and none is float16."""
    tensors = [*node.tensors, *node.outputs]
    if any(t.type in HALF for t in tensors):
        return False
    return all(t.type in EIGHT for t in tensors if t.is_quantized)


def one_kind(*names: str) -> Any:
    """eight_bits, and the named tensors (or lists) share scale and zero point."""

    def check(node: Node) -> bool:
        parameters: set[Any] = set()
        for name in names:
            value = node.named[name]
            parameters |= {t.parameters for t in (value if isinstance(value, list) else [value])}
        return len(parameters) == 1 and eight_bits(node)

    return check


def only(type: T) -> Any:
    """eight_bits, and all quantized tensors have this type."""

    def check(node: Node) -> bool:
        tensors = [*node.tensors, *node.outputs]
        return eight_bits(node) and all(t.type is type for t in tensors if t.is_quantized)

    return check


def ints(values: Any) -> Tensor:
    """An int32 constant, or the tensor that the model computes."""
    return values if isinstance(values, Tensor) else constant(np.asarray(values, np.int32))
