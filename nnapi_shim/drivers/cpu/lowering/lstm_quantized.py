"""QUANTIZED_16BIT_LSTM and QUANTIZED_LSTM as steps: activation tables and one kernel."""

from struct import pack

from nnapi_shim.drivers.cpu.lowering.fixed_point import decomposed
from nnapi_shim.drivers.cpu.lowering.lstm_joined_q8 import CELL, OF_BYTES, can_join, joined
from nnapi_shim.drivers.cpu.lowering.tiling import round_up
from nnapi_shim.drivers.cpu.program.record import ADDRESS, FLOAT32_MAX, INT64, Buffer, Step, record
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperation
from nnapi_shim.operations.lstm_cell import GATES, Cell, Gates
from nnapi_shim.operations.lstm_quantized import quantized_cell, state_bits, vanishes
from nnapi_shim.operations.rules import float32

ACTIVATION_TABLE = record(output=ADDRESS, integer_bits=INT64)
"""output: int16[65536]; entry x + 32768 is the result for the int16 x."""


def _of_gates(*kinds: str) -> dict[str, str]:
    return {f"{kind}_{gate}": ADDRESS for kind in kinds for gate in GATES}


PADDING = 32
"""Activations are followed by zeros up to a multiple of so many: whole vectors on all tiers."""

CELL_16 = record(
    **CELL,
    **_of_gates("input_to", "recurrent_to", "bias"),
    weights_zero=INT64,
    mantissa=INT64,
    exponent=INT64,
)
CELL_8 = record(
    **CELL,
    **_of_gates("input_to", "recurrent_to", "cell_to", "gain", "bias"),
    **OF_BYTES,
    projection=ADDRESS,
    projection_bias=ADDRESS,
    projection_mantissa=INT64,
    projection_exponent=INT64,
    low=INT64,
    high=INT64,
)
"""gates: int64[4, 9]: (mantissa, exponent) of the products with input, output state and cell state
and of layer normalisation, and the substitute of a variance below 1. Absent operands have address
0.
"""


def lower_quantized_16bit_lstm(op: BoundOperation) -> list[Step]:
    """A tile is a batch."""
    cell = quantized_cell(op)
    steps, tables = _tables(3)
    batches, sizes = _sizes(op, cell)
    mantissa, exponent = decomposed(4096 * op.input_gate_bias.scale)
    numbers = (
        sum([round_up(size, PADDING) for size in sizes.values()]) + 2 * len(GATES) * cell.outputs
    )
    step = Step(
        CELL_16,
        "lstm_q16",
        tiles=batches,
        writes=("output", "cell_state_out", "scratch"),
        **_operands(op),
        **tables,
        **sizes,
        output=op.output,
        **_gates("input_to", cell.input_weights),
        **_gates("recurrent_to", cell.recurrent_weights),
        **_gates("bias", cell.biases),
        scratch=Buffer(2 * batches * numbers),
        weights_zero=op.input_to_input_weights.zero_point,
        mantissa=mantissa,
        exponent=exponent,
    )
    return [*steps, step]


