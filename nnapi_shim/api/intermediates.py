"""The values of all operands in a run, including intermediate ones."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nnapi_shim.api.argument import argument_of
from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.operand import Operand
from nnapi_shim.api.running import Runner
from nnapi_shim.api.view import GraphView, OperandView
from nnapi_shim.hal.enums import OperandLifeTime
from nnapi_shim.runtime import compilation as runtime
from nnapi_shim.runtime import model as runtime_model
from nnapi_shim.runtime.referenced import Part
from nnapi_shim.runtime.slicing import with_parameters
from nnapi_shim.units import count

L = OperandLifeTime

Key = OperandView | Operand | int | str


class Intermediates(Mapping[Key, Array]):
    """Operand -> value in a run: inputs, constants, intermediate operands, outputs.

    Lookup is by OperandView, index or unique name. Iteration is by OperandView, in index order.

    left_out: descriptions of operands without a value here.
    """

    def __init__(
        self,
        graph: GraphView,
        inputs: Sequence[Array | None],
        outputs: Sequence[Array],
        indexes: Sequence[int],
    ) -> None:
        """indexes: the operand indices of `outputs`."""
        values = {operand.index: operand.value for operand in graph.operands if operand.is_constant}
        values |= {
            operand.index: value
            for operand, value in zip(graph.input_operands, inputs, strict=True)
        }
        values |= dict(zip(indexes, outputs, strict=True))
        self._values = {
            index: value for index, value in sorted(values.items()) if value is not None
        }
        self._operands = graph.operands
        self._names: dict[str, int | None] = {}
        for operand in graph.operands:
            is_first = operand.name not in self._names
            self._names[operand.name] = operand.index if is_first else None
        self.left_out = tuple(_left_out(graph, self._values))

    def __getitem__(self, key: Key) -> Array:
        """The value of an operand; raises KeyError for one without a value here."""
        if isinstance(key, str):
            index = self._names.get(key) if key else None
        else:
            index = key.index if isinstance(key, OperandView) else operator.index(key)
        if index not in self._values:
            raise KeyError(key)
        return self._values[index]

    def __iter__(self) -> Iterator[OperandView]:
        return iter([self._operands[index] for index in self._values])

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<values of {count(len(self), 'operand')}>"


def _left_out(graph: GraphView, values: Mapping[int, Any]) -> Iterator[str]:
    """Descriptions of operands without a value."""
    for item in graph.operations:
        if any(operand.subgraph is not None for operand in item.inputs):
            yield f"operands inside the graphs that {item.name} (operation {item.number}) runs"
    for operand in graph.operands:
        written = operand.lifetime in (L.TEMPORARY_VARIABLE, L.SUBGRAPH_OUTPUT)
        if written and operand.index not in values:
            name = f" {operand.name!r}" if operand.name else ""
            yield f"operand {operand.index}{name}, whose type {operand.type.name} no array has"


def exposed(compilation: runtime.Compilation, graph: GraphView) -> tuple[Runner, Sequence[int]]:
    """A runner of the compiled model with all operands as outputs, and the operand index of each
    output.
    """
    model = compilation.model
    part = model.part
    assert part is not None
    main = part.own.main
    operands = with_parameters(main)
    between = [
        index
        for item in main.operations
        for index in item.outputs
        if operands[index].lifetime is L.TEMPORARY_VARIABLE and operands[index].type in DTYPES
    ]
    for index in between:
        operands[index] = operands[index]._replace(lifetime=L.SUBGRAPH_OUTPUT)
    indexes = (*main.output_indexes, *sorted(between))
    other = runtime_model.Model()
    main = main._replace(operands=tuple(operands), output_indexes=indexes)
    other.part = Part(part.own._replace(main=main), part.inner, part.names)
    other.state = "finished"
    item = compilation.again(other)
    views = (graph.operands[index] for index in indexes)
    return Runner(
        item,
        tuple(map(argument_of, item.inputs, graph.input_operands)),
        tuple(map(argument_of, item.outputs, views)),
    ), indexes
