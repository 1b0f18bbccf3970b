"""Recurrent operations unrolled into matrix products, sums and activations."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from nnapi_shim.formats.graph.builder import ExportBuilder
from nnapi_shim.formats.graph.rule import RefusedError, complete, known
from nnapi_shim.formats.graph.tensor import Node, Tensor, constant
from nnapi_shim.operations.lstm_cell import GATES, STATES, Cell, cell

FLAT = 1e-8
"""Epsilon that NNAPI's layer normalisation adds to the variance."""

MOST_STEPS = 512
"""Sequences are unrolled up to this number of steps; the size of the file grows with it."""


def lstm(b: ExportBuilder, op: Node) -> None:
    """One step; the scratch output is zeros."""
    state, memory = _step(b, op, _cell(op), op.input, None, op.output_state_in, op.cell_state_in)
    b.copy(state, op.output)
    b.copy(state, op.output_state_out)
    b.copy(memory, op.cell_state_out)
    zeros = constant(np.zeros(complete(op.scratch, "scratch"), np.float32))
    b.copy(zeros, op.scratch)


def unidirectional_sequence_lstm(b: ExportBuilder, op: Node) -> None:
    """The unrolled sequence."""
    steps = _steps(b, op.input, bool(op.time_major))
    outputs, state, memory = _run(b, op, _cell(op), steps)
    _joined(b, outputs, bool(op.time_major), op.output)
    _states(b, op, ("output_state_out", state), ("cell_state_out", memory))


def bidirectional_sequence_lstm(b: ExportBuilder, op: Node) -> None:
    """One forward cell and one backward cell."""
    both = []
    names: list[tuple[str, Tensor]] = []
    is_crossed = (
        op.aux_input is not None and op.named.get("fw_aux_input_to_cell_weights") is not None
    )
    aux = _steps(b, op.aux_input, bool(op.time_major)) if is_crossed else None
    states = ("activation_state_in", "cell_state_in")
    for prefix in ("fw_", "bw_"):
        source = op.input
        if prefix == "bw_" and op.aux_input is not None and not is_crossed:
            source = op.aux_input
        order = -1 if prefix == "bw_" else 1
        steps = _steps(b, source, bool(op.time_major))[::order]
        operands = _cell(op, prefix, states)
        outputs, state, memory = _run(b, op, operands, steps, aux and aux[::order])
        both.append(outputs[::order])
        names += [(f"{prefix}activation_state_out", state), (f"{prefix}cell_state_out", memory)]
    _both(b, op, both)
    _states(b, op, *names)


def _cell(op: Any, prefix: str = "", states: Sequence[str] = STATES) -> Cell:
    """The operands of a cell, by the names of the bound operation."""
    return cell(op, prefix, states)


def _both(b: ExportBuilder, op: Node, both: list[list[Tensor]]) -> None:
    """The outputs of both directions, merged or separate."""
    time_major = bool(op.time_major)
    if op.merge_outputs:
        merged = [b.concatenate([fw, bw], 1) for fw, bw in zip(*both, strict=True)]
        _joined(b, merged, time_major, op.fw_output)
    else:
        _joined(b, both[0], time_major, op.fw_output)
        _joined(b, both[1], time_major, op.bw_output)


def _states(b: ExportBuilder, op: Node, *states: tuple[str, Tensor]) -> None:
    for name, value in states:
        out = op.named.get(name)
        if out is not None:
            b.copy(value, out)


def _run(
    b: ExportBuilder, op: Node, cell: Cell, steps: list[Tensor], aux: list[Tensor] | None = None
) -> tuple[list[Tensor], Tensor, Tensor]:
    state: Any = cell.output_state
    memory: Any = cell.cell_state
    outputs = []
    for at, step in enumerate(steps):
        state, memory = _step(b, op, cell, step, aux[at] if aux else None, state, memory)
        outputs.append(state)
    return outputs, state, memory


