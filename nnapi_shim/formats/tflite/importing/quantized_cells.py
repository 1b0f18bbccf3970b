"""Sequences of quantized LSTM cells with a 16-bit state: one QUANTIZED_LSTM for each step.

Android's reference ignores the biases of QUANTIZED_LSTM. They are expressed as constant columns
appended to the input: the products with the columns appended to the weights sum exactly to the
biases.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.arrays import Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.formats.importing.operations import require_known
from nnapi_shim.formats.importing.reason import reason
from nnapi_shim.formats.tflite.file import Operator, Tensor
from nnapi_shim.formats.tflite.importing.graph import Importing
from nnapi_shim.hal.enums import OperandType as T

INTERMEDIATE_SCALE = 2.0**-12
"""The scale of the gates before the activation, as in LiteRT."""
MOST_STEPS = 512
"""The most operations that a sequence is unrolled into."""


def is_quantized_cell(graph: Importing, operator: Operator) -> bool:
    """Whether QUANTIZED_LSTM expresses the operator: no projection, no layer normalisation."""
    inputs = operator.inputs
    first = graph.tensor(inputs[0])
    biases = [inputs[at] for at in (16, 17, *range(20, 24)) if at < len(inputs)]
    return (
        first.type == "INT8"
        and not any(index is not None for index in biases)
        and graph.tensor(inputs[19]).type == "INT16"
        and graph.tensor(inputs[18]).zero_point != -128
    )


def quantized_sequence(graph: Importing, operator: Operator) -> None:
    """One QUANTIZED_LSTM for each step, which takes the states of the previous step."""
    inputs, options = operator.inputs, operator.options
    data = graph.operand(inputs[0])
    require_known(data)
    time_axis = 0 if options.get("TimeMajor", False) else 1
    steps, batch = data.dimensions[time_axis], data.dimensions[1 - time_axis]
    if not 0 < steps <= MOST_STEPS:
        raise reason(f"it has {steps} steps", "import.tflite.quantized-lstm.steps")
    values, columns = _bias_columns(graph, inputs, data)
    lead = (*data.dimensions[:2], values.size)
    bias_inputs = graph.model.constant(
        graph.room.repeated(values, lead, "its biases"), data.type, data.scale, data.zero_point
    )
    wide = graph.make(
        "CONCATENATION", [data, bias_inputs, 2], scale=data.scale, zero_point=data.zero_point
    )
    parts = graph.several("SPLIT", [wide, time_axis, steps], output_count=steps)
    weights = [_weights(graph, index, columns[gate]) for gate, index in enumerate(inputs[1:5])] + [
        _weights(graph, index) for index in inputs[5:9]
    ]
    constants: list[Any] = [*weights, *(graph.optional(operator, at) for at in (9, 10, 11))]
    constants += [graph.optional(operator, at) for at in range(12, 16)]
    first, cell = (_state(graph, graph.tensor(index)) for index in inputs[18:20])
    hidden_scale = _hidden_scale(graph, operator)
    clips = [float(options.get(name, 0.0)) for name in ("CellClip", "ProjClip")]
    rest: list[Any] = [*[None] * 4, *clips, *[INTERMEDIATE_SCALE] * 4]
    # The reference takes the zero point with this sign.
    rest += [-first.zero_point, hidden_scale]
    output, state, outputs = first, cell, []
    for part in parts:
        step = graph.reshaped(part, [batch, data.dimensions[2] + values.size])
        operands = [step, *constants, None, None, output, state, *rest]
        output, state, result = graph.several("QUANTIZED_LSTM", operands)
        outputs.append(result)
    graph.carry(first, output)
    graph.carry(cell, state)
    graph.give(operator, graph.make("PACK", [time_axis, *outputs]))


def _hidden_scale(graph: Importing, operator: Operator) -> float:
    between = operator.intermediates
    scale = graph.tensor(between[4]).scale if len(between) > 4 else 0.0
    return scale or graph.tensor(operator.inputs[18]).scale


def _state(graph: Importing, tensor: Tensor) -> Operand:
    name = tensor.name or f"state {tensor.number}"
    return graph.state(name, tensor.shape, *graph.parameters(tensor))


def _bias_columns(
    graph: Importing, inputs: Sequence[int | None], data: Operand
) -> tuple[Array, list[Array | None]]:
    """The values appended to the input, and the columns appended to the weights of each gate."""
    biases = [graph.value(index) for index in inputs[12:16]]
    if any(value is None for value, index in zip(biases, inputs[12:16], strict=True) if index):
        raise reason("its biases are no constants", "import.tflite.not-constant")
    up, down = 127 - data.zero_point, -128 - data.zero_point
    largest_input = up if up >= -down else down
    one = 1 if up >= 1 else -1
    largest = max((int(np.abs(value).max()) for value in biases if value is not None), default=0)
    count = -(-largest // (127 * abs(largest_input)))
    if count > 1024:
        raise reason(f"its biases reach {largest}", "import.tflite.quantized-lstm.bias-size")
    # Decompose each bias: multiples of 127 * largest_input, of largest_input, of one.
    values = [largest_input] * (count + 1) + [one] * 2
    columns: list[Array | None] = []
    units = sum(value.size for value in biases if value is not None)
    graph.room.take(units * len(values) * (1 + np.dtype(np.int64).itemsize), "its biases")
    for value in biases:
        if value is None:
            columns.append(None)
            continue
        left = value.astype(np.int64)
        shares = []
        for factor in values:
            share = np.clip(np.trunc(left / factor), -127, 127).astype(np.int64)
            shares.append(share)
            left = left - share * factor
        if left.any():
            raise reason(
                "its biases cannot be expressed as sums of products",
                "import.tflite.quantized-lstm.bias-sums",
            )
        columns.append(np.stack(shares, -1).astype(np.int8))
    return (np.array(values) + data.zero_point).astype(np.int8), columns


def _weights(graph: Importing, index: int | None, more: Array | None = None) -> Operand | None:
    if index is None:
        return None
    tensor, value = graph.tensor(index), graph.value(index)
    if value is None or tensor.zero_point or tensor.type != "INT8":
        raise reason(
            f"{tensor} is no constant of symmetric INT8", "import.tflite.quantized-lstm.weights"
        )
    extended = value if more is None else np.concatenate([value, more], axis=1)
    return graph.model.constant(extended, T.TENSOR_QUANT8_SYMM, tensor.scale)
