"""Scales of biases: arrays whose scale is the product of the scales of two other inputs."""

from collections.abc import Sequence

from nnapi_shim.api.arrays import elements, natural_type
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.signature import Input, Use
from nnapi_shim.hal.enums import OperandType as T
from nnapi_shim.operations.declare import Operation


def constant_scales(use: Use, inputs: Sequence[Input]) -> list[float]:
    """The scale of each input that becomes a constant: of a quantized bias, that of the input times
    that of the filter, which is 0 for a filter with a scale per channel; 0 for the others.
    """
    scales, names = [0.0] * len(inputs), use.match.input_names
    for name, factors in use.match.operation.products.items():
        if name in names:
            scales[names.index(name)] = _product(names, factors, inputs)
    return scales


def require_whole(declaration: Operation, inputs: Sequence[Input]) -> None:
    """Raises BAD_DATA for a bias of floats in an operation on quantized tensors."""
    for name, factors in declaration.products.items():
        for accepted in declaration.forms:
            names = accepted.inputs.spread(len(inputs)) or ()
            value = inputs[names.index(name)] if name in names else None
            if isinstance(value, Operand | None):
                continue
            scale = _product(names, factors, inputs)
            if scale and natural_type(value) is T.TENSOR_FLOAT32:
                elements(value, T.TENSOR_INT32, scale)


def _product(names: Sequence[str], factors: Sequence[str], inputs: Sequence[Input]) -> float:
    scale = 1.0
    for factor in factors:
        operand = inputs[names.index(factor)]
        scale *= operand.scale if isinstance(operand, Operand) else 0.0
    return scale
