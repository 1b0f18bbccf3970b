"""Small LSTMs of float32 and batch size 1: the gates of all units side by side.

The weights of the input and of the output state are packed together by columns, one for each gate
of each unit (../codegen/float_columns.py), so a step has one product, and then takes all gates of a
vector of units at once. Larger cells are better off with one product for the inputs of all steps.
"""

from nnapi_shim.drivers.cpu.lowering.half_precision import HALVED
from nnapi_shim.drivers.cpu.lowering.recurrent import Rows
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling, round_up
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32, INT64, Buffer, Step, record
from nnapi_shim.hal.enums import OperandType
from nnapi_shim.hints import Any
from nnapi_shim.operations.lstm_cell import GATES, Cell
from nnapi_shim.operations.rnn import TANH

OF_GATES = tuple([f"{kind}_{gate}" for kind in ("bias", "direct", "recurrent") for gate in GATES])
PACK_CELL = record(
    **dict.fromkeys(OF_GATES, ADDRESS),
    output=ADDRESS,
    units=INT64,
    depth=INT64,
    outputs=INT64,
)
"""bias_*: float32[units], direct_*: [units, depth], recurrent_*: [units, outputs]; output: the
packed columns."""
JOINED = record(
    input=ADDRESS,
    weights=ADDRESS,
    output_state_in=ADDRESS,
    cell_state_in=ADDRESS,
    output=ADDRESS,
    output_state_out=ADDRESS,
    cell_state_out=ADDRESS,
    scratch=ADDRESS,
    steps=INT64,
    backward=INT64,
    step_rows=INT64,
    depth=INT64,
    output_stride=INT64,
    units=INT64,
    outputs=INT64,
    cell_clip=FLOAT32,
)
"""As lstm.RECURRENCE, of one batch. input: float32 rows of `depth`. weights: packed."""

WRITES = ("output", "output_state_out", "cell_state_out", "scratch")
MOST_BYTES = 32 << 10
"""Bytes of all weights, at most: they stay in the first-level cache."""


def can_join(cell: Cell, sources: list[Any], rows: Rows, activation: int) -> bool:
    """Whether the kernel for joined gates computes a direction of a sequence."""
    matrices = (*cell.input_weights, *cell.recurrent_weights)
    return (
        rows.batches == 1
        and len(sources) == 1
        and activation == TANH
        and not cell.is_coupled
        and cell.projection_weights is None
        and all(each is None for each in (*cell.peepholes, *cell.gains))
        and all(
            each.type is OperandType.TENSOR_FLOAT32 and each.value is not HALVED
            for each in matrices
        )
        and 4 * sum(each.dimensions[0] * each.dimensions[1] for each in matrices) <= MOST_BYTES
    )


def joined(
    cell: Cell, source: Any, rows: Rows, backward: bool, geometry: Tiling, fields: dict[str, Any]
) -> list[Step]:
    """The steps of a direction. fields: states and results of the kernel for any cell."""
    units, outputs, depth = cell.units, cell.outputs, cell.input_weights[-1].dimensions[1]
    columns = round_up(len(GATES) * units, geometry.lanes)
    weights = Buffer(4 * columns * (1 + depth + outputs))
    operands = (*cell.biases, *cell.input_weights, *cell.recurrent_weights)
    packing = Step(
        PACK_CELL,
        "pack_cell",
        once=True,
        **dict(zip(OF_GATES, operands, strict=True)),
        output=weights,
        units=units,
        depth=depth,
        outputs=outputs,
    )
    # The sums of the gates, whose last vector may reach beyond, and both states.
    room = round_up(units, geometry.lanes)
    step = Step(
        JOINED,
        "lstm_joined",
        writes=WRITES,
        **{name: fields[name] for name in JOINED.fields if name in fields},
        input=source,
        weights=weights,
        scratch=Buffer(4 * (columns + 3 * room)),
        steps=rows.steps,
        backward=int(backward),
        step_rows=rows.step_rows,
        depth=depth,
        units=units,
        outputs=outputs,
    )
    return [packing, step]
