"""QUANTIZED_LSTM with constant weights: the gates of all units side by side.

Weights are packed by columns (../codegen/byte_columns.py), one for each gate of each unit, so one
product takes all gates. Each gate has room for a multiple of ROOM units: loops over units need no
remainder. Layer normalization, peepholes, coupled gates and a projection are left to the kernel for
any cell.
"""

from nnapi_shim.drivers.cpu.lowering.tiling import round_up
from nnapi_shim.drivers.cpu.program.record import ADDRESS, INT64, Buffer, Step, record
from nnapi_shim.hints import Any
from nnapi_shim.operations.lstm_cell import GATES, Cell, Gates

ROOM = 8
COLUMNS = ROOM * len(GATES)
"""The number of columns is a multiple of it."""

OF_GATES = tuple([f"weights_{gate}" for gate in GATES])
PACK_GATES = record(
    **dict.fromkeys(OF_GATES, ADDRESS), output=ADDRESS, units=INT64, depth=INT64, room=INT64
)
"""Weights of each gate: int8[units, depth]; output: the packed columns."""
CELL = {
    "input": ADDRESS,
    "prev_output": ADDRESS,
    "prev_cell_state": ADDRESS,
    "logistic": ADDRESS,
    "tanh": ADDRESS,
    "output": ADDRESS,
    "cell_state_out": ADDRESS,
    "scratch": ADDRESS,
    "input_size": INT64,
    "outputs": INT64,
}
"""Of every quantized cell. logistic, tanh: tables for numbers with 3 integer bits."""
OF_BYTES = {
    "gates": ADDRESS,
    "state_tanh": ADDRESS,
    "output_state_out": ADDRESS,
    "units": INT64,
    "input_zero": INT64,
    "output_zero": INT64,
    "product_shift": INT64,
    "cell_low": INT64,
    "cell_high": INT64,
    "hidden_mantissa": INT64,
    "hidden_exponent": INT64,
    "hidden_zero": INT64,
}
"""Of those of QUANTIZED_LSTM: see lstm_quantized.CELL_8."""
JOINED = record(
    **CELL,
    **OF_BYTES,
    scratch_bytes=INT64,
    input_weights=ADDRESS,
    recurrent_weights=ADDRESS,
    room=INT64,
)
"""input_weights, recurrent_weights: packed. A tile is a batch with scratch_bytes of scratch."""

MOST_PRODUCTS = 1 << 20
"""Products of a batch, at most, as the kernel does not look at the clock."""


def can_join(cell: Cell) -> bool:
    """Whether the kernel for joined gates computes a cell."""
    weights = (*cell.input_weights, *cell.recurrent_weights)
    others = (*cell.peepholes, *cell.gains, cell.projection_weights)
    return (
        all(each is not None and each.value is not None for each in weights)
        and all(each is None for each in others)
        and sum(each.dimensions[0] * each.dimensions[1] for each in weights) <= MOST_PRODUCTS
    )


def joined(cell: Cell, batches: int, fields: dict[str, Any]) -> list[Step]:
    """The steps of a cell. fields: those that both kernels have."""
    inputs, outputs, units = fields["input_size"], cell.outputs, cell.units
    room = round_up(units, ROOM)
    packing, (direct, recurrent) = [], (cell.input_weights, cell.recurrent_weights)
    targets = []
    for weights, depth in ((direct, inputs), (recurrent, outputs)):
        step, target = _packed(weights, depth, room)
        packing.append(step)
        targets.append(target)
    # Of each unit: two sums and a result of four gates, the cell state, and the output.
    unit_bytes = (4 + 4 + 2) * len(GATES) + 2 + 1
    numbers = round_up(inputs, 2) + round_up(outputs, 2)
    scratch_bytes = round_up(room * unit_bytes + 2 * numbers, 64)
    step = Step(
        JOINED,
        "lstm_joined_q8",
        tiles=batches,
        writes=("output", "output_state_out", "cell_state_out", "scratch"),
        **fields,
        scratch=Buffer(batches * scratch_bytes),
        scratch_bytes=scratch_bytes,
        input_weights=targets[0],
        recurrent_weights=targets[1],
        room=room,
    )
    return [*packing, step]


def _packed(weights: Gates, depth: int, room: int) -> tuple[Step, Buffer]:
    """The step that packs the weights of all gates, and where they are then."""
    operands: dict[str, Any] = dict(zip(OF_GATES, weights, strict=True))
    target = Buffer(len(GATES) * room * round_up(depth, 2))
    units = weights[0].dimensions[0]
    step = Step(
        PACK_GATES,
        "pack_gates",
        once=True,
        **operands,
        output=target,
        units=units,
        depth=depth,
        room=room,
    )
    return step, target
