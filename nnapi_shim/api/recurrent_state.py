"""States that a model carries from run to run: an output becomes an input of the next run."""

from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.errors import Place, bad_data


class Carried(NamedTuple):
    """A carried state. input, output: positions among the model's inputs and outputs. initial: the
    input of the first run.
    """

    input: int
    output: int
    initial: Array


class Carrying:
    """The carried states that a program declared, as operand indices."""

    def __init__(self) -> None:
        self._said: dict[int, tuple[int, Array | None]] = {}

    def add(self, target: int, source: int, initial: Array | None) -> None:
        """Declare that output operand `source` becomes input operand `target`; BAD_DATA for a
        second source.
        """
        if target in self._said:
            message = f"operand {target} is carried already; an input has one output to come from"
            raise bad_data(message, "compilation.carry.twice").about(Place("operand", target))
        self._said[target] = source, initial

    def positions(self, graph: GraphView) -> list[Carried]:
        """The states in the order of the inputs; raises BAD_DATA for operands that do not match."""
        inputs, outputs = graph.input_operands, graph.output_operands
        states = []
        for target, (source, initial) in self._said.items():
            into, come = graph.operands[target], graph.operands[source]
            for operand, role, among in ((into, "input", inputs), (come, "output", outputs)):
                if operand not in among:
                    raise bad_data(
                        f"operand {operand.index} is no {role} of the model; what is carried comes "
                        "from an output and goes to an input",
                        "compilation.carry.not-an-argument",
                    ).about(Place("operand", operand.index))
            _require_same(into, come)
            start = _initial(into, come) if initial is None else _checked(into, initial)
            states.append(Carried(inputs.index(into), outputs.index(come), start))
        return sorted(states, key=lambda state: state.input)


def _require_same(into: OperandView, come: OperandView) -> None:
    """Raise BAD_DATA unless the operands have equal type, dimensions and quantization."""

    def kind(operand: OperandView) -> tuple[Any, ...]:
        return operand.type, operand.scale, operand.zero_point, operand.channel_quant

    one, other = into.dimensions, come.dimensions
    fits = not (one and other) or (
        len(one) == len(other)
        and all(a == b or not (a and b) for a, b in zip(one, other, strict=True))
    )
    if kind(into) != kind(come) or not fits:
        raise bad_data(
            f"operand {come.index} {come} cannot become operand {into.index} {into}; type, "
            "dimensions, scale and zero point have to be the same",
            "compilation.carry.not-alike",
        ).about(Place("operand", into.index))


def _initial(into: OperandView, come: OperandView) -> Array:
    """Zeros with the known dimensions of the operands."""
    known = (operand.dimensions for operand in (into, come))
    sizes = next((d for d in known if d and all(d)), () if into.is_scalar else None)
    if sizes is None:
        raise bad_data(
            f"operand {into.index} {into} has unknown dimensions; the state needs an initial value",
            "compilation.carry.no-initial-value",
        ).about(Place("operand", into.index))
    return np.full(sizes, into.zero_point, DTYPES[into.type])


def _checked(into: OperandView, initial: Array) -> Array:
    """The initial value; raises BAD_DATA if it does not fit."""
    sizes = into.dimensions
    same_rank = len(sizes) == initial.ndim or (not sizes and not into.is_scalar)
    if not same_rank or any(s not in (0, n) for s, n in zip(sizes, initial.shape, strict=False)):
        raise bad_data(
            f"operand {into.index} {into}: the initial value has dimensions {list(initial.shape)}",
            "compilation.carry.initial-dimensions",
        ).about(Place("operand", into.index))
    return initial
