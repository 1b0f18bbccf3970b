"""What both example devices have in common: operands as numpy arrays, and a walk over the graph."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nnapi_shim.drivers.versioned.memory import constant, located
from nnapi_shim.hal import v1_0, v1_1

Array = NDArray[Any]
Model = v1_0.Model | v1_1.Model
Formula = Callable[..., Array]
"""The inputs of an operation, None for an omitted one, to its output."""

T = v1_0.OperandType
L = v1_0.OperandLifeTime

DTYPES = {
    T.FLOAT32: np.float32,
    T.INT32: np.int32,
    T.UINT32: np.uint32,
    T.TENSOR_FLOAT32: np.float32,
    T.TENSOR_INT32: np.int32,
    T.TENSOR_QUANT8_ASYMM: np.uint8,
}


class TooSmallError(Exception):
    """The buffer of an output cannot hold it."""


def supported(
    model: Model, formulas: Mapping[int, Formula], types: Mapping[int, Sequence[v1_0.OperandType]]
) -> tuple[bool, ...]:
    """Per operation: whether there is a formula, for the type of its first input."""
    return tuple(
        item.type in formulas and model.operands[item.inputs[0]].type in types[item.type]
        for item in model.operations
    )


class Graph:
    """A valid model whose operations all have formulas, with its constants as arrays."""

    def __init__(self, model: Model, formulas: Mapping[int, Formula]) -> None:
        self.model = model
        self._formulas = formulas
        self._constants = {
            index: _array(constant(model, operand), operand, operand.dimensions)
            for index, operand in enumerate(model.operands)
            if operand.lifetime in (L.CONSTANT_COPY, L.CONSTANT_REFERENCE)
        }

    def run(self, request: v1_0.Request) -> None:
        """Compute a valid request. Raises TooSmallError, or what numpy does not like."""
        model = self.model
        values: dict[int, Array] = dict(self._constants)
        for index, argument in zip(model.inputIndexes, request.inputs, strict=True):
            if not argument.hasNoValue:
                operand = model.operands[index]
                data = located(argument.location, request.pools)
                values[index] = _array(data, operand, argument.dimensions or operand.dimensions)
        for item in model.operations:
            inputs = [values.get(index) for index in item.inputs]
            with np.errstate(all="ignore"):  # infinities and NaN are results
                result = self._formulas[item.type](*inputs)
            (output,) = item.outputs
            values[output] = result.astype(DTYPES[T(model.operands[output].type)], copy=False)
        for index, argument in zip(model.outputIndexes, request.outputs, strict=True):
            if argument.hasNoValue:
                continue
            result = values[index]
            if result.nbytes > argument.location.length:
                raise TooSmallError(f"{result.nbytes} bytes in {argument.location.length}")
            target = located(argument.location, request.pools)
            np.frombuffer(target, result.dtype, result.size)[:] = result.ravel()


def _array(data: Any, operand: v1_0.Operand, dimensions: tuple[int, ...]) -> Array:
    count = int(np.prod(dimensions, dtype=np.int64))
    return np.frombuffer(data, DTYPES[T(operand.type)], count).reshape(dimensions)


def activated(values: Array, activation: Array) -> Array:
    """After a fused activation."""
    match int(activation):
        case v1_0.FusedActivationFunc.NONE:
            return values
        case v1_0.FusedActivationFunc.RELU:
            return np.maximum(values, 0)
        case v1_0.FusedActivationFunc.RELU1:
            return np.clip(values, -1, 1)
        case v1_0.FusedActivationFunc.RELU6:
            return np.clip(values, 0, 6)
    raise ValueError(f"activation is {int(activation)}; allowed are 0 to 3")
