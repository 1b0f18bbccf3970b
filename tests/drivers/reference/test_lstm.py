"""LSTM and its sequences by hand: gates that are open, shut or half open."""

from math import log, tanh

import pytest

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import OperandType, ResultCode
from nnapi_shim.hal.enums import OperationType as Op
from nnapi_shim.operations.lstm import (
    BIDIRECTIONAL_SEQUENCE_LSTM,
    LSTM,
    UNIDIRECTIONAL_SEQUENCE_LSTM,
)
from nnapi_shim.operations.lstm_cell import (
    aux_names,
    bias_names,
    gain_names,
    input_names,
    parameter_names,
    recurrent_names,
)
from tests.single import execute, f32, omitted

OPEN, SHUT, HALF = 100.0, -100.0, 0.0
NONE, RELU, RELU6, TANH = 0, 1, 3, 4
OMITTED = omitted(OperandType.TENSOR_FLOAT32)
INTO, FORGET, CELL, OUT = range(4)


def unit(prefix="", into=OPEN, forget=OPEN, cell=0.0, out=OPEN, weight=1.0):
    """A cell of one unit with these biases, whose cell gate sees the input: it adds up."""
    biases = dict(zip(bias_names(prefix), (into, forget, cell, out), strict=True))
    given = dict.fromkeys((*parameter_names(prefix), *gain_names(prefix)), OMITTED)
    given |= {name: f32([[0.0]]) for name in (*input_names(prefix), *recurrent_names(prefix))}
    given[input_names(prefix)[CELL]] = f32([[weight]])
    return given | {name: f32([value]) for name, value in biases.items()}


def coupled(given, prefix=""):
    """Without the operands of the input gate."""
    lists = input_names(prefix), recurrent_names(prefix), bias_names(prefix)
    return given | {names[INTO]: OMITTED for names in lists}


def single(device, given, x=0.0, h=0.0, c=0.0, activation=NONE, cell_clip=0.0, proj_clip=0.0):
    """(output, cell state) of an LSTM."""
    given = {
        "input": f32([[x]]),
        "output_state_in": f32([[h]]),
        "cell_state_in": f32([[c]]),
        "activation": activation,
        "cell_clip": cell_clip,
        "proj_clip": proj_clip,
        **given,
    }
    names = LSTM.forms[1].inputs.names
    scratch, state, cell, output = execute(
        device, Op.LSTM, [given[name] for name in names], [f32()] * 4
    )
    gates = 3 if given["input_to_input_weights"].is_omitted else 4
    assert scratch.shape == (1, gates * cell.shape[1])
    assert (state == output).all()
    return output[0].tolist(), cell[0].tolist()


def near(*values):
    return [pytest.approx([value], abs=1e-6) for value in values]


def test_gates(device):
    assert [*single(device, unit(), x=2, c=3)] == near(5, 5)
    assert [*single(device, unit(forget=HALF), x=2, c=3)] == near(3.5, 3.5)
    assert [*single(device, unit(into=HALF), x=2, c=3)] == near(4, 4)
    assert [*single(device, unit(into=SHUT, out=log(3)), x=2, c=3)] == near(2.25, 3)


def test_coupled_gates(device):
    # The forget gate is 3/4, so the other one is 1/4.
    assert [*single(device, coupled(unit(forget=log(3))), x=2, c=4)] == near(3.5, 3.5)


@pytest.mark.parametrize(
    ("activation", "x", "c", "result"),
    [(RELU, -2, 1, 1), (RELU6, 9, 1, 6), (TANH, 1, 0, tanh(tanh(1)))],
)
def test_activation_of_the_candidate_and_of_the_state(device, activation, x, c, result):
    output, _ = single(device, unit(), x=x, c=c, activation=activation)
    assert output == pytest.approx([result])


def test_the_cell_is_clipped_before_it_is_looked_at(device):
    given = unit(out=HALF) | {
        "cell_to_input_weights": f32([0.0]),
        "cell_to_forget_weights": f32([0.0]),
        "cell_to_output_weights": f32([log(3) / 2]),
    }
    # The output gate sees 2, not 5: sigmoid(log 3) = 3/4.
    assert [*single(device, given, x=2, c=3, cell_clip=2.0)] == near(1.5, 2)


def test_peepholes_of_the_other_gates_see_the_state_before(device):
    given = unit(into=HALF, forget=HALF) | {
        "cell_to_input_weights": f32([-log(3)]),
        "cell_to_forget_weights": f32([log(3)]),
        "cell_to_output_weights": f32([0.0]),
    }
    # f = 3/4 and i = 1/4 for a state of 1.
    assert [*single(device, given, x=8, c=1)] == near(2.75, 2.75)


