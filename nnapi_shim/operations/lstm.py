"""LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM and BIDIRECTIONAL_SEQUENCE_LSTM."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperand, BoundOperation, Form, Operation, form
from nnapi_shim.operations.lstm_cell import (
    STATES,
    Cell,
    all_or_none,
    aux_names,
    cell,
    gain_names,
    goes_with,
    input_names,
    omittable_names,
    parameter_names,
    parts_complete,
    projection_names,
    recurrent_names,
    sizes_agree,
)
from nnapi_shim.operations.rules import expect_dimensions, known_rank, read_as
from nnapi_shim.operations.signatures import rows

ACTIVATIONS = {0: "none", 1: "relu", 3: "relu6", 4: "tanh", 6: "sigmoid"}
"""Codes of the activation of a cell (semantics.md 11.2); the reference aborts on others."""

DIRECTIONS = ("fw_", "bw_")
"""Prefixes of the operand names of both cells."""

DIRECTION_STATES = ("activation_state_in", "cell_state_in")


def direction(op: BoundOperation, prefix: str) -> Cell:
    """One cell of a BIDIRECTIONAL_SEQUENCE_LSTM."""
    return cell(op, prefix, DIRECTION_STATES)


def leading(op: BoundOperation) -> tuple[int, int]:
    """(steps in time, batches) of the input of a sequence."""
    first, second, _ = op.input.dimensions
    return (first, second) if op.time_major else (second, first)


def is_cross_linked(op: BoundOperation) -> bool:
    """Whether the auxiliary input is a second input of both cells."""
    return op.fw_aux_input_to_output_weights is not None


def backward_input(op: BoundOperation) -> BoundOperand:
    """The first input of the backward cell: with parallel linking the auxiliary one."""
    is_parallel = op.aux_input is not None and not is_cross_linked(op)
    source: BoundOperand = op.aux_input if is_parallel else op.input
    return source


# Checks


def activation(op: BoundOperation) -> None:
    """The activation code is valid for a cell."""
    if op.activation not in ACTIVATIONS:
        allowed = ", ".join(f"{code} ({name})" for code, name in ACTIVATIONS.items())
        raise op_failed(f"activation is {op.activation}; allowed are {allowed}", "lstm.activation")


def clips(op: BoundOperation) -> None:
    """Bounds are not negative."""
    for name in ("cell_clip", "proj_clip"):
        if not getattr(op, name) >= 0:
            raise op_failed(f"{name} is {getattr(op, name):g}; it must be at least 0", "lstm.clip")


def single(op: BoundOperation) -> None:
    """The cell of an LSTM."""
    weights, bias = projection_names()
    parts_complete(op)
    goes_with(op, bias, weights)
    sizes_agree(op, *op.input.dimensions)


def sequence(op: BoundOperation) -> None:
    """The cell of a sequence; the reference checks neither an unused projection bias nor, in the
    operation, the sign of the bounds.
    """
    parts_complete(op)
    sizes_agree(op, leading(op)[1], op.input.dimensions[2])


def states_of_any_rank(op: BoundOperation, prefix: str) -> None:
    """The number of elements of these states; the reference does not check their dimensions."""
    known_rank(2, input_names(prefix)[-1], recurrent_names(prefix)[-1])(op)
    sizes, batch = direction(op, prefix), leading(op)[1]
    for name, size in zip(DIRECTION_STATES, (sizes.outputs, sizes.units), strict=True):
        read_as(op, prefix + name, (batch, size))


def both(op: BoundOperation) -> None:
    """The cells of both directions, and their linking mode."""
    for prefix in DIRECTIONS:
        weights, bias = projection_names(prefix)
        parts_complete(op, prefix)
        goes_with(op, bias, weights)
    all_or_none(op, [input_names(prefix)[0] for prefix in DIRECTIONS])
    # Differs: the documentation lets coupled gates have an auxiliary input; the reference asks for
    # the weights of their input gate, and refuses them.
    all_or_none(op, [name for prefix in DIRECTIONS for name in aux_names(prefix)])
    goes_with(op, aux_names("fw_")[0], input_names("fw_")[0])
    goes_with(op, aux_names("fw_")[0], "aux_input")
    if op.aux_input is not None:
        known_rank(3, "aux_input")(op)
        if op.aux_input.dimensions[:2] != op.input.dimensions[:2]:
            raise op_failed(
                f"aux_input has dimensions {list(op.aux_input.dimensions)}; the first two must be "
                f"those of the input {list(op.input.dimensions)}",
                "bidirectional-sequence-lstm.aux-input",
            )
    for prefix in DIRECTIONS:
        states_of_any_rank(op, prefix)
    for prefix, source in zip(DIRECTIONS, (op.input, backward_input(op)), strict=True):
        sizes_agree(op, leading(op)[1], source.dimensions[2], prefix, DIRECTION_STATES)
        if is_cross_linked(op):
            # Differs: the documentation has a size of its own for the auxiliary input; the
            # reference reads it with that of the input.
            own = (direction(op, prefix).units, op.input.dimensions[2])
            expected = dict.fromkeys(aux_names(prefix), own)
            expect_dimensions(op, aux_input=op.input.dimensions, **expected)


def merged(op: BoundOperation) -> None:
    """The backward cell has an output of its own unless the outputs are merged."""
    if op.merge_outputs != (op.bw_output is None):
        allowed = "1 or 5" if op.merge_outputs else "2 or 6"
        raise op_failed(
            f"merge_outputs is {str(op.merge_outputs).lower()}, and there are {len(op.outputs)} "
            f"outputs; allowed are {allowed}",
            "bidirectional-sequence-lstm.merge-outputs",
        )


# Shapes


def single_shape(op: BoundOperation) -> list[Dimensions]:
    """The first output is scratch: room for the gates that are computed."""
    sizes, batch = cell(op), op.input.dimensions[0]
    gates = 3 if sizes.is_coupled else 4
    output, state = (batch, sizes.outputs), (batch, sizes.units)
    return [(batch, gates * sizes.units), output, state, output]


def sequence_shape(op: BoundOperation) -> list[Dimensions]:
    """The output of every step, and the states after the last one."""
    sizes, batch = cell(op), leading(op)[1]
    output = (*op.input.dimensions[:2], sizes.outputs)
    return [output, (batch, sizes.outputs), (batch, sizes.units)][: len(op.outputs)]


def both_shape(op: BoundOperation) -> list[Dimensions]:
    """The outputs of every step, and the states after the last step of each direction."""
    cells, batch = [direction(op, prefix) for prefix in DIRECTIONS], leading(op)[1]
    lengths = [sizes.outputs for sizes in cells]
    if op.merge_outputs:
        lengths = [sum(lengths)]
    outputs = [(*op.input.dimensions[:2], length) for length in lengths]
    states = [(batch, size) for sizes in cells for size in (sizes.outputs, sizes.units)]
    return [*outputs, *states][: len(op.outputs)]


# Declarations


def _lstm(
    type: OperationType, doc: str, level: int, tensors: str, outputs: str, **parts: object
) -> Operation:
    """An operation on float32 and float16; the bounds of the states are scalars of that type.

    tensors, outputs: names of all of them.
    """
    kinds = ["T"] * len(tensors.split()) + ["s", "s"] + ["T"] * len(outputs.split())
    return Operation(
        type,
        doc=doc,
        columns=f"{tensors} cell_clip proj_clip -> {outputs}",
        types=rows(" ".join(kinds), f32=level, f16=3),
        work="recurrent",
        **parts,  # type: ignore[arg-type]
    )


def _joined(*names: str) -> str:
    return " ".join(names)


_CELL = _joined("input", *parameter_names(), *STATES)
_GAINS = _joined(*gain_names())
_SCALARS = "activation:INT32 cell_clip proj_clip"
_FINAL = "output_state_out cell_state_out"

_CELLS = _joined(
    "input",
    *[name for prefix in DIRECTIONS for name in parameter_names(prefix)],
    *[prefix + name for prefix in DIRECTIONS for name in DIRECTION_STATES],
    "aux_input",
    *[name for prefix in DIRECTIONS for name in aux_names(prefix)],
)
_BOTH_GAINS = _joined(*[name for prefix in DIRECTIONS for name in gain_names(prefix)])
_BOTH_FINAL = _joined(
    *[prefix + name for prefix in DIRECTIONS for name in ("activation_state_out", "cell_state_out")]
)


def _both_forms() -> list[Form]:
    """With and without an output for the backward cell, and states."""
    scalars = f"{_SCALARS} merge_outputs:BOOL time_major:BOOL"
    return [
        form(f"{_CELLS} {scalars} {_BOTH_GAINS} -> {outputs} {states}", since=since)
        for states, since in (("", 3), (_BOTH_FINAL, 4))
        for outputs in ("fw_output", "fw_output bw_output")
    ]


LSTM = _lstm(
    OperationType.LSTM,
    "One step of a cell: cell_state_out = f * cell_state_in + i * g and output = projection(o * "
    "act(cell_state_out)), the gates i, f, g, o from the input and output_state_in.",
    1,
    f"{_CELL} {_GAINS}",
    f"scratch {_FINAL} output",
    forms=[form(f"{_CELL} {_SCALARS}"), form(f"{_CELL} {_SCALARS} {_GAINS}", since=3)],
    defaults=dict.fromkeys(gain_names()),
    omittable=omittable_names(),
    checks=[known_rank(2, "input"), activation, clips, single],
    legacy=True,
    shape=single_shape,
)
UNIDIRECTIONAL_SEQUENCE_LSTM = _lstm(
    OperationType.UNIDIRECTIONAL_SEQUENCE_LSTM,
    "LSTM over a sequence; each step starts with the states of the previous step.",
    3,
    f"{_CELL} {_GAINS}",
    f"output {_FINAL}",
    forms=[
        form(f"{_CELL} {_SCALARS} time_major:BOOL {_GAINS} -> output"),
        form(f"{_CELL} {_SCALARS} time_major:BOOL {_GAINS} -> output {_FINAL}", since=4),
    ],
    omittable=omittable_names(),
    checks=[known_rank(3, "input"), activation, sequence],
    shape=sequence_shape,
)
BIDIRECTIONAL_SEQUENCE_LSTM = _lstm(
    OperationType.BIDIRECTIONAL_SEQUENCE_LSTM,
    "Two LSTM cells over a sequence, one forward and one backward in time; each output is stored "
    "at the time step that it was computed for.",
    3,
    f"{_CELLS} {_BOTH_GAINS}",
    f"fw_output bw_output {_BOTH_FINAL}",
    forms=_both_forms(),
    omittable=[
        "aux_input",
        *[name for prefix in DIRECTIONS for name in (*omittable_names(prefix), *aux_names(prefix))],
    ],
    checks=[known_rank(3, "input"), activation, clips, merged, both],
    legacy=True,
    shape=both_shape,
)
