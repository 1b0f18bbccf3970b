"""An LSTM sequence of batch size 1 as rounds: one parallel step per time step.

A tile computes all gates of several units; it needs only the output of the previous round. A thread
gets about the same units in each round, so their weights stay in its cache. Every other round takes
the tiles of a thread from the last to the first: what the cache holds of weights that do not fit is
what the round before has read last.
"""

from nnapi_shim.drivers.cpu.lowering.digit_products import prepared_digits
from nnapi_shim.drivers.cpu.lowering.recurrent import Rows, panel_columns
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling
from nnapi_shim.drivers.cpu.program import threads
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, At, Buffer, Step, record
from nnapi_shim.hints import Any
from nnapi_shim.operations.lstm_cell import GATES, Cell

CELL_FIELDS = (
    *(f"recurrent_{gate}" for gate in GATES),
    *(f"peephole_{gate}" for gate in GATES if gate != "cell"),
)
"""The fields of a cell that both LSTM kernels have."""
ROUND = record(
    products=ADDRESS,
    aux_products=ADDRESS,
    **dict.fromkeys(CELL_FIELDS, ADDRESS),
    state=ADDRESS,
    next_state=ADDRESS,
    first_cells=ADDRESS,
    cells=ADDRESS,
    gates=ADDRESS,
    output=ADDRESS,
    output_state_out=ADDRESS,
    cell_state_out=ADDRESS,
    table=ADDRESS,
    units=INT64,
    activation=INT64,
    cell_clip=FLOAT32,
    weight_bytes=INT64,
    digits=ADDRESS,
    capacity=INT64,
    turned=INT64,
)
"""A round; a tile is the units of a panel. Absent operands have address 0.

products, aux_products: float32 [gates, units] of this time step. state, next_state, first_cells,
cells, output: float32 [units]; first_cells: initial cell state, only in the first round.
gates: scratch memory, float32 [5, units]. output_state_out, cell_state_out: only in the last round.
digits, capacity: those of the state, if weights are int8.
turned: the first so many tiles are in reversed order, and so are the others; 0: all are in order.
"""

WRITES = ("next_state", "cells", "gates", "output", "output_state_out", "cell_state_out")
MIN_WEIGHT_BYTES = 256 << 10
"""Bytes of weights of a parallel round, at least: about 4 us."""
MAX_UNITS = 8192
"""Units, at most: a tile of more could take 1 ms without a check of the deadline."""
MAX_ROUNDS = 512
"""Rounds, at most: each is a step of the program."""


def is_worth_sharing(cell: Cell, rows: Rows, geometry: Tiling, size: int) -> bool:
    """Whether a sequence is lowered to rounds; size: bytes of a packed weight."""
    gates = sum(weights is not None for weights in cell.recurrent_weights)
    return (
        rows.batches == 1
        and 1 < rows.steps <= MAX_ROUNDS
        and cell.projection_weights is None
        and not cell.gains[-1]
        and cell.outputs == cell.units
        and panel_columns(size, geometry) < cell.units <= MAX_UNITS
        and gates * size * cell.units * cell.outputs >= MIN_WEIGHT_BYTES
    )


def rounds(
    cell: Cell, rows: Rows, backward: bool, geometry: Tiling, fields: dict[str, Any]
) -> list[Step]:
    """The rounds of a sequence. fields: of the kernel for whole sequences."""
    units, bytes_ = cell.units, 4 * cell.units
    row_bytes = bytes_ * sum(weights is not None for weights in cell.recurrent_weights)
    states = Buffer(2 * bytes_)
    same = {name: fields[name] for name in CELL_FIELDS} | {
        "cells": Buffer(bytes_),
        "gates": Buffer(5 * bytes_),
        "table": bytes(8),
        "units": units,
        "activation": fields["activation"],
        "cell_clip": fields["cell_clip"],
        **{name: fields[name] for name in ("weight_bytes", "digits", "capacity")},
    }
    tiles = -(-units // panel_columns(fields["weight_bytes"], geometry))
    # A worker begins at the last tile.
    turned = -(-tiles // min(2, threads.count()))
    steps = []
    for number in range(rows.steps):
        time = rows.steps - 1 - number if backward else number
        is_first, is_last = number == 0, number == rows.steps - 1
        row = time * rows.step_rows
        aux = fields["aux_products"]
        state = fields["output_state_in"] if is_first else At(states, number % 2 * bytes_)
        if fields["digits"] is not None:
            steps.append(prepared_digits(state, fields["digits"], 1, units, geometry))
        steps.append(
            Step(
                ROUND,
                "lstm_round",
                tiles=tiles,
                writes=WRITES,
                products=At(fields["products"], row * row_bytes),
                aux_products=None if aux is None else At(aux, row * row_bytes),
                state=state,
                next_state=At(states, (number + 1) % 2 * bytes_),
                first_cells=fields["cell_state_in"] if is_first else None,
                output=At(fields["output"], row * fields["output_stride"]),
                output_state_out=fields["output_state_out"] if is_last else None,
                cell_state_out=fields["cell_state_out"] if is_last else None,
                turned=turned if number % 2 else 0,
                **same,
            )
        )
    return steps
