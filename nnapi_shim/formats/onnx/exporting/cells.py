"""LSTM sequences as the ONNX operator LSTM."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.formats.graph.expansion import recurrent
from nnapi_shim.formats.graph.rule import complete
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.operations import lstm_cell

ORDER = (0, 3, 1, 2)
"""Positions in GATES of ONNX's gate order: input, output, forget, cell."""
TANH = 4


def sequence(b: Any, op: Node) -> None:
    """Emit LSTM, or the unrolled sequence if LSTM cannot express the cell."""
    if not _has_node(op):
        recurrent.unidirectional_sequence_lstm(b, op)
        return
    x = op.input if op.time_major else b.transpose(op.input, (1, 0, 2))
    steps, batch, _ = x.dimensions
    cells = complete(op.output_state_in, "output_state_in")[1]
    one = (1, batch, cells)
    inputs = [
        x,
        _stacked(op, lstm_cell.input_names()),
        _stacked(op, lstm_cell.recurrent_names()),
        _stacked(op, lstm_cell.bias_names(), np.zeros((1, 4 * cells), np.float32)),
        None,
        b.reshape(op.output_state_in, one),
        b.reshape(op.cell_state_in, one),
    ]
    results = [Tensor(op.output.type, sizes) for sizes in ((steps, *one), one, one)]
    b.emit("LSTM", inputs, results, hidden_size=cells)
    outputs = b.reshape(results[0], (steps, batch, cells))
    if op.time_major:
        b.copy(outputs, op.output)
    else:
        b.transpose(outputs, (1, 0, 2), op.output)
    for state, name in zip(results[1:], ("output_state_out", "cell_state_out"), strict=True):
        output = op.named.get(name)
        if output is not None:
            b.copy(b.reshape(state, (batch, cells)), output)


def _stacked(op: Node, names: Sequence[str], *more: Any) -> Tensor:
    """The constants of all gates stacked along the first axis, for one direction."""
    values = [op.named[names[gate]].value for gate in ORDER]
    return constant(np.concatenate([np.concatenate(values)[None], *more], -1))


def _has_node(op: Node) -> bool:
    """Whether LSTM expresses the cell: four gates with constant weights, TANH, no clipping,
    peepholes, projection or layer normalisation.
    """
    weights = [*lstm_cell.input_names(), *lstm_cell.recurrent_names(), *lstm_cell.bias_names()]
    absent = [*lstm_cell.peephole_names(), *lstm_cell.projection_names(), *lstm_cell.gain_names()]
    values = [op.named.get(name) for name in weights]
    return (
        all(tensor is not None and tensor.value is not None for tensor in values)
        and all(op.named.get(name) is None for name in absent)
        and 0 not in op.input.dimensions
        and int(op.activation) == TANH
        and float(op.cell_clip) == 0.0
    )
