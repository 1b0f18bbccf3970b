"""RNN UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN SVDF."""

from collections.abc import Iterable

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, dtype_of, times
from nnapi_shim.drivers.reference.deadline import watched
from nnapi_shim.operations.declare import BoundOperand, BoundOperation


def rnn(op: BoundOperation) -> list[Array]:
    """act(bias + weights @ input + recurrent_weights @ hidden_state_in), twice."""
    inputs = [(op.input, op.weights)]
    output, _ = _sequence(op, inputs, op.recurrent_weights, op.bias, op.hidden_state_in)
    return [output, output]


def unidirectional_sequence_rnn(op: BoundOperation) -> list[Array]:
    """output[t] = act(bias + weights @ input[t] + recurrent_weights @ output[t - 1]).

    output[-1] = hidden_state_in; hidden_state_out = the last output.
    """
    inputs = [(op.input, op.weights)]
    results = _sequence(op, inputs, op.recurrent_weights, op.bias, op.hidden_state_in)
    return list(results[: len(op.outputs)])


def bidirectional_sequence_rnn(op: BoundOperation) -> list[Array]:
    """One cell forward in time, another backward, each like UNIDIRECTIONAL_SEQUENCE_RNN.

    Both see input; the backward one aux_input instead, if that comes without weights of its own;
    with them, aux_weights @ aux_input[t] is added in both.
    """
    forward, backward = [(op.input, op.fw_weights)], [(op.input, op.bw_weights)]
    if op.fw_aux_weights is not None:
        forward.append((op.aux_input, op.fw_aux_weights))
        backward.append((op.aux_input, op.bw_aux_weights))
    elif op.aux_input is not None:
        backward = [(op.aux_input, op.bw_weights)]
    fw_output, fw_state = _sequence(
        op, forward, op.fw_recurrent_weights, op.fw_bias, op.fw_hidden_state
    )
    bw_output, bw_state = _sequence(
        op, backward, op.bw_recurrent_weights, op.bw_bias, op.bw_hidden_state, reverse=True
    )
    if op.merge_outputs:
        outputs = [np.concatenate([fw_output, bw_output], axis=2)]
    else:
        outputs = [fw_output, bw_output]
    return [*outputs, fw_state, bw_state][: len(op.outputs)]


def _sequence(
    op: BoundOperation,
    inputs: Iterable[tuple[BoundOperand, BoundOperand]],
    recurrent_weights: BoundOperand,
    bias: BoundOperand,
    state: BoundOperand,
    reverse: bool = False,
) -> tuple[Array, Array]:
    """(outputs of all steps, the last state) of a cell; inputs: (input, weights) to be added.

    Without a flag time_major there is one step, and the input has no dimension for time.
    """
    products = sum(times(_real(input), _real(weights).T) for input, weights in inputs)
    before_state: Array = products + _real(bias)
    is_sequence = before_state.ndim == 3
    if not is_sequence:
        before_state = before_state[None]
    elif not op.time_major:
        before_state = before_state.swapaxes(0, 1)
    hidden, recurrent = _real(state), _real(recurrent_weights).T
    output = np.empty(before_state.shape)
    steps = range(len(output))
    for t in watched(reversed(steps) if reverse else steps):
        hidden = activation(before_state[t] + times(hidden, recurrent), op.activation)
        output[t] = hidden
    if not is_sequence:
        output = output[0]
    elif not op.time_major:
        output = output.swapaxes(0, 1)
    type = dtype_of(state.type)
    return output.astype(type), hidden.astype(type)


def svdf(op: BoundOperation) -> list[Array]:
    """output[b,u] = act(bias[u] + sum over j < rank, m of s[b,u*rank+j,m] * w[u*rank+j,m]).

    s = state_in, its last entry for filter f replaced by weights_feature[f] . input[b];
    w = weights_time. state_out: s without its first entry, and 0 behind the last.
    """
    filters, memory = op.weights_time.dimensions
    batch = op.input.dimensions[0]
    state = _real(op.state_in).reshape(batch, filters, memory).copy()
    state[:, :, -1] = times(_real(op.input), _real(op.weights_feature).T)
    per_filter = (state * _real(op.weights_time)).sum(axis=2)
    total = per_filter.reshape(batch, filters // op.rank, op.rank).sum(axis=2)
    if op.bias is not None:
        total += _real(op.bias)
    moved = np.zeros_like(state)
    moved[:, :, :-1] = state[:, :, 1:]
    type = dtype_of(op.output.type)
    output = activation(total, op.activation)
    return [moved.reshape(batch, -1).astype(type), output.astype(type)]


def activation(x: Array, code: int) -> Array:
    """The activations of recurrent operations (semantics.md 3)."""
    functions = {
        0: lambda: x,
        1: lambda: np.maximum(x, 0),
        2: lambda: np.clip(x, -1, 1),
        3: lambda: np.clip(x, 0, 6),
        4: lambda: np.tanh(x),
        5: lambda: np.signbit(x).astype(x.dtype),
        6: lambda: 1 / (1 + np.exp(-x)),
    }
    return functions[code]()


def _real(operand: BoundOperand) -> Array:
    values: Array = operand.value.astype(np.float64)
    return values
