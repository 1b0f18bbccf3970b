"""The cell of the LSTM operations: its operands by gate, and what must hold between them.

Gates have the order GATES. The optional parts of a cell are chosen by what is not omitted:
coupled gates (CIFG: the input gate is 1 - the forget gate), peepholes, layer normalisation,
projection.
"""

from functools import cache

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.hints import Any, Callable, NamedTuple, Sequence
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.rules import expect_dimensions, known_rank

GATES = ("input", "forget", "cell", "output")
BIASES = ("input_gate_bias", "forget_gate_bias", "cell_bias", "output_gate_bias")
STATES = ("output_state_in", "cell_state_in")
"""The states of an LSTM: output, cell; other operations have other names for them."""

Gates = tuple[Any, ...]
"""A BoundOperand for each gate, or None."""


def _each(pattern: str, words: Sequence[str] = GATES) -> Callable[..., tuple[str, ...]]:
    """The function that names an operand for each word, after the prefix of a cell."""

    @cache
    def names(prefix: str = "") -> tuple[str, ...]:
        return tuple([prefix + pattern.format(word) for word in words])

    return names


input_names = _each("input_to_{}_weights")
"""The weights of the input, one operand for each gate."""

recurrent_names = _each("recurrent_to_{}_weights")
"""The weights of the output state, one operand for each gate."""

peephole_names = _each("cell_to_{}_weights", ("input", "forget", "output"))
"""The weights of the cell state; the cell gate does not look at it."""

bias_names = _each("{}", BIASES)
"""The biases, one operand for each gate."""

projection_names = _each("projection_{}", ("weights", "bias"))
"""The weights and the bias of the projection."""

gain_names = _each("{}_layer_norm_weights")
"""The gains of layer normalisation, one operand for each gate."""

aux_names = _each("aux_input_to_{}_weights")
"""The weights of an auxiliary input, one operand for each gate."""


def parameter_names(prefix: str = "") -> list[str]:
    """The parameters of a cell from the weights of its input to its projection, in that order."""
    lists = input_names, recurrent_names, peephole_names, bias_names, projection_names
    return [name for names in lists for name in names(prefix)]


def omittable_names(prefix: str = "") -> list[str]:
    """The parameters of a cell that may be omitted."""
    of_input_gate = [names(prefix)[0] for names in (input_names, recurrent_names, bias_names)]
    parts = peephole_names, projection_names, gain_names
    return of_input_gate + [name for names in parts for name in names(prefix)]


class Cell(NamedTuple):
    """The operands of a cell; None for omitted ones, and for parts that the operation lacks."""

    input_weights: Gates
    recurrent_weights: Gates
    peepholes: Gates
    """That of the cell gate is None."""
    biases: Gates
    gains: Gates
    aux_weights: Gates
    projection_weights: BoundOperand | None
    projection_bias: BoundOperand | None
    output_state: BoundOperand
    cell_state: BoundOperand

    @property
    def is_coupled(self) -> bool:
        """Whether the input gate is 1 - the forget gate."""
        return self.input_weights[0] is None

    @property
    def units(self) -> int:
        """Length of the cell state."""
        return int(self.input_weights[-1].dimensions[0])

    @property
    def outputs(self) -> int:
        """Length of the output, which is also the state that goes back into the gates."""
        return int(self.recurrent_weights[-1].dimensions[1])


def cell(op: BoundOperation, prefix: str = "", states: Sequence[str] = STATES) -> Cell:
    """The cell whose operands have names that begin with `prefix`."""
    named = op.__dict__

    def all_of(names: Sequence[str]) -> Gates:
        return tuple(map(named.get, names))

    into, forget, out = all_of(peephole_names(prefix))
    projection_weights, projection_bias = all_of(projection_names(prefix))
    output_state, cell_state = (getattr(op, prefix + name) for name in states)
    return Cell(
        all_of(input_names(prefix)),
        all_of(recurrent_names(prefix)),
        (into, forget, None, out),
        all_of(bias_names(prefix)),
        all_of(gain_names(prefix)),
        all_of(aux_names(prefix)),
        projection_weights,
        projection_bias,
        output_state,
        cell_state,
    )


# Checks


def all_or_none(op: BoundOperation, names: Sequence[str]) -> None:
    """Either all of these operands are omitted, or none."""
    omitted = [name for name in names if op.__dict__.get(name) is None]
    if omitted and len(omitted) < len(names):
        present = next(name for name in names if name not in omitted)
        raise op_failed(
            f"{omitted[0]} is omitted, and {present} is not; they belong together",
            "lstm.incomplete-inputs",
        )


def parts_complete(op: BoundOperation, prefix: str = "") -> None:
    """The operands of each optional part are given together; coupled gates have no input gate."""
    weights = input_names(prefix)[0]
    all_or_none(op, [weights, recurrent_names(prefix)[0], bias_names(prefix)[0]])
    is_coupled = getattr(op, weights) is None
    for first, *others in (peephole_names(prefix), gain_names(prefix)):
        all_or_none(op, others if is_coupled else [first, *others])
        if is_coupled:
            goes_with(op, first, weights)


def goes_with(op: BoundOperation, name: str, other: str) -> None:
    """An operand is given only if another one is."""
    if getattr(op, name, None) is not None and getattr(op, other) is None:
        raise op_failed(
            f"{name} is given, and {other} is omitted; it would have no use", "lstm.unused-input"
        )


def sizes_agree(
    op: BoundOperation,
    batch: int,
    input_size: int,
    prefix: str = "",
    states: Sequence[str] = STATES,
) -> None:
    """The dimensions of all operands of a cell follow from four sizes.

    Two of these are those of the weights of the output gate.
    """
    known_rank(2, input_names(prefix)[-1], recurrent_names(prefix)[-1])(op)
    sizes = cell(op, prefix, states)
    units, outputs = sizes.units, sizes.outputs
    each_unit = (*peephole_names(prefix), *bias_names(prefix), *gain_names(prefix))
    projection_weights, projection_bias = projection_names(prefix)
    expected: dict[str, Dimensions] = {
        **dict.fromkeys(input_names(prefix), (units, input_size)),
        **dict.fromkeys(recurrent_names(prefix), (units, outputs)),
        **dict.fromkeys(each_unit, (units,)),
        projection_weights: (outputs, units),
        projection_bias: (outputs,),
        prefix + states[0]: (batch, outputs),
        prefix + states[1]: (batch, units),
    }
    expect_dimensions(op, **expected)
    if sizes.projection_weights is None and outputs > units:
        raise op_failed(
            f"{recurrent_names(prefix)[-1]} has {outputs} columns; without a projection, allowed "
            f"are at most {units}, the number of units",
            "lstm.output-size",
        )
