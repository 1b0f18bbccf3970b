"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN and SVDF as steps.

The input contribution of a cell is one matrix product over all time steps, into scratch memory.
Then one kernel runs a direction of a sequence. float16 is widened first.
"""

from nnapi_shim.drivers.cpu.lowering.gemm import consecutive_rows
from nnapi_shim.drivers.cpu.lowering.recurrent import (
    TILE_ROWS,
    Rows,
    digit_fields,
    float_in,
    float_out,
    matrix,
    packed,
    products,
    recurrent_weight_bytes,
    rows_of,
)
from nnapi_shim.drivers.cpu.lowering.tiling import tiling
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, At, Buffer, Step, record
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.rnn import time_and_batch

RECURRENCE = record(
    products=ADDRESS, aux_products=ADDRESS, recurrent=ADDRESS, table=ADDRESS, state_in=ADDRESS,
    output=ADDRESS, state_out=ADDRESS, scratch=ADDRESS,
    tile_batches=INT64, tile_rows=INT64, batches=INT64, steps=INT64, backward=INT64,
    step_rows=INT64, batch_rows=INT64, output_stride=INT64, units=INT64, activation=INT64,
    weight_bytes=INT64,
    digits=ADDRESS,
    capacity=INT64,
)  # fmt: skip
"""One direction; step_rows and batch_rows as in lowering/recurrent.py.

