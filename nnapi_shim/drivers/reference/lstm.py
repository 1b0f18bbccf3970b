"""LSTM UNIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_LSTM."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, dtype_of, real, times
from nnapi_shim.drivers.reference.deadline import watched
from nnapi_shim.drivers.reference.rnn import activation
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.lstm import DIRECTIONS, backward_input, direction, is_cross_linked
from nnapi_shim.operations.lstm_cell import Cell, cell
from nnapi_shim.operations.rnn import SIGMOID

_FLAT = 1e-8
"""What is added to the variance in layer normalisation, so that it can be 0."""


def lstm(op: BoundOperation) -> list[Array]:
    """One step of a cell, `_step`; output and output_state_out are the same.

    The specification leaves the contents of the scratch output open: zeros.
    """
    weights = cell(op)
    gates = 3 if weights.is_coupled else 4
    scratch = np.zeros((len(op.input.value), gates * weights.units))
    outputs, output_state, cell_state = _sequence(op, weights, real(op.input)[np.newaxis])
    return _stored(op, [scratch, output_state, cell_state, outputs[0]])


def unidirectional_sequence_lstm(op: BoundOperation) -> list[Array]:
    """`_step` for every step in time; the states after the last one."""
    outputs, output_state, cell_state = _sequence(op, cell(op), _in_time(op, op.input))
    return _stored(op, [_in_layout(op, outputs), output_state, cell_state])


def bidirectional_sequence_lstm(op: BoundOperation) -> list[Array]:
    """A cell in the order of time and one against it; merged: outputs joined at the last dimension.

    Parallel linking: the input of the backward cell is the auxiliary one. Cross linking: the
    auxiliary input is a second input of both cells.
    """
    aux = _in_time(op, op.aux_input) if is_cross_linked(op) else None
    outputs, states = [], []
    for prefix, source in zip(DIRECTIONS, (op.input, backward_input(op)), strict=True):
        order = -1 if prefix == "bw_" else 1
        inputs = _in_time(op, source)[::order]
        computed, *final = _sequence(
            op, direction(op, prefix), inputs, None if aux is None else aux[::order]
        )
        outputs.append(_in_layout(op, computed[::order]))
        states += final
    if op.merge_outputs:
        outputs = [np.concatenate(outputs, axis=2)]
    return _stored(op, outputs + states)


def _sequence(
    op: BoundOperation, cell: Cell, inputs: Array, aux: Array | None = None
) -> tuple[Array, Array, Array]:
    """Outputs of all steps [steps, batch, outputs], and the states after the last one."""
    output, state = real(cell.output_state), real(cell.cell_state)
    outputs = []
    for at, step_input in enumerate(watched(inputs)):
        output, state = _step(op, cell, step_input, None if aux is None else aux[at], output, state)
        outputs.append(output)
    return np.stack(outputs), output, state


def _step(
    op: BoundOperation,
    cell: Cell,
    input: Array,
    aux: Array | None,
    output: Array,
    state: Array,
) -> tuple[Array, Array]:
    """Output and state after a step; input: [batch, input_size].

        i, f, o = sigmoid(gate(...)), g = act(gate(...)); i = 1 - f where gates are coupled
        C = clip(f * C_old + i * g), m = o * act(C), h = clip(W_p m + b_p) or m

    A gate is W x + W_aux x_aux + R h_old + peephole * C + bias, with layer normalisation
    normalised(all but the bias) * gain + bias. The peephole of o looks at the new C, clipped.
    """

    def gate(which: int, state: Array) -> Array:
        def optional(operand: BoundOperand | None) -> Array:
            return np.zeros(()) if operand is None else real(operand)

        total = times(input, real(cell.input_weights[which]).T)
        if aux is not None:
            total += times(aux, real(cell.aux_weights[which]).T)
        total += times(output, real(cell.recurrent_weights[which]).T)
        total += optional(cell.peepholes[which]) * state
        gain = cell.gains[which]
        if gain is not None:
            deviation = total - total.mean(axis=1, keepdims=True)
            variance = (deviation**2).mean(axis=1, keepdims=True)
            total = deviation / np.sqrt(variance + _FLAT) * real(gain)
        return total + optional(cell.biases[which])

    forget_gate = activation(gate(1, state), SIGMOID)
    input_gate = 1 - forget_gate if cell.is_coupled else activation(gate(0, state), SIGMOID)
    state = forget_gate * state + input_gate * activation(gate(2, state), op.activation)
    state = _clipped(state, op.cell_clip)
    result = activation(gate(3, state), SIGMOID) * activation(state, op.activation)
    if cell.projection_weights is None:
        return result[:, : cell.outputs], state
    result = times(result, real(cell.projection_weights).T)
    if cell.projection_bias is not None:
        result += real(cell.projection_bias)
    return _clipped(result, op.proj_clip), state


def _clipped(values: Array, bound: float) -> Array:
    return np.clip(values, -bound, bound) if bound > 0 else values


def _in_time(op: BoundOperation, operand: BoundOperand) -> Array:
    """A sequence as [steps, batch, size]."""
    values = real(operand)
    return values if op.time_major else values.swapaxes(0, 1)


def _in_layout(op: BoundOperation, sequence: Array) -> Array:
    """[steps, batch, size] in the layout of the operation's outputs."""
    return sequence if op.time_major else sequence.swapaxes(0, 1)


def _stored(op: BoundOperation, arrays: list[Array]) -> list[Array]:
    """As many as the operation has outputs, in the type of these."""
    return [
        array.astype(dtype_of(output.type))
        for output, array in zip(op.outputs, arrays, strict=False)
    ]
