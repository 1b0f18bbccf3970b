"""The small models that `nnapi-shim calibrate` measures: layers of one kind of work."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.model import Model
from nnapi_shim.api.operand import Operand
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.runtime import work_kinds as kinds
from nnapi_shim.runtime.work_kinds import FLOAT16, FLOAT32, QUANT8, RELAXED

LAYERS = 3
"""Layers of the models from whose time that of one layer follows."""

_OPERAND_TYPES = {
    FLOAT32: OperandType.TENSOR_FLOAT32,
    RELAXED: OperandType.TENSOR_FLOAT32,
    FLOAT16: OperandType.TENSOR_FLOAT16,
    QUANT8: OperandType.TENSOR_QUANT8_ASYMM_SIGNED,
}
_SCALE = 0.05
_SEED = 0
_SAME, _NONE = 1, 0
"""Padding scheme and activation."""


class Maker:
    """Operands of one type, in a model under construction."""

    def __init__(self, model: Model, type: str) -> None:
        self.model = model
        self.type = type
        self._random = np.random.default_rng(_SEED)
        self._scale = _SCALE if type == QUANT8 else 0.0

    def input(self, *dimensions: int) -> Operand:
        """An input of the model."""
        return self.model.input(_OPERAND_TYPES[self.type], dimensions, self._scale)

    def weights(self, *dimensions: int) -> Operand:
        """A random constant."""
        values: Any = self._random.uniform(-0.2, 0.2, dimensions)
        if self.type == QUANT8:
            values = (values * 100).astype(np.int8)
        else:
            values = values.astype(np.float16 if self.type == FLOAT16 else np.float32)
        return self.model.constant(values, _OPERAND_TYPES[self.type], self._scale)

    def bias(self, size: int) -> Any:
        """Zeros; those of a quantized operation get their scale when it is added."""
        if self.type == QUANT8:
            return np.zeros(size, np.int32)
        return np.zeros(size, np.float16 if self.type == FLOAT16 else np.float32)

    def add(self, name: str, inputs: Sequence[Any]) -> Operand:
        """An operation whose output has the scale of all others."""
        scale = self._scale or None
        result: Operand = self.model.operation(name, inputs, scale=scale)
        return result


Layer = Callable[[Maker, Operand, int], Operand]
"""Adds the layer of this number to a model; returns its output."""


class Probe(NamedTuple):
    """The models of a kind of work. small, large: dimensions of the input. layer: adds a layer.

    is_row: whether each layer is given an input of its own, and has an output.
    """

    small: tuple[int, ...]
    large: tuple[int, ...]
    layer: Layer
    is_row: bool = False


def _depth(x: Operand) -> int:
    return x.dimensions[-1]


def _convolution(size: int) -> Layer:
    def layer(make: Maker, x: Operand, number: int) -> Operand:
        depth = _depth(x)
        filter = make.weights(depth, size, size, depth)
        return make.add("CONV_2D", [x, filter, make.bias(depth), _SAME, 1, 1, _NONE])

    return layer


def _depthwise(make: Maker, x: Operand, number: int) -> Operand:
    filter, bias = make.weights(1, 3, 3, _depth(x)), make.bias(_depth(x))
    return make.add("DEPTHWISE_CONV_2D", [x, filter, bias, _SAME, 1, 1, 1, _NONE])


def _product(make: Maker, x: Operand, number: int) -> Operand:
    depth = _depth(x)
    return make.add("FULLY_CONNECTED", [x, make.weights(depth, depth), make.bias(depth), _NONE])


def _recurrent(make: Maker, x: Operand, number: int) -> Operand:
    units = _depth(x)
    gates = ("forget", "cell", "output")
    given: dict[str, Any] = {
        f"input_to_{gate}_weights": make.weights(units, units) for gate in gates
    }
    given |= {f"recurrent_to_{gate}_weights": make.weights(units, units) for gate in gates}
    given |= {f"{gate}_bias": make.bias(units) for gate in ("forget_gate", "cell", "output_gate")}
    state = np.zeros((1, units), np.float16 if make.type == FLOAT16 else np.float32)
    given |= {"output_state_in": state, "cell_state_in": state}
    result: Any = make.model.unidirectional_sequence_lstm(
        x, **given, activation="TANH", time_major=True
    )
    output: Operand = result[0] if isinstance(result, tuple) else result
    return output


def _pooling(make: Maker, x: Operand, number: int) -> Operand:
    return _free(make, "AVERAGE_POOL_2D", [x, _SAME, 1, 1, 3, 3, _NONE])


def _elementwise(make: Maker, x: Operand, number: int) -> Operand:
    return make.add("MUL" if number % 2 else "ADD", [x, x, _NONE])


def _function(make: Maker, x: Operand, number: int) -> Operand:
    if number % 2 == 0:
        return _free(make, "LOGISTIC", [x])
    # Not another function of single elements: two quantized ones would become one table.
    scale, zero_point = (1 / 256, -128) if make.type == QUANT8 else (None, 0)
    result: Operand = make.model.operation("SOFTMAX", [x, 1.0], scale=scale, zero_point=zero_point)
    return result


def _reduction(make: Maker, x: Operand, number: int) -> Operand:
    return _free(make, "MEAN", [x, np.array([1, 2], np.int32), 1])


def _movement(make: Maker, x: Operand, number: int) -> Operand:
    return _free(make, "PAD", [x, np.array([[0, 0], [1, 0], [0, 1], [0, 0]], np.int32)])


def _resizing(make: Maker, x: Operand, number: int) -> Operand:
    # No whole factor, which some devices have faster code for.
    height, width = (2 * size - 1 for size in x.dimensions[1:3])
    return _free(make, "RESIZE_BILINEAR", [x, width, height])


def _free(make: Maker, name: str, inputs: Sequence[Any]) -> Operand:
    """An operation that determines the scale of its output."""
    result: Operand = make.model.operation(name, inputs)
    return result


PROBES = {
    kinds.CONVOLUTION: Probe((1, 8, 8, 16), (1, 28, 28, 32), _convolution(3)),
    kinds.POINTWISE: Probe((1, 8, 8, 16), (1, 28, 28, 96), _convolution(1)),
    kinds.DEPTHWISE: Probe((1, 8, 8, 16), (1, 56, 56, 64), _depthwise),
    kinds.MATRIX: Probe((8, 32), (128, 256), _product),
    kinds.VECTOR: Probe((1, 64), (1, 1024), _product),
    kinds.RECURRENT: Probe((4, 1, 16), (16, 1, 128), _recurrent),
    kinds.POOLING: Probe((1, 8, 8, 16), (1, 56, 56, 64), _pooling),
    kinds.ELEMENTWISE: Probe((1, 8, 8, 16), (1, 56, 56, 64), _elementwise),
    kinds.FUNCTION: Probe((1, 8, 8, 16), (1, 56, 56, 64), _function),
    kinds.REDUCTION: Probe((1, 8, 8, 16), (1, 56, 56, 64), _reduction, is_row=True),
    kinds.MOVEMENT: Probe((1, 8, 8, 16), (1, 56, 56, 64), _movement),
    kinds.RESIZING: Probe((1, 4, 4, 16), (1, 14, 14, 32), _resizing),
}
"""Kind of work -> its models; no two layers of one compute the same."""

NOT_OF = {kinds.RECURRENT: (QUANT8,)}
"""Kind of work -> types that none of its operations has."""


def types_of(kind: str) -> tuple[str, ...]:
    """The types with which a kind of work is measured."""
    return tuple(type for type in kinds.TYPES if type not in NOT_OF.get(kind, ()))


def probe_model(kind: str, type: str, dimensions: tuple[int, ...], layers: int) -> Model:
    """A model of so many layers."""
    probe = PROBES[kind]
    model = Model()
    make = Maker(model, type)
    if type == RELAXED:
        model.relax_computation_float32_to_float16()
    if probe.is_row:
        outputs = [probe.layer(make, make.input(*dimensions), number) for number in range(layers)]
    else:
        x = make.input(*dimensions)
        for number in range(layers):
            x = probe.layer(make, x, number)
        outputs = [x]
    model.outputs(*outputs)
    model.finish()
    return model


def probe_models(kind: str, type: str) -> Iterator[Model]:
    """The models of a probe: layers of small operations, one large operation, layers of them."""
    probe = PROBES[kind]
    yield probe_model(kind, type, probe.small, LAYERS)
    yield probe_model(kind, type, probe.large, 1)
    yield probe_model(kind, type, probe.large, LAYERS)


def tiny_model(layers: int = 1) -> Model:
    """A model with next to nothing to compute."""
    return probe_model(kinds.ELEMENTWISE, FLOAT32, (1,), layers)
