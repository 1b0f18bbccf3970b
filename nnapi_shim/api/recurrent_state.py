"""States that a model carries from run to run: an output becomes an input of the next run."""

from typing import Any

import numpy as np

from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.fields import with_fields
from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.errors import Place, bad_data
from nnapi_shim.hal.types import combined
from nnapi_shim.hints import NamedTuple


@with_fields
class Carried(NamedTuple):
    """A carried state.

    input: its position among the inputs of the model.
    output: its position among the outputs of the model.
    initial: the input of the first run.
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
            input_view, output_view = graph.operands[target], graph.operands[source]
            for operand, role, among in (
                (input_view, "input", inputs),
                (output_view, "output", outputs),
            ):
                if operand not in among:
                    raise bad_data(
                        f"operand {operand.index} is no {role} of the model; what is carried comes "
                        "from an output and goes to an input",
                        "compilation.carry.not-an-argument",
                    ).about(Place("operand", operand.index))
            _require_same(input_view, output_view)
            start = (
                _initial(input_view, output_view)
                if initial is None
                else _checked(input_view, initial)
            )
            states.append(Carried(inputs.index(input_view), outputs.index(output_view), start))
        return sorted(states, key=lambda state: state.input)


def _require_same(input_view: OperandView, output_view: OperandView) -> None:
    """Raise BAD_DATA unless the operands have equal type, dimensions and quantization."""

    def kind(operand: OperandView) -> tuple[Any, ...]:
        return operand.type, operand.scale, operand.zero_point, operand.channel_quant

    merged = combined(input_view.dimensions, output_view.dimensions)
    if kind(input_view) != kind(output_view) or merged is None:
        raise bad_data(
            f"operand {output_view.index} {output_view} cannot become "
            f"operand {input_view.index} {input_view}; "
            "type, dimensions, scale and zero point have to be the same",
            "compilation.carry.not-alike",
        ).about(Place("operand", input_view.index))


def _initial(input_view: OperandView, output_view: OperandView) -> Array:
    """Zeros with the known dimensions of the operands."""
    known = (operand.dimensions for operand in (input_view, output_view))
    sizes = next((d for d in known if d and all(d)), () if input_view.is_scalar else None)
    if sizes is None:
        raise bad_data(
            f"operand {input_view.index} {input_view} has unknown dimensions; "
            "the state needs an initial value",
            "compilation.carry.no-initial-value",
        ).about(Place("operand", input_view.index))
    return np.full(sizes, input_view.zero_point, DTYPES[input_view.type])


def _checked(input_view: OperandView, initial: Array) -> Array:
    """The initial value; raises BAD_DATA if it does not fit."""
    sizes = input_view.dimensions
    same_rank = len(sizes) == initial.ndim or (not sizes and not input_view.is_scalar)
    if not same_rank or any(s not in (0, n) for s, n in zip(sizes, initial.shape, strict=False)):
        raise bad_data(
            f"operand {input_view.index} {input_view}: "
            f"the initial value has dimensions {list(initial.shape)}",
            "compilation.carry.initial-dimensions",
        ).about(Place("operand", input_view.index))
    return initial
