"""LSTM, and LSTM over sequences, as steps.

The input contribution of the gates is one matrix product over all time steps, into scratch memory
[rows, gates, units] with one row per batch and time step. Then one kernel runs a direction of a
sequence, or, for a large cell with batch size 1, one kernel call per time step (lstm_rounds.py).
float16 is widened first, constants at compilation.
"""

from math import inf

from nnapi_shim.drivers.cpu.lowering.descriptor import ProductDescriptor
from nnapi_shim.drivers.cpu.lowering.gemm import consecutive_rows, multiplied_with
from nnapi_shim.drivers.cpu.lowering.lstm_joined import can_join, joined
from nnapi_shim.drivers.cpu.lowering.lstm_rounds import is_worth_sharing, rounds
from nnapi_shim.drivers.cpu.lowering.packing import prepared_input
from nnapi_shim.drivers.cpu.lowering.recurrent import (
    TILE_ROWS,
    Rows,
    digit_fields,
    float_in,
    float_out,
    matrix,
    packed,
    recurrent_weight_bytes,
    rows_of,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, tiling
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, At, Buffer, Step, record
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.hints import Any, NamedTuple
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.lstm import (
    DIRECTIONS,
    backward_input,
    direction,
    is_cross_linked,
    leading,
)
from nnapi_shim.operations.lstm_cell import GATES, Cell, Gates, cell

GATE_FIELDS = {
    f"{kind}_{gate}": ADDRESS
    for kind in ("recurrent", "peephole", "gain", "bias")
    for gate in GATES
    if (kind, gate) != ("peephole", "cell")
}
RECURRENCE = record(
    products=ADDRESS,
    aux_products=ADDRESS,
    **GATE_FIELDS,
    projection=ADDRESS,
    output_state_in=ADDRESS,
    cell_state_in=ADDRESS,
    output=ADDRESS,
    output_state_out=ADDRESS,
    cell_state_out=ADDRESS,
    unused=ADDRESS,
    unused_bytes=INT64,
    scratch=ADDRESS,
    tile_batches=INT64,
    tile_rows=INT64,
    batches=INT64,
    steps=INT64,
    backward=INT64,
    step_rows=INT64,
    batch_rows=INT64,
    output_stride=INT64,
    units=INT64,
    outputs=INT64,
    output_table=ADDRESS,
    unit_table=ADDRESS,
    activation=INT64,
    cell_clip=FLOAT32,
    proj_clip=FLOAT32,
    weight_bytes=INT64,
    digits=ADDRESS,
    capacity=INT64,
)
"""One direction of a sequence; see ../kernels/lstm.py. Absent operands have address 0.

products, aux_products: float32 [rows, gates, units]. recurrent_*, projection: packed filters,
in `weight_bytes` for each weight. digits, capacity: room for the digits of a state, see
digit_products.py.
step_rows, batch_rows: stride in rows (of products and output) of a time step and of a batch.
output_stride: bytes of a row of the output.
output_table, unit_table: row offsets for rows of `outputs` or `units` elements, then those of the
last tile of rows, for the micro-kernels. unused, unused_bytes: an output that is zero-filled, and
its bytes per batch.
"""

WRITES = ("output", "output_state_out", "cell_state_out", "unused", "scratch", "digits")

NO_GATES = (None,) * len(GATES)


class Results(NamedTuple):
    """The outputs of a direction: outputs of all time steps and final states as float32, or None.

    stride: bytes of a row of `output`. unused: an operand that is zero-filled.
    """

    output: Any
    stride: int
    output_state: Any = None
    cell_state: Any = None
    unused: Any = None


def lower_lstm(op: BoundOperation) -> list[Step]:
    """A sequence of one time step; the scratch output is zero-filled."""
    parameters, batches = cell(op), op.input.dimensions[0]
    results, after = _results([op.output_state_out, op.cell_state_out, op.output])
    output_state, cell_state, output = results
    before, source = float_in(op.input)
    targets = Results(output, 4 * parameters.outputs, output_state, cell_state, op.scratch)
    rows = Rows(1, batches, batches, 1)
    return before + _sequence(op, parameters, [source], rows, False, targets) + after


def lower_unidirectional_sequence_lstm(op: BoundOperation) -> list[Step]:
    """One direction."""
    parameters = cell(op)
    results, after = _results(op.outputs)
    output, output_state, cell_state = (*results, None, None)[:3]
    before, source = float_in(op.input)
    targets = Results(output, 4 * parameters.outputs, output_state, cell_state)
    return before + _sequence(op, parameters, [source], _rows(op), False, targets) + after


def lower_bidirectional_sequence_lstm(op: BoundOperation) -> list[Step]:
    """Two directions; merged, each writes its part of every row."""
    cells = [direction(op, prefix) for prefix in DIRECTIONS]
    results, after = _results(op.outputs)
    if op.merge_outputs:
        stride = 4 * sum(parameters.outputs for parameters in cells)
        outputs = [(results[0], stride), (At(results[0], 4 * cells[0].outputs), stride)]
        states = results[1:]
    else:
        outputs = [(results[at], 4 * parameters.outputs) for at, parameters in enumerate(cells)]
        states = results[2:]
    states = states or [None] * 4
    steps = []
    for at, (parameters, operand) in enumerate(
        zip(cells, (op.input, backward_input(op)), strict=True)
    ):
        operands = [operand, op.aux_input] if is_cross_linked(op) else [operand]
        sources = []
        for each in operands:
            before, source = float_in(each)
            steps += before
            sources.append(source)
        targets = Results(*outputs[at], *states[2 * at : 2 * at + 2])
        steps += _sequence(op, parameters, sources, _rows(op), at == 1, targets)
    return steps + after


def _rows(op: BoundOperation) -> Rows:
    return rows_of(*leading(op), op.time_major)


def _results(outputs: list[BoundOperand]) -> tuple[list[Any], list[Step]]:
    """(memory of the outputs as float32, steps that store them)."""
    targets = [float_out(operand) for operand in outputs]
    return [target for target, _ in targets], [step for _, steps in targets for step in steps]


def _sequence(
    op: BoundOperation,
    cell: Cell,
    sources: list[Any],
    rows: Rows,
    backward: bool,
    results: Results,
) -> list[Step]:
    """One direction. sources: the input and, if there is one, the auxiliary input, as float32."""
    geometry = tiling()
    tile_rows = 1 if rows.batches == 1 else geometry.few_rows
    tile_batches = tile_rows * TILE_ROWS
    tiles = -(-rows.batches // tile_batches)
    units, outputs = cell.units, cell.outputs
    states = {
        "output": results.output,
        "output_state_out": results.output_state,
        "cell_state_out": results.cell_state,
        "output_stride": results.stride,
        "cell_clip": op.cell_clip if op.cell_clip > 0 else inf,
    }
    if results.unused is None and can_join(cell, sources, rows, op.activation):
        states |= {"output_state_in": cell.output_state, "cell_state_in": cell.cell_state}
        return joined(cell, sources[0], rows, backward, geometry, states)
    steps, fields = _parameters(op, cell, tile_rows, geometry)
    # With layer normalisation, the bias is added after it.
    biases = NO_GATES if cell.gains[-1] else cell.biases
    products = [_products(op, sources[0], rows, cell.input_weights, biases, geometry)]
    if len(sources) > 1:
        products.append(_products(op, sources[1], rows, cell.aux_weights, NO_GATES, geometry))
    for name, (more, buffer) in zip(("products", "aux_products"), products, strict=False):
        steps += more
        fields[name] = buffer
    fields |= {**states, "activation": op.activation}
    unused = results.unused
    size = fields["weight_bytes"]
    fields |= digit_fields(size, max(units, outputs), geometry)
    if unused is None and is_worth_sharing(cell, rows, geometry, size):
        return steps + rounds(cell, rows, backward, geometry, fields)
    proj_clip = op.proj_clip if cell.projection_weights else 0
    steps.append(
        Step(
            RECURRENCE,
            "lstm",
            tiles=tiles,
            writes=WRITES,
            **fields,
            unused=unused,
            unused_bytes=unused.dimensions[1] * ELEMENT_BYTES[unused.type] if unused else 0,
            scratch=Buffer(4 * tiles * tile_batches * (outputs + (2 + len(GATES)) * units)),
            tile_batches=tile_batches,
            tile_rows=tile_rows,
            batches=rows.batches,
            steps=rows.steps,
            backward=int(backward),
            step_rows=rows.step_rows,
            batch_rows=rows.batch_rows,
            units=units,
            outputs=outputs,
            output_table=consecutive_rows(None, rows.batches, 4 * outputs, tile_rows).table,
            unit_table=consecutive_rows(None, rows.batches, 4 * units, tile_rows).table,
            proj_clip=proj_clip if proj_clip > 0 else inf,
        )
    )
    return steps


def _parameters(
    op: BoundOperation, cell: Cell, tile_rows: int, geometry: Tiling
) -> tuple[list[Step], dict[str, Any]]:
    """The fields for operands of the cell: packed matrices, and vectors as float32."""
    vectors: dict[str, BoundOperand | None] = {
        "output_state_in": cell.output_state,
        "cell_state_in": cell.cell_state,
    }
    matrices = {"projection": (cell.projection_weights, cell.projection_bias)}
    for at, gate in enumerate(GATES):
        matrices[f"recurrent_{gate}"] = (cell.recurrent_weights[at], None)
        vectors[f"gain_{gate}"] = cell.gains[at]
        vectors[f"bias_{gate}"] = cell.biases[at] if cell.gains[at] else None
        if gate != "cell":
            vectors[f"peephole_{gate}"] = cell.peepholes[at]
    steps: list[Step] = []
    fields: dict[str, Any] = {"aux_products": None}
    for name, operand in vectors.items():
        more, fields[name] = float_in(operand)
        steps += more
    all_weights = [weights for weights, _ in matrices.values() if weights is not None]
    size = fields["weight_bytes"] = recurrent_weight_bytes(all_weights, tile_rows)
    for name, (weights, bias) in matrices.items():
        fields[name] = None
        if weights is not None:
            more, fields[name] = packed(op, weights, tile_rows, geometry, bias, size)
            steps += more
    return steps, fields


def _products(
    op: BoundOperation,
    source: Any,
    rows: Rows,
    matrices: Gates,
    biases: Gates,
    geometry: Tiling,
) -> tuple[list[Step], Buffer]:
    """The contribution of an input to the gates: [rows, gates, units]."""
    count = rows.total
    gates = [pair for pair in zip(matrices, biases, strict=True) if pair[0] is not None]
    units, depth = gates[0][0].dimensions
    buffer = Buffer(4 * count * len(gates) * units)
    product = ProductDescriptor(op.variant, quantized=False)
    input = prepared_input(product, source, count, depth, geometry)
    input_rows = consecutive_rows(source, count, 4 * depth, geometry.tile_rows(count))
    steps: list[Step] = []
    for at, (weights, bias) in enumerate(gates):
        steps += multiplied_with(
            product,
            matrix(weights, bias),
            input,
            input_rows,
            depth,
            At(buffer, 4 * at * units),
            geometry,
            output_columns=len(gates) * units,
        )
    return steps, buffer
