"""LSTM, and LSTM over sequences, as steps.

What the gates take from the input is one matrix product over all steps in time, into scratch memory
[rows, gates, units], a row for each batch and step. One kernel then runs a direction of a sequence,
or, where there is much to do for one batch, one each of its steps (lstm_rounds.py).
float16 is widened first: constants at compilation.
"""

from math import inf

from nnapi_shim.drivers.cpu.lowering.gemm import consecutive_rows, product_with
from nnapi_shim.drivers.cpu.lowering.half_precision import is_halved
from nnapi_shim.drivers.cpu.lowering.lstm_rounds import is_worth_sharing, rounds
from nnapi_shim.drivers.cpu.lowering.packing import prepared_input
from nnapi_shim.drivers.cpu.lowering.recurrent import (
    TILE_ROWS,
    Rows,
    float_in,
    float_out,
    matrix,
    packed,
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
    halved=INT64,
)
"""One direction of a sequence; see ../kernels/lstm.py. What the cell lacks has address 0.

products, aux_products: float32 [rows, gates, units]. recurrent_*, projection: packed filters,
of float16 if they are halved.
step_rows, batch_rows: from a row (of products and of output) to that of the next step or batch.
output_stride: bytes of a row of the output.
output_table, unit_table: offsets of rows of `outputs` or `units` numbers, then those of the last
tile of rows, as the micro-kernels want them. unused: bytes for each batch to be set to 0.
"""

WRITES = ("output", "output_state_out", "cell_state_out", "unused", "scratch")

NO_GATES = (None,) * len(GATES)


class Results(NamedTuple):
    """Where a direction writes: outputs of all steps and final states as float32, or None.

    stride: bytes of a row of `output`. unused: an operand to be set to 0.
    """

    output: Any
    stride: int
    output_state: Any = None
    cell_state: Any = None
    unused: Any = None


def lower_lstm(op: BoundOperation) -> list[Step]:
    """A sequence of one step; there is nothing to tell of the scratch output, which is set to 0."""
    found, batches = cell(op), op.input.dimensions[0]
    results, after = _results([op.output_state_out, op.cell_state_out, op.output])
    output_state, cell_state, output = results
    before, source = float_in(op.input)
    wanted = Results(output, 4 * found.outputs, output_state, cell_state, op.scratch)
    rows = Rows(1, batches, batches, 1)
    return before + _sequence(op, found, [source], rows, False, wanted) + after


def lower_unidirectional_sequence_lstm(op: BoundOperation) -> list[Step]:
    """One direction."""
    found = cell(op)
    results, after = _results(op.outputs)
    output, output_state, cell_state = (*results, None, None)[:3]
    before, source = float_in(op.input)
    wanted = Results(output, 4 * found.outputs, output_state, cell_state)
    return before + _sequence(op, found, [source], _rows(op), False, wanted) + after


def lower_bidirectional_sequence_lstm(op: BoundOperation) -> list[Step]:
    """Two directions; merged, each writes its part of every row."""
    cells = [direction(op, prefix) for prefix in DIRECTIONS]
    results, after = _results(op.outputs)
    if op.merge_outputs:
        stride = 4 * sum(found.outputs for found in cells)
        places = [(results[0], stride), (At(results[0], 4 * cells[0].outputs), stride)]
        states = results[1:]
    else:
        places = [(results[at], 4 * found.outputs) for at, found in enumerate(cells)]
        states = results[2:]
    states = states or [None] * 4
    steps = []
    for at, (found, operand) in enumerate(zip(cells, (op.input, backward_input(op)), strict=True)):
        operands = [operand, op.aux_input] if is_cross_linked(op) else [operand]
        sources = []
        for each in operands:
            before, source = float_in(each)
            steps += before
            sources.append(source)
        wanted = Results(*places[at], *states[2 * at : 2 * at + 2])
        steps += _sequence(op, found, sources, _rows(op), at == 1, wanted)
    return steps + after


def _rows(op: BoundOperation) -> Rows:
    return rows_of(*leading(op), op.time_major)


def _results(outputs: list[BoundOperand]) -> tuple[list[Any], list[Step]]:
    """Where to write outputs as float32, and the steps that store them."""
    found = [float_out(operand) for operand in outputs]
    return [place for place, _ in found], [step for _, steps in found for step in steps]


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
    steps, fields = _parameters(op, cell, tile_rows, geometry)
    # Normalised gates add the bias later.
    biases = NO_GATES if cell.gains[-1] else cell.biases
    products = [_products(op, sources[0], rows, cell.input_weights, biases, geometry)]
    if len(sources) > 1:
        products.append(_products(op, sources[1], rows, cell.aux_weights, NO_GATES, geometry))
    for name, (more, buffer) in zip(("products", "aux_products"), products, strict=False):
        steps += more
        fields[name] = buffer
    fields |= {
        "output": results.output,
        "output_state_out": results.output_state,
        "cell_state_out": results.cell_state,
        "output_stride": results.stride,
        "activation": op.activation,
        "cell_clip": op.cell_clip if op.cell_clip > 0 else inf,
    }
    unused = results.unused
    if unused is None and is_worth_sharing(cell, rows, geometry):
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
    """The fields that name operands of the cell: packed matrices, the rest as float32."""
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
    there = [weights for weights, _ in matrices.values() if weights is not None]
    halved = all(is_halved(weights, tile_rows) for weights in there)
    fields["halved"] = int(halved)
    for name, (weights, bias) in matrices.items():
        fields[name] = None
        if weights is not None:
            more, fields[name] = packed(op, weights, tile_rows, geometry, bias, halved)
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
    """What the gates take from an input: [rows, gates, units]."""
    count = rows.total
    gates = [pair for pair in zip(matrices, biases, strict=True) if pair[0] is not None]
    units, depth = gates[0][0].dimensions
    buffer = Buffer(4 * count * len(gates) * units)
    input = prepared_input(op, source, count, depth, geometry)
    places = consecutive_rows(source, count, 4 * depth, geometry.tile_rows(count))
    steps: list[Step] = []
    for at, (weights, bias) in enumerate(gates):
        steps += product_with(
            op,
            matrix(weights, bias),
            input,
            places,
            depth,
            At(buffer, 4 * at * units),
            geometry,
            None,
            output_columns=len(gates) * units,
        )
    return steps, buffer
