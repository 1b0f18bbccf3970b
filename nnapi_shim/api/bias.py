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
    return [
        _product(use.match.operation, use.match.input_names, name, inputs)
        for name in use.match.input_names
    ]


def require_whole(declaration: Operation, inputs: Sequence[Input]) -> None:
    """Raises BAD_DATA for a bias of floats in an operation on quantized tensors."""
    for accepted in declaration.forms if declaration.products else ():
        names = accepted.inputs.spread(len(inputs)) or ()
        for name, value in zip(names, inputs, strict=False):
            scale = _product(declaration, names, name, inputs)
            if scale and _is_float(value):
                elements(value, T.TENSOR_INT32, scale)  # type: ignore[arg-type]


def _product(
    declaration: Operation, names: Sequence[str], name: str, inputs: Sequence[Input]
) -> float:
    scale = float(name in declaration.products)
    for factor in declaration.products.get(name, ()):
        operand = inputs[names.index(factor)]
        scale *= operand.scale if isinstance(operand, Operand) else 0.0
    return scale


def _is_float(value: Input) -> bool:
    return not isinstance(value, Operand | None) and natural_type(value) is T.TENSOR_FLOAT32
