"""Pattern matching on graphs, for passes that replace several operations.

    GELU = Op(O.MUL, Op(O.MUL, Operand("x"), SHARE), Number("half"))
    for match in matches(graph, GELU): ...

A pattern is an expression tree from the last operation back to its operands. An `Op` or operand
name that occurs several times matches the same operand each time. Each result except the last one
must have no reader outside the match, and must not be an output of the graph.
"""

from struct import unpack

from nnapi_shim.drivers.cpu.passes.graph.rewriter import Item, MutableGraph
from nnapi_shim.hal.enums import FuseCode, OperandType, OperationType
from nnapi_shim.hal.types import Operation, element_count
from nnapi_shim.hints import Any, Callable, Iterator

COMMUTATIVE = (OperationType.ADD, OperationType.MUL)
BINARY = (*COMMUTATIVE, OperationType.SUB, OperationType.DIV)


class Operand:
    """Any operand."""

    def __init__(self, name: str) -> None:
        self.name = name

    def accepts(self, graph: MutableGraph, index: int, sibling: int, result: int) -> bool:
        """Whether the operand `index` matches.

        sibling: the other input of the operation. result: its output.
        """
        del graph, index, sibling, result
        return True


class Constants(Operand):
    """A constant with one element per element of the last dimension of its sibling. The sibling has
    the dimensions of the result.
    """

    def _count(self, graph: MutableGraph, sibling: int) -> int:
        return (graph.operands[sibling].dimensions or (0,))[-1]

    def accepts(self, graph: MutableGraph, index: int, sibling: int, result: int) -> bool:
        """As in Operand."""
        operands = graph.operands
        count = self._count(graph, sibling)
        is_match = graph.is_constant(index) and element_count(operands[index].dimensions) == count
        return is_match and operands[sibling].dimensions == operands[result].dimensions


class Number(Constants):
    """A constant with one element, whose sibling has the dimensions of the result."""

    def _count(self, graph: MutableGraph, sibling: int) -> int:
        del graph, sibling
        return 1


class Op:
    """An operation of one of several types.

    inputs: patterns of its first inputs; in either order if the operation is commutative.
    accepts: an additional condition.
    is_real: it computes float32 with static shapes, and has no fused activation.
    may_be_shared: operations outside the match may read its result.
    """

    def __init__(
        self,
        types: OperationType | tuple[OperationType, ...],
        *inputs: "Op | Operand",
        accepts: Callable[[MutableGraph, Operation], bool] | None = None,
        is_real: bool = False,
        may_be_shared: bool = False,
    ) -> None:
        self.types = types if isinstance(types, tuple) else (types,)
        self.inputs = inputs
        self._accepts = accepts
        self.is_real = is_real
        self.may_be_shared = may_be_shared

    def begins(self, graph: MutableGraph, item: Operation) -> bool:
        """Whether an operation matches, apart from its inputs."""
        if item.type not in self.types or len(item.outputs) != 1:
            return False
        if self.is_real:
            if graph.operands[item.outputs[0]].type is not OperandType.TENSOR_FLOAT32:
                return False
            if item.type in BINARY and graph.value(item.inputs[2]) != FuseCode.NONE:
                return False
        return self._accepts is None or self._accepts(graph, item)


def real(
    type: OperationType,
    *inputs: "Op | Operand",
    accepts: Callable[[MutableGraph, Operation], bool] | None = None,
) -> Op:
    """An operation of float32, with static shapes and without a fused activation."""
    return Op(type, *inputs, accepts=accepts, is_real=True)


