"""A random model: its operands with their contents, its operations, and its form in the HAL."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.types import DataLocation, Dimensions, Model, Operand, Operation, Subgraph
from nnapi_shim.operations import operation
from tests.single import CONSTANT, INPUT, Built, Value

COMPUTED = "computed"

L = OperandLifeTime


def types_named(names: str) -> tuple[OperationType, ...]:
    """Operation types, from their names in a text."""
    return tuple([OperationType[name] for name in names.split()])


class Item(NamedTuple):
    """An operand.

    value: type, dimensions and parameters; the contents, for what is computed those that the
        reference device has found.
    kind: INPUT of the model, CONSTANT or COMPUTED. An omitted operand is an INPUT without a buffer
        or a CONSTANT without a value.
    declared: the dimensions that the model declares; the rest shows when it runs.
    is_exposed: an output of the model, even though an operation reads it.
    is_misdeclared: as a temporary it declares a scale that its operation replaces.
    is_settled: its dimensions follow from what the model declares, whatever the data are.
    """

    value: Value
    kind: str
    declared: Dimensions
    is_exposed: bool = False
    is_misdeclared: bool = False
    is_settled: bool = True


class Node(NamedTuple):
    """An operation: indexes of its operands; the graphs of an IF or WHILE, which are not among
    `inputs`.
    """

    type: OperationType
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    graphs: tuple["Graph", ...] = ()


@dataclass
class Graph:
    """Operands and operations, in an order in which they can run.

    inputs, outputs: those of a graph that an IF or WHILE refers to; the inputs of a model are all
    operands of that kind, its outputs depend on what is tested.
    failing: an operation that is to fail, after all others.
    special: contents may be at the edges of their types (edges.py).
    """

    items: list[Item] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    failing: Node | None = None
    special: bool = False

    def computed(self) -> list[int]:
        """Operands that the operations compute."""
        return [index for node in self.nodes for index in node.outputs]

    def read(self) -> set[int]:
        """Operands that operations read."""
        return {index for node in self.nodes for index in node.inputs}

    def ends(self) -> list[int]:
        """What is computed and not read, and what is exposed nevertheless."""
        read = self.read()
        return [i for i in self.computed() if i not in read or self.items[i].is_exposed]

    def operations(self) -> Iterator[OperationType]:
        """Types of all operations, those of inner graphs too."""
        for node in self.nodes:
            yield node.type
            for graph in node.graphs:
                yield from graph.operations()

    def shown(self, indent: str = "") -> str:
        """The model as text."""
        nodes = [*self.nodes, *([self.failing] if self.failing else [])]
        used = {index for node in nodes for index in (*node.inputs, *node.outputs)}
        lines = [
            f"{indent}{self._shown(index)}"
            for index, item in enumerate(self.items)
            if item.kind != COMPUTED and (index in used or index in self.inputs)
        ]
        for number, node in enumerate(nodes):
            lines.append(f"{indent}operation {number}: {node.type.name}{self._arguments(node)}")
            lines += [f"{indent}    -> {self._shown(index)}" for index in node.outputs]
            for graph in node.graphs:
                outputs = f"inputs {graph.inputs}, outputs {graph.outputs}"
                lines += [f"{indent}    graph: {outputs}", graph.shown(indent + "        ")]
        if self.failing:
            lines.append(f"{indent}the last operation is to fail")
        return "\n".join(lines)

    def _arguments(self, node: Node) -> str:
        if node.graphs:
            return f"({', '.join(map(str, node.inputs))})"
        match = operation(node.type).match(self._types(node.inputs), self._types(node.outputs))
        named = zip(match.input_names, node.inputs, strict=True)
        return f"-{match.variant}({', '.join(f'{name}={index}' for name, index in named)})"

    def _types(self, indexes: Sequence[int]) -> tuple[OperandType, ...]:
        return tuple([self.items[index].value.operand.type for index in indexes])

    def _shown(self, index: int) -> str:
        value, kind, declared, *_ = self.items[index]
        operand = value.operand
        text = f"{index}: {operand.type.name}{list(operand.dimensions)} {kind}"
        if declared != operand.dimensions:
            text += f", declared {list(declared)}"
        if operand.scale:
            text += f", scale {operand.scale!r}, zero point {operand.zero_point}"
        if operand.channel_quant:
            text += f", {operand.channel_quant}"
        if value.is_omitted:
            return f"{text}, omitted"
        if kind == COMPUTED or value.array is None:
            return text
        return f"{text} = {_contents(value.array)}"


def misdeclared(operand: Operand) -> Operand:
    """A quantized operand with another scale."""
    return operand._replace(scale=3 * operand.scale, zero_point=0)


def _contents(array: Any) -> str:
    """Small contents in full, of large ones the first numbers."""
    few = array if array.size <= 64 else array.ravel()[:16]
    text = " ".join(np.array2string(few, threshold=64, separator=",").split())
    return text if few is array else f"{text[:-1]}, ...]"


def part(graph: Graph, numbers: Sequence[int]) -> Graph:
    """Some operations of a graph; what others have computed is given."""
    nodes = [graph.nodes[number] for number in numbers]
    every = [*nodes, *([graph.failing] if graph.failing else [])]
    computed = {index for node in every for index in node.outputs}
    used = sorted(computed | {index for node in every for index in node.inputs})
    places = {index: position for position, index in enumerate(used)}
    items = [
        graph.items[i]
        if graph.items[i].kind != COMPUTED or i in computed
        else graph.items[i]._replace(kind=INPUT)
        for i in used
    ]

    def placed(node: Node) -> Node:
        return node._replace(
            inputs=tuple([places[i] for i in node.inputs]),
            outputs=tuple([places[i] for i in node.outputs]),
        )

    failing = placed(graph.failing) if graph.failing else None
    return Graph(items, [placed(node) for node in nodes], failing=failing, special=graph.special)


def assemble(graph: Graph, outputs: Sequence[int], with_failing: bool = False) -> Built:
    """A model with these outputs, and the contents of its inputs (None for one left out)."""
    assembly = _Assembly()
    nodes = [*graph.nodes, graph.failing] if with_failing and graph.failing else graph.nodes
    if with_failing and graph.failing:
        outputs = [*outputs, *graph.failing.outputs]
    inputs = graph.inputs or [i for i, item in enumerate(graph.items) if item.kind == INPUT]
    main = assembly.subgraph(graph, nodes, inputs, outputs)
    model = Model(main, tuple(assembly.referenced), bytes(assembly.constants))
    return Built(model, [graph.items[index].value.array for index in inputs])


class _Assembly:
    """What the graphs of a model share: their constants, and the list of those referred to."""

    def __init__(self) -> None:
        self.constants = bytearray()
        self.referenced: list[Subgraph] = []

    def subgraph(
        self, graph: Graph, nodes: Sequence[Node], inputs: Sequence[int], outputs: Sequence[int]
    ) -> Subgraph:
        """A graph in the form of the HAL; operands keep their indexes."""
        is_output = set(outputs)
        operands = [
            self._operand(item, index in is_output) for index, item in enumerate(graph.items)
        ]
        operations = []
        for number, node in enumerate(nodes):
            arguments = list(node.inputs)
            at = 1 if node.type is OperationType.IF else 0
            for inner in node.graphs:
                self.referenced.append(
                    self.subgraph(inner, inner.nodes, inner.inputs, inner.outputs)
                )
                position = DataLocation(offset=len(self.referenced) - 1)
                operands.append(Operand(OperandType.MODEL, lifetime=L.SUBGRAPH, location=position))
                arguments.insert(at, len(operands) - 1)
                at += 1
            operations.append(Operation(node.type, tuple(arguments), node.outputs, number))
        return Subgraph(tuple(operands), tuple(operations), tuple(inputs), tuple(outputs))

    def _operand(self, item: Item, is_output: bool) -> Operand:
        operand = item.value.operand._replace(dimensions=item.declared)
        if item.kind == INPUT:
            return operand._replace(lifetime=L.SUBGRAPH_INPUT)
        if item.kind == CONSTANT:
            if item.value.is_omitted:
                return operand._replace(lifetime=L.NO_VALUE)
            return operand._replace(
                lifetime=L.CONSTANT_COPY, location=self._constant(item.value.array)
            )
        if is_output:
            return operand._replace(lifetime=L.SUBGRAPH_OUTPUT)
        if item.is_misdeclared:
            operand = misdeclared(operand)
        return operand._replace(lifetime=L.TEMPORARY_VARIABLE)

    def _constant(self, array: Any) -> DataLocation:
        self.constants.extend(bytes(-len(self.constants) % 64))
        data = array.tobytes()
        position = DataLocation(0, len(self.constants), len(data))
        self.constants.extend(data)
        return position
