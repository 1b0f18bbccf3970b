"""Decides which IFs and WHILEs are inlined, by the size of their graphs.

Operands are counted before lowering. A graph that is referenced twice counts twice, because it is
lowered twice; so the lowered program is bounded by a multiple of the model.
"""

from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.types import Model, Operand, Operation, Subgraph
from nnapi_shim.hints import NamedTuple, Sequence

MAX_INLINED = 4096
"""Operands of a program with inlined graphs, at most."""

MAX_GROWTH = 16
"""The same limit, as a multiple of the operands of the model."""

MAX_DEPTH = 32
"""Nesting depth of inlined graphs, at most: each level takes several nested calls."""


class Size(NamedTuple):
    """The operands of a graph, including those of its inlined graphs, and the nesting depth."""

    operands: int
    depth: int


class Referenced:
    """The graphs that IF and WHILE refer to, and the size of each when it is inlined."""

    def __init__(self, model: Model) -> None:
        self.graphs = model.referenced
        total = len(model.main.operands) + sum(len(graph.operands) for graph in self.graphs)
        self._limit = min(MAX_INLINED, MAX_GROWTH * total)
        self._sizes: list[Size] = []
        for graph in self.graphs:  # each follows the graphs that it refers to
            operands, depth = len(graph.operands), 0
            for item in graph.operations:
                if item.type in (OperationType.IF, OperationType.WHILE):
                    size = self._size(graph.operands, item)
                    operands, depth = operands + size.operands, max(depth, size.depth)
            self._sizes.append(Size(min(operands, self._limit + 1), depth))

    def _size(self, operands: Sequence[Operand], item: Operation) -> Size:
        """The size of an IF or WHILE."""
        numbers = [
            operands[index].location.offset
            for index in item.inputs
            if operands[index].lifetime is OperandLifeTime.SUBGRAPH
        ]
        sizes = [self._sizes[number] for number in numbers]
        own = 0
        if item.type is OperationType.WHILE:  # the condition, and the old and the new state
            own = 1 + 2 * len(self.graphs[numbers[1]].output_indexes)
        return Size(own + sum(size.operands for size in sizes), 1 + max(s.depth for s in sizes))

    def fits(self, operands: Sequence[Operand], item: Operation, depth: int) -> bool:
        """Whether the graphs of an IF or WHILE can be inlined into a program with these operands.

        depth: nesting depth of the graph that contains the operation.
        """
        size = self._size(operands, item)
        return len(operands) + size.operands <= self._limit and depth + size.depth <= MAX_DEPTH

    def graph(self, operand: Operand) -> Subgraph:
        """The graph that a MODEL operand refers to."""
        return self.graphs[operand.location.offset]