recurrent: packed weights, in `weight_bytes` each. output_stride: bytes of a row of the output.
table: row offsets for rows of `units` elements, then those of the last tile of rows, for the
micro-kernels. digits, capacity: as in lstm.py.
"""

SVDF = record(
    features=ADDRESS, state_in=ADDRESS, weights_time=ADDRESS, bias=ADDRESS,
    state_out=ADDRESS, output=ADDRESS,
    batches=INT64, tile_batches=INT64, filters=INT64, memory=INT64, rank=INT64, activation=INT64,
)  # fmt: skip

TILE_STATE = 1 << 16
"""State elements of a tile, about."""


class Cell(NamedTuple):
    """One direction. inputs: (input, weights) of the input and, if present, the auxiliary input."""

    inputs: list[tuple[BoundOperand, BoundOperand]]
    recurrent_weights: BoundOperand
    bias: BoundOperand
    state_in: BoundOperand


def lower_rnn(op: BoundOperation) -> list[Step]:
    """A sequence of one time step; output and state are equal."""
    cell = Cell([(op.input, op.weights)], op.recurrent_weights, op.bias, op.hidden_state_in)
    rows = rows_of(1, op.input.dimensions[0], True)
    return _whole(op, cell, rows, op.output, op.hidden_state_out)


def lower_unidirectional_sequence_rnn(op: BoundOperation) -> list[Step]:
    """One direction."""
    cell = Cell([(op.input, op.weights)], op.recurrent_weights, op.bias, op.hidden_state_in)
    rows = rows_of(*time_and_batch(op), op.time_major)
    return _whole(op, cell, rows, op.output, op.hidden_state_out)


def _whole(
    op: BoundOperation, cell: Cell, rows: Rows, output: BoundOperand, state: BoundOperand | None
) -> list[Step]:
    """A direction with a separate output."""
    target, after = float_out(output)
    stride = 4 * cell.state_in.dimensions[1]
    return [*_direction(op, cell, rows, False, target, stride, state), *after]


def lower_bidirectional_sequence_rnn(op: BoundOperation) -> list[Step]:
    """Two directions; merged, each writes its part of every row."""
    forward, backward = [(op.input, op.fw_weights)], [(op.input, op.bw_weights)]
    if op.fw_aux_weights is not None:
        forward.append((op.aux_input, op.fw_aux_weights))
        backward.append((op.aux_input, op.bw_aux_weights))
    elif op.aux_input is not None:
        backward = [(op.aux_input, op.bw_weights)]
    cells = (
        Cell(forward, op.fw_recurrent_weights, op.fw_bias, op.fw_hidden_state),
        Cell(backward, op.bw_recurrent_weights, op.bw_bias, op.bw_hidden_state),
    )
    fw_stride, bw_stride = (4 * cell.state_in.dimensions[1] for cell in cells)
    target, after = float_out(op.fw_output)
    if op.merge_outputs:
        both = fw_stride + bw_stride
        targets = [(target, both), (At(target, fw_stride), both)]
    else:
        bw_target, more = float_out(op.bw_output)
        after += more
        targets = [(target, fw_stride), (bw_target, bw_stride)]
    rows = rows_of(*time_and_batch(op), op.time_major)
    steps = _direction(op, cells[0], rows, False, *targets[0], op.fw_hidden_state_out)
    steps += _direction(op, cells[1], rows, True, *targets[1], op.bw_hidden_state_out)
    return [*steps, *after]


def _direction(
    op: BoundOperation,
    cell: Cell,
    rows: Rows,
    backward: bool,
    target: Any,
    stride: int,
    state: BoundOperand | None,
) -> list[Step]:
    """Write outputs to `target` with a row stride of `stride` bytes, the last output to `state`."""
    geometry = tiling()
    units = cell.state_in.dimensions[1]
    tile_rows = 1 if rows.batches == 1 else geometry.few_rows
    tile_batches = tile_rows * TILE_ROWS
    tiles = -(-rows.batches // tile_batches)
    size = recurrent_weight_bytes([cell.recurrent_weights], tile_rows)
    steps, recurrent = packed(op, cell.recurrent_weights, tile_rows, geometry, size=size)
    input_products: list[Any] = []
    for bias, (operand, weights) in zip((cell.bias, None), cell.inputs, strict=False):
        more, source = float_in(operand)
        steps += more
        filter, depth = matrix(weights, bias), weights.dimensions[1]
        more, product = products(op, source, rows.total, filter, depth, geometry)
        steps += more
        input_products.append(product)
    more, state_in = float_in(cell.state_in)
    state_out, after = float_out(state)
    step = Step(
        RECURRENCE,
        "rnn",
        tiles=tiles,
        writes=("output", "state_out", "scratch", "digits"),
        products=input_products[0],
        aux_products=input_products[1] if len(input_products) > 1 else None,
        recurrent=recurrent,
        table=consecutive_rows(None, rows.batches, 4 * units, tile_rows).table,
        state_in=state_in,
        output=target,
        state_out=state_out,
        scratch=Buffer(4 * tiles * tile_batches * 2 * units),
        tile_batches=tile_batches,
        tile_rows=tile_rows,
        batches=rows.batches,
        steps=rows.steps,
        backward=int(backward),
        step_rows=rows.step_rows,
        batch_rows=rows.batch_rows,
        output_stride=stride,
        units=units,
        activation=op.activation,
        weight_bytes=size,
        **digit_fields(size, units, geometry),
    )
    return [*steps, *more, step, *after]


def lower_svdf(op: BoundOperation) -> list[Step]:
    """The features are a matrix product; one kernel does the rest."""
    geometry = tiling()
    batches, size = op.input.dimensions
    filters, memory = op.weights_time.dimensions
    steps, source = float_in(op.input)
    more, features = products(op, source, batches, matrix(op.weights_feature), size, geometry)
    steps += more
    operands: dict[str, Any] = {}
    for name in ("state_in", "weights_time", "bias"):
        more, operands[name] = float_in(getattr(op, name))
        steps += more
    after: list[Step] = []
    for name in ("state_out", "output"):
        operands[name], more = float_out(getattr(op, name))
        after += more
    tile_batches = max(1, TILE_STATE // (filters * memory))
    step = Step(
        SVDF,
        "svdf",
        tiles=-(-batches // tile_batches),
        writes=("output", "state_out"),
        **operands,
        features=features,
        batches=batches,
        tile_batches=tile_batches,
        filters=filters,
        memory=memory,
        rank=op.rank,
        activation=op.activation,
    )
    return [*steps, step, *after]