def _step(
    b: ExportBuilder,
    op: Node,
    cell: Cell,
    x: Tensor,
    aux: Tensor | None,
    state: Tensor,
    memory: Tensor,
) -> tuple[Tensor, Tensor]:
    """The output and cell state after one step; formulas as in the reference device."""

    def gate(index: int, cell_state: Tensor) -> Tensor:
        gain, bias = cell.gains[index], cell.biases[index]
        total = b.fully_connected(x, cell.input_weights[index], bias if gain is None else None)
        if aux is not None:
            total = b.add(total, b.fully_connected(aux, cell.aux_weights[index]))
        total = b.add(total, b.fully_connected(state, cell.recurrent_weights[index]))
        if cell.peepholes[index] is not None:
            total = b.add(total, b.mul(cell_state, cell.peepholes[index]))
        if gain is not None:
            deviation = b.sub(total, b.mean(total, (1,)))
            variance = b.mean(b.mul(deviation, deviation), (1,))
            spread = b.unary("RSQRT", b.add(variance, FLAT))
            total = b.mul(b.mul(deviation, spread), gain)
            total = total if bias is None else b.add(total, bias)
        return total

    forget = b.unary("LOGISTIC", gate(1, memory))
    into = b.sub(1.0, forget) if cell.is_coupled else b.unary("LOGISTIC", gate(0, memory))
    fresh = b.mul(into, b.activated(gate(2, memory), op.activation))
    memory = _clipped(b, b.add(b.mul(forget, memory), fresh), op.cell_clip)
    result = b.mul(b.unary("LOGISTIC", gate(3, memory)), b.activated(memory, op.activation))
    if cell.projection_weights is not None:
        weights, bias = cell.projection_weights, cell.projection_bias
        result = _clipped(b, b.fully_connected(result, weights, bias), op.proj_clip)  # type: ignore[arg-type]
    elif cell.outputs < cell.units:
        result = b.slice(result, (0, 0), (result.dimensions[0], cell.outputs))
    return result, memory


def _clipped(b: ExportBuilder, x: Tensor, bound: float) -> Tensor:
    if not bound > 0:
        return x
    return b.binary("MAXIMUM", b.binary("MINIMUM", x, bound), -bound)


def _steps(b: ExportBuilder, sequence: Tensor, time_major: bool) -> list[Tensor]:
    """The steps of a sequence, each [batch, size]."""
    sizes = known(sequence, "input")
    if len(sizes) != 3:
        raise RefusedError(f"its sequence has {len(sizes)} dimensions; it must have 3")
    time = 0 if time_major else 1
    count = sizes[time]
    if not count:
        raise RefusedError("the length of its sequence is not known")
    if count > MOST_STEPS:
        raise RefusedError(f"its sequence has {count} steps; at most {MOST_STEPS} are unrolled")
    batch, size = sizes[1 - time], sizes[2]
    steps = []
    for at in range(count):
        begin = [0, 0, 0]
        begin[time] = at
        part = list(sizes)
        part[time] = 1
        steps.append(b.reshape(b.slice(sequence, begin, part), (batch, size)))
    return steps


def _joined(b: ExportBuilder, steps: list[Tensor], time_major: bool, out: Tensor) -> None:
    batch, size = steps[0].dimensions
    sizes = (1, batch, size) if time_major else (batch, 1, size)
    axis = 0 if time_major else 1
    b.concatenate([b.reshape(step, sizes) for step in steps], axis, out)


# RNN and SVDF


def rnn(b: ExportBuilder, op: Node) -> None:
    """act(W x + R h + bias)."""
    size = int(np.prod(known(op.input, "input")[1:]))
    x = b.reshape(op.input, (op.input.dimensions[0], size))
    state = _rnn_step(b, op, [(x, op.weights)], op.recurrent_weights, op.bias, op.hidden_state_in)
    b.copy(state, op.output)
    b.copy(state, op.hidden_state_out)


def unidirectional_sequence_rnn(b: ExportBuilder, op: Node) -> None:
    """The unrolled sequence."""
    time_major = bool(op.time_major)
    state, outputs = op.hidden_state_in, []
    for x in _steps(b, op.input, time_major):
        state = _rnn_step(b, op, [(x, op.weights)], op.recurrent_weights, op.bias, state)
        outputs.append(state)
    _joined(b, outputs, time_major, op.output)
    _states(b, op, ("hidden_state_out", state))