def lower_quantized_lstm(op: BoundOperation) -> list[Step]:
    """A tile is a batch."""
    cell, bits = quantized_cell(op), state_bits(op)
    steps, tables = _tables(3)
    more, state_tanh = _table("tanh_table", 15 + bits)
    steps += more
    batches, sizes = _sizes(op, cell)
    gates = b"".join(_gate_scales(op, cell, at, bits) for at in range(len(GATES)))
    hidden = decomposed(effective(2.0**-30, divisor=op.hidden_state_scale))
    projection, clip = (0, 0), 0
    if cell.projection_weights is not None:
        scale = cell.projection_weights.scale
        target = op.prev_output.scale
        projection = decomposed(effective(scale, op.hidden_state_scale, divisor=target))
        clip = _steps(op.projection_clip, scale, 127)
    cell_clip = _steps(op.cell_clip, op.prev_cell_state.scale, 2**15 - 1)
    fields = {
        **_operands(op),
        **tables,
        **sizes,
        "state_tanh": state_tanh,
        "output": op.output,
        "output_state_out": op.output_state_out,
        "gates": gates,
        "units": cell.units,
        "input_zero": op.input.zero_point,
        "output_zero": op.prev_output.zero_point,
        "product_shift": 30 + bits,
        "cell_low": -cell_clip if cell_clip else -(2**15),
        "cell_high": cell_clip or 2**15 - 1,
        "hidden_mantissa": hidden[0],
        "hidden_exponent": hidden[1],
        # The low byte, signed.
        "hidden_zero": (op.hidden_state_zero_point + 128) % 256 - 128,
    }
    if can_join(cell):
        return steps + joined(cell, batches, fields)
    numbers = sum([round_up(size, PADDING) for size in (*sizes.values(), cell.units)])
    numbers += len(GATES) * cell.units + 2 * max(cell.units, cell.outputs)
    step = Step(
        CELL_8,
        "lstm_q8",
        tiles=batches,
        writes=("output", "output_state_out", "cell_state_out", "scratch"),
        **fields,
        **_gates("input_to", cell.input_weights),
        **_gates("recurrent_to", cell.recurrent_weights),
        **_gates("cell_to", cell.peepholes),
        **_gates("gain", cell.gains),
        **_gates("bias", cell.biases),
        projection=cell.projection_weights,
        projection_bias=cell.projection_bias,
        scratch=Buffer(2 * batches * numbers),
        projection_mantissa=projection[0],
        projection_exponent=projection[1],
        low=-clip if clip else -128,
        high=clip or 127,
    )
    return [*steps, step]


def effective(*factors: float, divisor: float) -> float:
    """The product of the factors over the divisor, rounded to float32 after every operation."""
    product = factors[0]
    for factor in factors[1:]:
        product = float32(min(product * factor, FLOAT32_MAX))
    return max(min(float32(product / divisor), FLOAT32_MAX), -FLOAT32_MAX)


def _gate_scales(op: BoundOperation, cell: Cell, at: int, bits: int) -> bytes:
    """A row of the table `gates`."""
    weights = cell.input_weights[at]
    if weights is None:
        return bytes(8 * 9)
    scale = getattr(op, f"{GATES[at]}_intermediate_scale")
    recurrent, peephole, gain = cell.recurrent_weights[at], cell.peepholes[at], cell.gains[at]
    gain_scale = gain.scale if gain else 0.0
    multipliers = (
        effective(weights.scale, op.input.scale, divisor=scale),
        effective(recurrent.scale, op.prev_output.scale, divisor=scale),
        effective(2.0**bits, peephole.scale if peephole else 0.0, divisor=scale),
        0.0 if vanishes(gain_scale) else gain_scale * 4096,
    )
    numbers = [number for multiplier in multipliers for number in decomposed(multiplier)]
    return pack("<9q", *numbers, min(1, int(10000 * gain_scale)))


def _steps(bound: float, scale: float, largest: int) -> int:
    """A bound in whole steps of a scale; 0 (no bound) if it is not positive."""
    return int(float32(min(bound / scale, largest))) if bound > 0 else 0


def _table(kernel: str, integer_bits: int) -> tuple[list[Step], Buffer]:
    table = Buffer(2 << 16)
    return [
        Step(ACTIVATION_TABLE, kernel, once=True, output=table, integer_bits=integer_bits)
    ], table


def _tables(integer_bits: int) -> tuple[list[Step], dict[str, Any]]:
    steps, logistic = _table("logistic_table", integer_bits)
    more, tanh = _table("tanh_table", integer_bits)
    return steps + more, {"logistic": logistic, "tanh": tanh}


def _operands(op: BoundOperation) -> dict[str, Any]:
    names = "input", "prev_output", "prev_cell_state", "cell_state_out"
    return {name: getattr(op, name) for name in names}


def _gates(kind: str, operands: Gates) -> dict[str, Any]:
    return {f"{kind}_{gate}": operand for gate, operand in zip(GATES, operands, strict=True)}


def _sizes(op: BoundOperation, cell: Cell) -> tuple[int, dict[str, Any]]:
    batches, input_size = op.input.dimensions
    return batches, {"input_size": input_size, "outputs": cell.outputs}
