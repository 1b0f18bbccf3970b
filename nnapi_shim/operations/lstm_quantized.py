"""QUANTIZED_16BIT_LSTM and QUANTIZED_LSTM: one step of a cell, in integers."""

from math import log2

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.operations.declare import BoundOperation, Operation, declared_or, form
from nnapi_shim.operations.lstm_cell import (
    GATES,
    Cell,
    bias_names,
    cell,
    gain_names,
    input_names,
    omittable_names,
    parameter_names,
    parts_complete,
    recurrent_names,
    sizes_agree,
)
from nnapi_shim.operations.rules import known_rank
from nnapi_shim.operations.signatures import I32, QS8, QU8

QS16, QSYM8 = OperandType.TENSOR_QUANT16_SYMM, OperandType.TENSOR_QUANT8_SYMM
FLOAT32 = OperandType.FLOAT32

STATES = ("prev_output", "prev_cell_state")

OUTPUT_16 = (1 / 128, 128)
STATE_16 = (2.0**-11, 0)
"""Scale and zero point of what QUANTIZED_16BIT_LSTM takes and gives."""

STATE_BITS = range(-15, -8)
"""Cell states that QUANTIZED_LSTM can use are in units of 2 to the power of one of these."""


def quantized_cell(op: BoundOperation) -> Cell:
    """The cell of either operation."""
    return cell(op, states=STATES)


def state_bits(op: BoundOperation) -> int:
    """The k of a cell state in units of 2^k."""
    return round(log2(op.prev_cell_state.scale))


def vanishes(scale: float) -> bool:
    """Whether the multiplier of a scale is 0 (semantics.md 5.2). That of layer normalisation is
    made of the scale of the gain, and multiplied by 2^12 after that.
    """
    return scale < 2.0**-32


# Checks


def sizes(op: BoundOperation) -> None:
    """The operands of the cell fit each other."""
    batch, input_size = op.input.dimensions
    sizes_agree(op, batch, input_size, states=STATES)


def parameters(op: BoundOperation) -> None:
    """All parameters are fixed but those of the weights, which the weights share."""
    weights = op.input_to_input_weights
    expected = dict.fromkeys(("input", "prev_output"), OUTPUT_16)
    expected["prev_cell_state"] = STATE_16
    for name in (*input_names(), *recurrent_names()):
        expected[name] = (weights.scale, weights.zero_point)
    for name in bias_names():
        expected[name] = (weights.scale / 128, 0)
    for name, (scale, zero_point) in expected.items():
        operand = getattr(op, name)
        if (operand.scale, operand.zero_point) != (scale, zero_point):
            raise op_failed(
                f"{name} has scale {operand.scale:g} and zero point {operand.zero_point}; they "
                f"must be {scale:g} and {zero_point}",
                "quantized-16bit-lstm.quantization",
            )


def parts(op: BoundOperation) -> None:
    """Optional parts are complete; the reference cannot project without a bias, and ignores a
    bias without a projection.
    """
    parts_complete(op)
    if op.projection_weights is not None and op.projection_bias is None:
        raise op_failed(
            "projection_bias is omitted; projection_weights needs it",
            "quantized-lstm.projection-bias",
        )


def state_scale(op: BoundOperation) -> None:
    """The scale of the cell state is a power of 2."""
    scale = op.prev_cell_state.scale
    bits = state_bits(op)
    if bits not in STATE_BITS or abs(log2(scale) - bits) >= 1e-3:
        raise op_failed(
            f"prev_cell_state has scale {scale:g}; allowed are the powers of 2 from "
            f"2^{STATE_BITS[0]} to 2^{STATE_BITS[-1]}",
            "quantized-lstm.state-scale",
        )


def scales(op: BoundOperation) -> None:
    """The scales that are divided by are numbers other than 0; coupled gates have no use for that
    of the input gate.

    The reference checks none of them: it also multiplies by negative scales.
    """
    gates = GATES[1:] if quantized_cell(op).is_coupled else GATES
    for name in (*[f"{gate}_intermediate_scale" for gate in gates], "hidden_state_scale"):
        value = getattr(op, name)
        if value == 0 or value != value:
            raise op_failed(
                f"{name} is {value}; it must be a number other than 0", "quantized-lstm.scale"
            )


def outputs_and_state(op: BoundOperation) -> list[tuple[float, int]]:
    """The cell state has the parameters of the one before; the reference does not compare the scale
    of prev_output with that of the output.
    """
    state, (first, _, last) = op.prev_cell_state, declared_or("prev_output")(op)
    return [first, (state.scale, state.zero_point), last]


# Declarations

_WEIGHTS = (*input_names(), *recurrent_names())
_TENSORS_16 = ("input", *_WEIGHTS, *bias_names(), *reversed(STATES))

QUANTIZED_16BIT_LSTM = Operation(
    OperationType.QUANTIZED_16BIT_LSTM,
    doc="One step of a cell in fixed point: cell_state_out = f * prev_cell_state + i * g and "
    "output = o * tanh(cell_state_out).",
    columns=f"{' '.join(_TENSORS_16)} -> cell_state_out output",
    types={"q16": (3, QU8, *[QU8] * 8, *[I32] * 4, QS16, QU8, QS16, QU8)},
    forms=[form(" ".join(_TENSORS_16))],
    checks=[known_rank(2, "input"), sizes, parameters],
    legacy=True,
    shape=lambda op: [op.prev_cell_state.dimensions, op.prev_output.dimensions],
    quantization=lambda op: [STATE_16, OUTPUT_16],
    work="recurrent",
    products=dict.fromkeys(bias_names(), ("input", "input_to_input_weights")),
)

_TENSORS = ("input", *parameter_names(), *STATES, *gain_names())
_CLIPS = ("cell_clip", "projection_clip")
_SCALES = tuple([f"{gate}_intermediate_scale" for gate in GATES])
_REALS = (*_CLIPS, *_SCALES, "hidden_state_scale")
_INPUTS = (*_TENSORS, *_CLIPS, *_SCALES, "hidden_state_zero_point:INT32", "hidden_state_scale")

QUANTIZED_LSTM = Operation(
    OperationType.QUANTIZED_LSTM,
    doc="One step of a cell in fixed point: cell_state_out = f * prev_cell_state + i * g and "
    "output = projection(o * tanh(cell_state_out)).",
    columns=f"{' '.join(_TENSORS + _REALS)} -> output_state_out cell_state_out output",
    types={
        "q8": (
            4,
            *(QS8, *[QSYM8] * 8, *[QS16] * 3, *[I32] * 4, QSYM8, I32, QS8, QS16, *[QS16] * 4),
            *([FLOAT32] * len(_REALS)),
            *(QS8, QS16, QS8),
        )
    },
    forms=[form(" ".join(_INPUTS))],
    omittable=omittable_names(),
    checks=[known_rank(2, "input"), parts, sizes, state_scale, scales],
    shape=lambda op: [
        op.prev_output.dimensions,
        op.prev_cell_state.dimensions,
        op.prev_output.dimensions,
    ],
    quantization=outputs_and_state,
    work="recurrent",
)