def bidirectional_sequence_rnn(b: ExportBuilder, op: Node) -> None:
    """One forward cell and one backward cell."""
    time_major = bool(op.time_major)
    both, states = [], []
    for prefix in ("fw_", "bw_"):
        order = -1 if prefix == "bw_" else 1
        kinds = ("weights", "aux_weights", "recurrent_weights", "bias")
        weights, aux_weights, recurrent, bias = (op.named[f"{prefix}{kind}"] for kind in kinds)
        is_aux = op.aux_input is not None
        source = op.aux_input if is_aux and aux_weights is None and order < 0 else op.input
        steps = _steps(b, source, time_major)[::order]
        aux = _steps(b, op.aux_input, time_major)[::order] if aux_weights is not None else None
        state, outputs = op.named[f"{prefix}hidden_state"], []
        for at, x in enumerate(steps):
            products = [(x, weights)] + ([(aux[at], aux_weights)] if aux else [])
            state = _rnn_step(b, op, products, recurrent, bias, state)
            outputs.append(state)
        both.append(outputs[::order])
        states.append((f"{prefix}hidden_state_out", state))
    _both(b, op, both)
    _states(b, op, *states)


def _rnn_step(
    b: ExportBuilder,
    op: Node,
    products: list[tuple[Tensor, Tensor]],
    recurrent: Tensor,
    bias: Tensor,
    state: Tensor,
) -> Tensor:
    total = b.fully_connected(state, recurrent, bias)
    for x, weights in products:
        total = b.add(total, b.fully_connected(x, weights))
    return b.activated(total, op.activation)


def svdf(b: ExportBuilder, op: Node) -> None:
    """Shift the state, append the new entry, multiply by the time weights, sum over each rank."""
    filters, memory = known(op.weights_time, "weights_time")
    batch = complete(op.input, "input")[0]
    state = b.reshape(op.state_in, (batch, filters, memory))
    fresh = b.reshape(b.fully_connected(op.input, op.weights_feature), (batch, filters, 1))
    if memory > 1:
        older = b.slice(state, (0, 0, 0), (batch, filters, memory - 1))
        state = b.concatenate([older, fresh], 2)
        kept = b.slice(state, (0, 0, 1), (batch, filters, memory - 1))
        zeros = constant(np.zeros((batch, filters, 1), np.float32))
        moved = b.concatenate([kept, zeros], 2)
    else:
        state = fresh
        moved = constant(np.zeros((batch, filters, 1), np.float32))
    weights = b.reshape(op.weights_time, (1, filters, memory))
    products = b.reshape(b.mul(state, weights), (batch, filters // op.rank, op.rank * memory))
    sums = Tensor(products.type, (batch, filters // op.rank))
    total = b.make("REDUCE_SUM", sums, input=products, axes=(2,), keep_dims=False)
    if op.bias is not None:
        total = b.add(total, op.bias)
    b.activated(total, op.activation, op.output)
    b.reshape(moved, (batch, filters * memory), op.state_out)


def quantized_lstm(b: ExportBuilder, op: Any) -> None:
    """QUANTIZED_LSTM in float32; results may differ by the rounding of the integer kernel.

    Without layer normalisation, NNAPI adds no biases and scales the gates by 2^-12.
    """
    operands = cell(op, "", ("prev_output", "prev_cell_state"))
    if any(gain is not None for gain in operands.gains):
        raise RefusedError("its integer layer normalisation has no counterpart")
    gates = [gate for gate in GATES if not (operands.is_coupled and gate == "input")]
    if any(op.named[f"{gate}_intermediate_scale"] != 2.0**-12 for gate in gates):
        raise RefusedError("its intermediate scales are not 2^-12")
    out, projection = op.output, operands.projection_weights
    if projection is None and (op.hidden_state_scale, -op.hidden_state_zero_point) != (
        out.scale,
        out.zero_point,
    ):
        raise RefusedError("its hidden state has another scale or zero point than its output")

    def real(tensors: Any) -> tuple[Any, ...]:
        return tuple(None if t is None else b.real(t) for t in tensors)

    bias: Any = operands.projection_bias
    if bias is not None:
        scale = np.float32(projection.scale * op.hidden_state_scale)  # type: ignore[union-attr]
        bias = b.dequantized_bias(bias, np.asarray(scale))
    floats: Any = operands._replace(
        input_weights=real(operands.input_weights),
        recurrent_weights=real(operands.recurrent_weights),
        peepholes=real(operands.peepholes),
        biases=(None,) * len(GATES),
        projection_weights=real([projection])[0],
        projection_bias=bias,
    )
    like: Any = SimpleNamespace(activation=4, cell_clip=op.cell_clip, proj_clip=op.projection_clip)
    x, before, state = real((op.input, op.prev_output, op.prev_cell_state))
    result, state = _step(b, like, floats, x, None, before, state)
    b.store(result, out)
    b.store(result, op.output_state_out)
    b.store(state, op.cell_state_out)
