"""RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN and SVDF."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperation, Check, Operation, form
from nnapi_shim.operations.rules import expect_dimensions, known_rank, read_as
from nnapi_shim.operations.signatures import F16, F32

NONE, RELU, RELU1, RELU6, TANH, SIGN_BIT, SIGMOID = range(7)
"""Activations of the recurrent operations (semantics.md 3)."""


def activation_among(*allowed: int) -> Check:
    """The activation is one of the codes `allowed`."""

    def check(op: BoundOperation) -> None:
        if op.activation not in allowed:
            raise op_failed(
                f"activation is {op.activation}; allowed are {sorted(allowed)}", "rnn.activation"
            )

    return check


# Differs: the reference hangs with RELU1 here, which the documentation lists.
cell_activation = activation_among(NONE, RELU, RELU1, RELU6, TANH, SIGMOID)


def time_and_batch(op: BoundOperation) -> tuple[int, int]:
    """(steps, batch) of a sequence operation."""
    first, second, _ = op.input.dimensions
    return (first, second) if op.time_major else (second, first)


def matrices(*names: str) -> Check:
    """Further dimensions of `names`, which the reference does not check, are 1."""
    ranks = known_rank(2, *names)

    def check(op: BoundOperation) -> None:
        for name in names:
            leading(op, name, 2)
        ranks(op)

    return check


def leading(op: BoundOperation, name: str, rank: int) -> None:
    """Drop the further dimensions of an operand above this rank if all of them are 1."""
    dimensions = getattr(op, name).dimensions
    if len(dimensions) > rank:
        read_as(op, name, dimensions[:rank])


def rnn_sizes(op: BoundOperation) -> None:
    """All operands fit the input [batch, input_size] and the weights [num_units, input_size]."""
    batch, size = op.input.dimensions
    units = op.weights.dimensions[0]
    leading(op, "bias", 1)
    read_as(op, "hidden_state_in", (batch, units))  # the reference does not check its dimensions
    expect_dimensions(
        op,
        weights=(units, size),
        recurrent_weights=(units, units),
        bias=(units,),
        hidden_state_in=(batch, units),
    )


def sequence_sizes(op: BoundOperation) -> None:
    """As rnn_sizes, for each step of a sequence; time_major is 0 or 1."""
    if op.time_major not in (0, 1):
        raise op_failed(f"time_major is {op.time_major}; allowed are 0 and 1", "rnn.time-major")
    units = op.weights.dimensions[0]
    expect_dimensions(
        op,
        weights=(units, op.input.dimensions[2]),
        recurrent_weights=(units, units),
        bias=(units,),
        hidden_state_in=(time_and_batch(op)[1], units),
    )


def linking(op: BoundOperation) -> None:
    """An auxiliary input comes alone (it replaces the input of the backward cell), or with weights
    for both cells, which add it to the input.
    """
    is_present = [
        op.aux_input is not None,
        op.fw_aux_weights is not None,
        op.bw_aux_weights is not None,
    ]
    if is_present not in ([False] * 3, [True, False, False], [True] * 3):
        names = ("aux_input", "fw_aux_weights", "bw_aux_weights")
        present = [name for name, is_given in zip(names, is_present, strict=True) if is_given]
        raise op_failed(
            f"only {' and '.join(present)} given; allowed are aux_input alone, or with both "
            "fw_aux_weights and bw_aux_weights",
            "bidirectional-sequence-rnn.aux-input",
        )


def directions(op: BoundOperation) -> None:
    """Each direction fits its input; a merged output is one, separate ones are two."""
    if op.merge_outputs == (op.bw_output is not None):
        raise op_failed(
            f"merge_outputs is {op.merge_outputs}, and there are {len(op.outputs)} outputs; "
            "bw_output is there if and only if outputs are not merged",
            "bidirectional-sequence-rnn.merge-outputs",
        )
    *leading, size = op.input.dimensions
    batch = time_and_batch(op)[1]
    forward, backward = op.fw_weights.dimensions[0], op.bw_weights.dimensions[0]
    # Differs: in the reference the aux weights have as many columns as the input; here they have
    # those of the auxiliary input, as documented.
    aux_size = op.aux_input.dimensions[2] if op.aux_input is not None else 0
    parallel = op.aux_input is not None and op.bw_aux_weights is None
    expect_dimensions(
        op,
        fw_weights=(forward, size),
        fw_recurrent_weights=(forward, forward),
        fw_bias=(forward,),
        fw_hidden_state=(batch, forward),
        bw_weights=(backward, aux_size if parallel else size),
        bw_recurrent_weights=(backward, backward),
        bw_bias=(backward,),
        bw_hidden_state=(batch, backward),
        aux_input=(*leading, aux_size),
        fw_aux_weights=(forward, aux_size),
        bw_aux_weights=(backward, aux_size),
    )


def aux_rank(op: BoundOperation) -> None:
    """An auxiliary input has rank 3."""
    if op.aux_input is not None:
        known_rank(3, "aux_input")(op)


def bidirectional_shapes(op: BoundOperation) -> list[Dimensions]:
    """The outputs of the form, then their states."""
    *leading, _ = op.input.dimensions
    batch = time_and_batch(op)[1]
    forward, backward = op.fw_weights.dimensions[0], op.bw_weights.dimensions[0]
    if op.merge_outputs:
        shapes = [(*leading, forward + backward)]
    else:
        shapes = [(*leading, forward), (*leading, backward)]
    if op.fw_hidden_state_out is not None:
        shapes += [(batch, forward), (batch, backward)]
    return shapes


def svdf_sizes(op: BoundOperation) -> None:
    """The filters are a multiple of the rank, and all operands fit them."""
    batch, size = op.input.dimensions
    filters, memory = op.weights_feature.dimensions[0], op.weights_time.dimensions[1]
    if op.rank < 1 or filters % op.rank:
        raise op_failed(f"rank is {op.rank}; it must divide the {filters} filters", "svdf.rank")
    if op.bias is not None:
        leading(op, "bias", 1)
    read_as(op, "state_in", (batch, memory * filters))  # as the hidden state of an RNN
    # Differs: the documented state lacks one of the memory_size entries per filter.
    expect_dimensions(
        op,
        weights_feature=(filters, size),
        weights_time=(filters, memory),
        bias=(filters // op.rank,),
        state_in=(batch, memory * filters),
    )


def unidirectional_shapes(op: BoundOperation) -> list[Dimensions]:
    """The output, and the state if the form has it."""
    units = op.weights.dimensions[0]
    shapes = [(*op.input.dimensions[:2], units), (time_and_batch(op)[1], units)]
    return shapes[: len(op.outputs)]


RNN = Operation(
    OperationType.RNN,
    doc="hidden_state_out = output = act(weights * input + recurrent_weights * hidden_state_in + "
    "bias).",
    columns="input weights recurrent_weights bias hidden_state_in -> hidden_state_out output",
    types={"f32": (1, *[F32] * 7), "f16": (3, *[F16] * 7)},
    forms=[form("input weights recurrent_weights bias hidden_state_in activation:INT32")],
    checks=[
        matrices("input", "weights", "recurrent_weights"),
        rnn_sizes,
        cell_activation,
    ],
    legacy=True,
    shape=lambda op: [op.hidden_state_in.dimensions] * 2,
    work="recurrent",
)

_SEQUENCE = "input weights recurrent_weights bias hidden_state_in activation:INT32 time_major:INT32"

UNIDIRECTIONAL_SEQUENCE_RNN = Operation(
    OperationType.UNIDIRECTIONAL_SEQUENCE_RNN,
    doc="output[t] = act(weights * input[t] + recurrent_weights * output[t-1] + bias), output[-1] "
    "being hidden_state_in; hidden_state_out is the last output.",
    columns="input weights recurrent_weights bias hidden_state_in -> output hidden_state_out",
    types={"f16": (3, *[F16] * 7), "f32": (3, *[F32] * 7)},
    forms=[
        form(f"{_SEQUENCE} -> output"),
        form(f"{_SEQUENCE} -> output hidden_state_out", since=4),
    ],
    checks=[
        known_rank(3, "input"),
        known_rank(2, "weights"),
        sequence_sizes,
        cell_activation,
    ],
    shape=unidirectional_shapes,
    work="recurrent",
)

_TENSORS = (
    "input fw_weights fw_recurrent_weights fw_bias fw_hidden_state bw_weights bw_recurrent_weights "
    "bw_bias bw_hidden_state aux_input fw_aux_weights bw_aux_weights"
)
_OUTPUTS = "fw_output bw_output fw_hidden_state_out bw_hidden_state_out"
_INPUTS = f"{_TENSORS} activation:INT32 time_major:BOOL merge_outputs:BOOL"

BIDIRECTIONAL_SEQUENCE_RNN = Operation(
    OperationType.BIDIRECTIONAL_SEQUENCE_RNN,
    doc="A UNIDIRECTIONAL_SEQUENCE_RNN forward in time, and one backward from the last step to the "
    "first. aux_input alone is the input of the backward cell; with aux weights, these times it "
    "are added in both cells. Merged, fw_output is [forward, backward] along the last dimension.",
    columns=f"{_TENSORS} -> {_OUTPUTS}",
    types={"f16": (3, *[F16] * 16), "f32": (3, *[F32] * 16)},
    forms=[
        form(f"{_INPUTS} -> fw_output"),
        form(f"{_INPUTS} -> fw_output bw_output"),
        form(f"{_INPUTS} -> fw_output fw_hidden_state_out bw_hidden_state_out", since=4),
        form(f"{_INPUTS} -> {_OUTPUTS}", since=4),
    ],
    omittable=("aux_input", "fw_aux_weights", "bw_aux_weights"),
    checks=[
        known_rank(3, "input"),
        known_rank(2, "fw_weights", "bw_weights"),
        aux_rank,
        linking,
        directions,
        cell_activation,
    ],
    shape=bidirectional_shapes,
    work="recurrent",
)

SVDF = Operation(
    OperationType.SVDF,
    doc="state_in[b,f,:] with its last entry replaced by weights_feature[f] * input[b]; output[b,u]"
    " = act(bias[u] + sum over the rank filters f of u and all m of state[b,f,m] * "
    "weights_time[f,m]); state_out is state, moved down by one entry.",
    columns="input weights_feature weights_time bias state_in -> state_out output",
    types={"f32": (1, *[F32] * 7), "f16": (3, *[F16] * 7)},
    forms=[
        form("input weights_feature weights_time bias state_in rank:INT32 activation:INT32"),
    ],
    omittable=("bias",),
    checks=[
        matrices("input", "weights_feature", "weights_time"),
        svdf_sizes,
        activation_among(NONE, RELU, RELU1, RELU6, TANH, SIGN_BIT, SIGMOID),
    ],
    legacy=True,
    shape=lambda op: [
        op.state_in.dimensions,
        (op.input.dimensions[0], op.weights_feature.dimensions[0] // op.rank),
    ],
    work="recurrent",
)
