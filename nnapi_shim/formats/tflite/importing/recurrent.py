"""Recurrent cells and sequences.

Their states are variable tensors in a file. In a model they are inputs and outputs that are carried
from run to run. Quantized cells that QUANTIZED_LSTM does not express are computed in float32.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.formats.tflite.importing.plain import Lowering
from nnapi_shim.formats.tflite.importing.quantized_cells import (
    is_quantized_cell,
    quantized_sequence,
)
from nnapi_shim.formats.tflite.importing.tensors import real_values
from nnapi_shim.hal.enums import OperandType as T


class _Cell:
    """The operands and states of a recurrent operator."""

    def __init__(self, graph: Importing, operator: Operator) -> None:
        self.graph = graph
        self.operator = operator
        self._states: list[tuple[Operand, int]] = []

    def options(self, name: str, default: Any) -> Any:
        """An option."""
        return self.operator.options.get(name, default)

    def real_input(self, at: int) -> Operand | None:
        """An input as float32; None for an omitted one."""
        inputs = self.operator.inputs
        index = inputs[at] if at < len(inputs) else None
        return None if index is None else self.graph.weights(index)

    def range(self, first: int, end: int) -> list[Operand | None]:
        """A range of inputs."""
        return [self.real_input(at) for at in range(first, end)]

    def biases(self, first: int, end: int, weights: int) -> list[Operand | None]:
        """A range of biases; quantized ones without a scale have the scale input * weights."""
        result = []
        graph, inputs = self.graph, self.operator.inputs
        for at in range(first, end):
            index = inputs[at] if at < len(inputs) else None
            value = graph.value(index)
            if index is None or value is None or value.dtype != np.int32:
                result.append(self.real_input(at))
                continue
            tensor = graph.tensor(index)
            if not tensor.scales:
                data, matrix = graph.tensor(inputs[0]), graph.tensor(inputs[weights + at - first])
                scale = data.scale * matrix.scale
                tensor = tensor._replace(scales=(scale,), zero_points=(0,))
            result.append(graph.model.constant(real_values(tensor, value)))
        return result

    def state(self, at: int) -> Operand:
        """The model input for a state."""
        inputs = self.operator.inputs
        tensor = self.graph.tensor(inputs[at] if at < len(inputs) else None)
        if not tensor.is_variable:
            return self.graph.reals(tensor.number)
        operand = self.graph.state(tensor.name or f"state {tensor.number}", tensor.shape)
        self._states.append((operand, at))
        return operand

    def give(self, type: str, inputs: Sequence[Any], outputs: int, states: Sequence[int]) -> None:
        """Add the operation.

        outputs: the number of outputs of the operation. states: the output positions of the states,
            in the order of the calls of `state`.
        """
        graph = self.graph
        results = graph.several(type, inputs, output_count=outputs)
        for (operand, _), at in zip(self._states, states, strict=False):
            graph.carry(operand, results[at])
        others = [results[at] for at in range(outputs) if at not in states]
        for at, result in enumerate(others[-len(self.operator.outputs) :]):
            graph.give(self.operator, result, at)


_FULL, _BASIC = 0, 1
"""LSTM kernel types."""
_TANH = 4


def lstm(graph: Importing, operator: Operator) -> None:
    """LSTM: one step; the basic kernel has its own lowering."""
    kind = operator.options.get("KernelType", 0)
    if kind not in (_FULL, _BASIC):
        raise reason(
            f"its kernel is {kind}; known are {_FULL} (full) and {_BASIC} (basic)",
            "import.tflite.lstm.kernel",
        )
    if kind == _BASIC:
        _basic_lstm(graph, operator)
        return
    cell = _Cell(graph, operator)
    operands = _lstm_inputs(cell)
    norms = cell.range(20, 24)
    inputs = operands if norms == [None] * 4 else [*operands, *norms]
    cell.give("LSTM", inputs, 4, (1, 2))


def _lstm_inputs(cell: _Cell) -> list[Any]:
    inputs: list[Any] = [*cell.range(0, 12), *cell.biases(12, 16, 1), *cell.range(16, 18)]
    inputs += [cell.state(18), cell.state(19), int(cell.options("FusedActivationFunction", 4))]
    return [*inputs, float(cell.options("CellClip", 0)), float(cell.options("ProjClip", 0))]


def lstm_sequence(graph: Importing, operator: Operator) -> None:
    """UNIDIRECTIONAL_SEQUENCE_LSTM."""
    if operator.options.get("DiagonalRecurrentTensors", False):
        raise reason("its recurrent weights are diagonals", "import.tflite.lstm.diagonal")
    if is_quantized_cell(graph, operator):
        quantized_sequence(graph, operator)
        return
    cell = _Cell(graph, operator)
    inputs = [*_lstm_inputs(cell), bool(cell.options("TimeMajor", False)), *cell.range(20, 24)]
    cell.give("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, 3, (1, 2))


def lstm_both_ways(graph: Importing, operator: Operator) -> None:
    """BIDIRECTIONAL_SEQUENCE_LSTM: one forward and one backward cell."""
    cell = _Cell(graph, operator)
    inputs: list[Any] = [*cell.range(0, 12), *cell.biases(12, 16, 1), *cell.range(16, 29)]
    inputs += [*cell.biases(29, 33, 18), *cell.range(33, 35)]
    inputs += [cell.state(at) for at in range(35, 39)]
    inputs += [*cell.range(39, 48), int(cell.options("FusedActivationFunction", 4))]
    inputs += [float(cell.options("CellClip", 0)), float(cell.options("ProjClip", 0))]
    merge = bool(cell.options("MergeOutputs", False))
    inputs += [merge, bool(cell.options("TimeMajor", True)), *[None] * 8]
    first = 1 if merge else 2
    cell.give("BIDIRECTIONAL_SEQUENCE_LSTM", inputs, first + 4, range(first, first + 4))


def rnn(graph: Importing, operator: Operator) -> None:
    """RNN: one step."""
    cell = _Cell(graph, operator)
    activation = int(cell.options("FusedActivationFunction", 0))
    cell.give("RNN", [*cell.range(0, 4), cell.state(4), activation], 2, (0,))


def rnn_sequence(graph: Importing, operator: Operator) -> None:
    """UNIDIRECTIONAL_SEQUENCE_RNN."""
    cell = _Cell(graph, operator)
    inputs: list[Any] = [
        *cell.range(0, 4),
        cell.state(4),
        int(cell.options("FusedActivationFunction", 0)),
    ]
    inputs.append(int(cell.options("TimeMajor", False)))
    cell.give("UNIDIRECTIONAL_SEQUENCE_RNN", inputs, 2, (1,))


def rnn_both_ways(graph: Importing, operator: Operator) -> None:
    """BIDIRECTIONAL_SEQUENCE_RNN: one forward and one backward cell."""
    cell = _Cell(graph, operator)
    inputs: list[Any] = [*cell.range(0, 4), cell.state(4), *cell.range(5, 8), cell.state(8)]
    inputs += [*cell.range(9, 12), int(cell.options("FusedActivationFunction", 0))]
    merge = bool(cell.options("MergeOutputs", False))
    inputs += [bool(cell.options("TimeMajor", False)), merge]
    first = 1 if merge else 2
    cell.give("BIDIRECTIONAL_SEQUENCE_RNN", inputs, first + 2, range(first, first + 2))


def svdf(graph: Importing, operator: Operator) -> None:
    """SVDF: filters over features and over time."""
    cell = _Cell(graph, operator)
    rank, activation = cell.options("Rank", 1), cell.options("FusedActivationFunction", 0)
    if graph.tensor(operator.inputs[0]).type == "INT8":
        raise reason(
            "its state is 16-bit, and NNAPI supports only float states",
            "import.tflite.lstm.state-type",
        )
    cell.give("SVDF", [*cell.range(0, 4), cell.state(4), int(rank), int(activation)], 2, (0,))


_BASIC_GATES = (0, 2, 1, 3)
"""Positions of the input, forget, cell and output gate in the weights of the basic kernel."""


def _basic_lstm(graph: Importing, operator: Operator) -> None:
    """The basic LSTM kernel: explicit state inputs and outputs, one weight matrix for all gates."""
    options = operator.options
    if options.get("CellClip", 0) or options.get("ProjClip", 0):
        raise reason("the basic LSTM kernel has clipping", "import.tflite.lstm.clip")
    if options.get("FusedActivationFunction", 0) != _TANH:
        raise reason(
            "the activation of the basic LSTM kernel is not TANH", "import.tflite.lstm.activation"
        )
    data, output, weights, bias, state = operator.inputs
    matrix, numbers = graph.value(weights), graph.value(bias)
    if matrix is None or numbers is None or matrix.ndim != 2:
        raise reason("its weights are no constants", "import.tflite.not-constant")
    units, size = len(matrix) // 4, graph.tensor(data).shape[-1]
    parts = [matrix[at * units : (at + 1) * units] for at in _BASIC_GATES]
    biases = [numbers[at * units : (at + 1) * units] for at in _BASIC_GATES]
    inputs: list[Any]
    if graph.tensor(data).type == "FLOAT32":
        cells = [graph.model.constant(np.ascontiguousarray(part[:, :size])) for part in parts]
        recurrent = [graph.model.constant(np.ascontiguousarray(part[:, size:])) for part in parts]
        constants = [graph.model.constant(part) for part in biases]
        inputs = [graph.operand(data), *cells, *recurrent, *[None] * 3, *constants, None, None]
        inputs += [*graph.operands((output, state)), 4, 0.0, 0.0]
        _, hidden, cell, _ = graph.several("LSTM", inputs)
    else:
        kind, scale, zero_point = graph.parameters(graph.tensor(weights))

        def constant(part: Any) -> Operand:
            return graph.model.constant(np.ascontiguousarray(part), kind, scale, zero_point)

        bias_scale = graph.tensor(bias).scale
        constants = [graph.model.constant(i, T.TENSOR_INT32, bias_scale) for i in biases]
        # Android's reference applies the recurrent weights to the first columns of the input.
        inputs = [graph.operand(data), *(constant(part[:, units:]) for part in parts)]
        inputs += [*(constant(part[:, :units]) for part in parts), *constants]
        inputs += graph.operands((state, output))
        cell, hidden = graph.several("QUANTIZED_16BIT_LSTM", inputs)
    graph.give(operator, hidden, 0)
    graph.give(operator, cell, 1)


LOWERINGS: dict[str, Lowering] = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": lstm_both_ways,
    "BIDIRECTIONAL_SEQUENCE_RNN": rnn_both_ways,
    "LSTM": lstm,
    "RNN": rnn,
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm_sequence,
    "UNIDIRECTIONAL_SEQUENCE_RNN": rnn_sequence,
}