class Match:
    """Operations and operands that match a pattern.

    results: Op -> index of its output, and operand name -> index.
    uses: output of an operation -> number of times that the pattern reads it.
    """

    def __init__(self, graph: MutableGraph, results: dict[Any, int], uses: dict[int, int]) -> None:
        self.graph = graph
        self.results = results
        self.uses = uses

    def __getitem__(self, op: Op) -> Operation:
        """The operation that matches an Op of the pattern."""
        item = self.graph.operations[self.position(op)]
        assert isinstance(item, Operation)
        return item

    def position(self, op: Op) -> int:
        """The position of the operation that matches an Op."""
        return self.graph.producer[self.results[op]]

    def operand(self, name: str) -> int:
        """An operand that the pattern names."""
        return self.results[name]

    def number(self, name: str) -> float:
        """The value of a constant with one element."""
        value: float = unpack("<f", self.graph.contents(self.results[name]))[0]
        return value

    def is_alone(self) -> bool:
        """Whether no result except the last one is used outside the match."""
        return not any(
            isinstance(op, Op) and not op.may_be_shared and self._is_needed(index, self.uses[index])
            for op, index in self.results.items()
            if index in self.uses
        )

    def _is_needed(self, index: int, uses: int) -> bool:
        """Whether an operand is an output of the graph, or its number of reads is not `uses`."""
        return index in self.graph.outputs or len(self.graph.readers.get(index, ())) != uses

    def is_static(self) -> bool:
        """Whether the shapes of all `is_real` operations are static and as declared."""
        graph = self.graph
        for op, index in self.results.items():
            if isinstance(op, Op) and op.is_real:
                item = self[op]
                sources = item.inputs[: 2 if item.type in BINARY else 1]
                if not graph.is_plain(index, *sources):
                    return False
        return True

    def replace(self, op: Op, item: Item | None) -> None:
        """Replace the operation of an Op (None removes it), and remove the other operations that
        have no use outside the match.
        """
        graph, position = self.graph, self.position(op)
        removed = [other for other in self.results if isinstance(other, Op) and other is not op]
        for other in removed:  # the last one first
            index = self.results[other]
            if not other.may_be_shared or not self._is_needed(index, 1):
                graph.remove(self.position(other))
        if item is not None:
            graph.replace(position, item)
        else:
            graph.remove(position)


def matches(graph: MutableGraph, pattern: Op) -> Iterator[Match]:
    """All matches of a pattern in a graph, while a pass rewrites it."""
    for position, item in graph.each(*pattern.types):
        for match in _of_operation(pattern, item, Match(graph, {}, {})):
            if match.is_alone() and match.is_static():
                yield match
                if graph.operations[position] is not item:
                    break


def _matched(
    pattern: "Op | Operand", index: int, sibling: int, result: int, match: Match
) -> Iterator[Match]:
    """Extend a match by each way in which an operand matches a pattern."""
    graph = match.graph
    key = pattern if isinstance(pattern, Op) else pattern.name
    uses = match.uses
    if isinstance(pattern, Op):
        uses = {**uses, index: uses.get(index, 0) + 1}
    if key in match.results:
        if match.results[key] == index:
            yield Match(graph, match.results, uses)
    elif not isinstance(pattern, Op):
        if pattern.accepts(graph, index, sibling, result):
            yield Match(graph, {**match.results, key: index}, uses)
    else:
        position = graph.producer.get(index)
        item = None if position is None else graph.operations[position]
        if isinstance(item, Operation):
            yield from _of_operation(pattern, item, Match(graph, match.results, uses))


def _of_operation(pattern: Op, item: Operation, match: Match) -> Iterator[Match]:
    """Extend a match by each way in which an operation matches a pattern."""
    graph = match.graph
    if not pattern.begins(graph, item):
        return
    (result,) = item.outputs
    match = Match(graph, {**match.results, pattern: result}, match.uses)
    if len(pattern.inputs) < 2:
        if not pattern.inputs:
            yield match
        else:
            yield from _matched(pattern.inputs[0], item.inputs[0], item.inputs[0], result, match)
        return
    pairs = [item.inputs[:2]]
    if item.type in COMMUTATIVE:
        pairs.append(pairs[0][::-1])
    first, second = pattern.inputs
    for one, other in pairs:
        for half in _matched(first, one, other, result, match):
            yield from _matched(second, other, one, result, half)