def test_projection(device):
    given = unit() | {"projection_weights": f32([[2.0]]), "projection_bias": f32([0.5])}
    assert [*single(device, given, x=2, c=1)] == near(6.5, 3)
    assert [*single(device, given, x=2, c=1, proj_clip=4.0)] == near(4, 3)
    given["projection_bias"] = OMITTED
    assert [*single(device, given, x=-2, c=-1, proj_clip=4.0)] == near(-4, -3)


def two_units(outputs):
    """Two units that are open and see the input; of their output, as much as goes back."""
    given = dict.fromkeys((*parameter_names(), *gain_names()), OMITTED)
    given |= {name: f32([[0.0], [0.0]]) for name in input_names()}
    given |= {name: f32([[0.0] * outputs] * 2) for name in recurrent_names()}
    given |= {name: f32([OPEN, OPEN]) for name in bias_names()}
    given[input_names()[CELL]] = f32([[1.0], [3.0]])
    given[bias_names()[CELL]] = f32([10.0, 20.0])
    return given | {"output_state_in": f32([[0.0] * outputs]), "cell_state_in": f32([[0.0] * 2])}


def test_layer_normalisation_comes_before_the_bias(device):
    given = two_units(2) | {name: f32([1.0, 1.0]) for name in gain_names()}
    given[gain_names()[CELL]] = f32([4.0, 5.0])
    # 1 and 3 are -1 and 1 once normalised; where all is 0 it stays 0.
    output, _ = single(device, given, x=1)
    assert output == pytest.approx([6, 25])


def test_without_a_projection_the_first_results_are_the_output(device):
    assert single(device, two_units(1), x=1) == ([11], [11, 23])
    with pytest.raises(NnapiError) as error:
        single(device, two_units(3), x=1)
    assert error.value.code is ResultCode.OP_FAILED


INCOMPLETE = {
    "half of an input gate": {"input_to_input_weights": OMITTED},
    "no input gate bias": {"input_gate_bias": OMITTED},
    "half of the peepholes": {"cell_to_forget_weights": f32([0.0])},
    "half of the normalisation": {"output_layer_norm_weights": f32([1.0])},
    "projection bias alone": {"projection_bias": f32([1.0])},
    "clip": {"cell_clip": -1.0},
    "projection clip": {"proj_clip": -1.0},
    "activation": {"activation": 2},
    "batch": {"cell_state_in": f32([[0.0], [0.0]])},
    "units": {"forget_gate_bias": f32([0.0, 0.0])},
    "input size": {"input_to_forget_weights": f32([[0.0, 0.0]])},
    "rank": {"recurrent_to_output_weights": f32([0.0])},
    "needed": {"cell_bias": OMITTED},
}


@pytest.mark.parametrize("change", INCOMPLETE.values(), ids=INCOMPLETE.keys())
def test_cells_that_are_refused(device, change):
    with pytest.raises(NnapiError) as error:
        single(device, unit() | change)
    assert error.value.code is ResultCode.OP_FAILED
    assert next(iter(change)) in error.value.message or "belong together" in error.value.message


def test_coupled_gates_have_no_operands_of_an_input_gate(device):
    peepholes = {f"cell_to_{gate}_weights": f32([0.0]) for gate in ("input", "forget", "output")}
    gains = {name: f32([1.0]) for name in gain_names()}
    for part in (peepholes, gains):
        with pytest.raises(NnapiError) as error:
            single(device, coupled(unit()) | part)
        assert error.value.code is ResultCode.OP_FAILED
        single(device, coupled(unit()) | part | {next(iter(part)): OMITTED})


# Sequences


def sequence(device, values, outputs=1, time_major=True, **changes):
    """Outputs of a sequence of single numbers."""
    given = unit() | {
        "input": f32([[[v]] for v in values] if time_major else [[[v] for v in values]]),
        "output_state_in": f32([[0.0]]),
        "cell_state_in": f32([[10.0]]),
        "activation": NONE,
        "cell_clip": 0.0,
        "proj_clip": 0.0,
        "time_major": time_major,
        **changes,
    }
    names = UNIDIRECTIONAL_SEQUENCE_LSTM.forms[0].inputs.names
    arguments = [given[name] for name in names]
    actual = execute(device, Op.UNIDIRECTIONAL_SEQUENCE_LSTM, arguments, [f32()] * outputs)
    assert actual[0].shape == ((len(values), 1, 1) if time_major else (1, len(values), 1))
    return [array.ravel().tolist() for array in actual]


