"""Which IFs and WHILEs have graphs small enough to become part of a program.

That is decided by counting, before anything is lowered: a graph that two others share is counted
twice, since it is lowered twice, so what is lowered is never many times the model.
"""

from collections.abc import Sequence

from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Model, Operand, Operation, Subgraph
from nnapi_shim.hints import NamedTuple

MAX_INLINED = 4096
"""Operands of a program up to which graphs become part of it."""

MAX_GROWTH = 16
"""Times the operands of the model, the same."""

MAX_DEPTH = 32
"""Graphs inside graphs that become part of a program: each is a few calls inside each other."""


class Size(NamedTuple):
    """What a graph brings along: its operands and those of its graphs, and their depth."""

    operands: int
    depth: int


class Referenced:
    """The graphs that IF and WHILE refer to, and what it takes to lower each in its place."""

    def __init__(self, model: Model) -> None:
        self.graphs = model.referenced
        total = len(model.main.operands) + sum(len(graph.operands) for graph in self.graphs)
        self._limit = min(MAX_INLINED, MAX_GROWTH * total)
        self._sizes: list[Size] = []
        for graph in self.graphs:  # each stands behind those that it refers to
            operands, depth = len(graph.operands), 0
            for item in graph.operations:
                if item.type in (OperationType.IF, OperationType.WHILE):
                    size = self._size(graph.operands, item)
                    operands, depth = operands + size.operands, max(depth, size.depth)
            self._sizes.append(Size(min(operands, self._limit + 1), depth))

    def _size(self, operands: Sequence[Operand], item: Operation) -> Size:
        """Of an IF or WHILE."""
        numbers = [
            operands[index].location.offset
            for index in item.inputs
            if operands[index].lifetime is OperandLifeTime.SUBGRAPH
        ]
        found = [self._sizes[number] for number in numbers]
        own = 0
        if item.type is OperationType.WHILE:  # its condition, and its state, old and new
            own = 1 + 2 * len(self.graphs[numbers[1]].output_indexes)
        return Size(own + sum(size.operands for size in found), 1 + max(s.depth for s in found))

    def fits(self, operands: Sequence[Operand], item: Operation, depth: int) -> bool:
        """Whether the graphs of an IF or WHILE can become part of a program that has these
        operands; depth: of the graph that it stands in.
        """
        size = self._size(operands, item)
        return len(operands) + size.operands <= self._limit and depth + size.depth <= MAX_DEPTH

    def graph(self, operand: Operand) -> Subgraph:
        """The graph that a MODEL operand refers to."""
        return self.graphs[operand.location.offset]