@pytest.mark.parametrize("time_major", [True, False])
def test_a_sequence_carries_its_state(device, time_major):
    actual = sequence(device, [1.0, 2.0, 3.0], 3, time_major)
    assert actual == [[11, 13, 16], [16], [16]]
    assert sequence(device, [1.0, 2.0], 1, time_major) == [[11, 13]]


def test_what_a_sequence_does_not_look_at(device):
    changes = {"projection_bias": f32([7.0]), "cell_clip": -1.0, "proj_clip": -2.0}
    assert sequence(device, [1.0, 2.0], 1, **changes) == [[11, 13]]


def both(device, outputs, merge=False, aux=None, values=(1.0, 2.0, 3.0), **changes):
    """Outputs of both directions; the states begin with 10 and 100."""
    given = unit("fw_") | unit("bw_", weight=-1.0)
    given |= {name: OMITTED for prefix in ("fw_", "bw_") for name in aux_names(prefix)}
    given |= {
        "input": f32([[[v]] for v in values]),
        "fw_activation_state_in": f32([[0.0]]),
        "fw_cell_state_in": f32([[10.0]]),
        "bw_activation_state_in": f32([[0.0]]),
        "bw_cell_state_in": f32([[100.0]]),
        "aux_input": OMITTED if aux is None else f32([[[v]] for v in aux]),
        "activation": NONE,
        "cell_clip": 0.0,
        "proj_clip": 0.0,
        "merge_outputs": merge,
        "time_major": True,
        **changes,
    }
    names = BIDIRECTIONAL_SEQUENCE_LSTM.forms[0].inputs.names
    arguments = [given[name] for name in names]
    actual = execute(device, Op.BIDIRECTIONAL_SEQUENCE_LSTM, arguments, [f32()] * outputs)
    return [array.ravel().tolist() for array in actual]


FORWARD, BACKWARD = [11, 13, 16], [94, 95, 97]


def test_directions(device):
    assert both(device, 2) == [FORWARD, BACKWARD]
    assert both(device, 6) == [FORWARD, BACKWARD, [16], [16], [94], [94]]
    merged = [11, 94, 13, 95, 16, 97]
    assert both(device, 1, merge=True) == [merged]
    assert both(device, 5, merge=True) == [merged, [16], [16], [94], [94]]


def cross(changes=()):
    """Weights of an auxiliary input that only the cell gates see."""
    weights = {name: f32([[0.0]]) for prefix in ("fw_", "bw_") for name in aux_names(prefix)}
    weights |= {aux_names(prefix)[CELL]: f32([[1.0]]) for prefix in ("fw_", "bw_")}
    return weights | dict(changes)


def test_linking(device):
    aux = [10.0, 20.0, 30.0]
    assert both(device, 2, aux=aux) == [FORWARD, [40, 50, 70]]
    assert both(device, 2, aux=aux, **cross()) == [[21, 43, 76], [154, 145, 127]]


REFUSED = {
    "merged with two outputs": ((2,), {"merge": True}),
    "not merged with one output": ((1,), {}),
    "one cell coupled": ((2,), coupled(unit("fw_"), "fw_")),
    "linked without an input": ((2,), cross()),
    "linked in one direction": (
        (2,),
        {"aux": [0.0] * 3} | cross((name, OMITTED) for name in aux_names("bw_")),
    ),
    "steps of the auxiliary input": ((2,), {"aux": [0.0] * 2}),
    # The reference asks for weights that a coupled gate has no use for.
    "coupled and linked": (
        (2,),
        {"aux": [0.0] * 3}
        | coupled(unit("fw_"), "fw_")
        | coupled(unit("bw_"), "bw_")
        | cross((aux_names(prefix)[INTO], OMITTED) for prefix in ("fw_", "bw_")),
    ),
}


@pytest.mark.parametrize(("outputs", "changes"), REFUSED.values(), ids=REFUSED.keys())
def test_directions_that_are_refused(device, outputs, changes):
    with pytest.raises(NnapiError) as error:
        both(device, *outputs, **changes)
    assert error.value.code is ResultCode.OP_FAILED


def test_coupled_cells_in_both_directions(device):
    given = coupled(unit("fw_", forget=HALF), "fw_")
    given |= coupled(unit("bw_", forget=HALF, weight=-1.0), "bw_")
    # Halves of the state and of the input.
    assert both(device, 2, values=[2.0, 4.0], **given) == [[6, 5], [23, 48]]
