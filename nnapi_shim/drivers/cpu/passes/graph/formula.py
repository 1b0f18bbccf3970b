"""What a pass looks at that finds a formula of several operations around one of them."""

from struct import unpack

from nnapi_shim.drivers.cpu.passes.graph.rewriter import Graph
from nnapi_shim.hal.enums import FuseCode, OperandType, OperationType
from nnapi_shim.hal.types import Operation, element_count


class Formula:
    """Operations of a graph. places: positions of those that were found to belong to it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.places: set[int] = set()

    def made_by(self, index: int, type: OperationType) -> Operation | None:
        """The operation of a type that an operand of float32 is the result of."""
        graph = self.graph
        position = graph.producer.get(index)
        item = None if position is None else graph.operations[position]
        if position is None or not isinstance(item, Operation) or item.type is not type:
            return None
        if graph.operands[index].type is not OperandType.TENSOR_FLOAT32:
            return None
        if not graph.is_plain(index, item.inputs[0]):
            return None
        self.places.add(position)
        return item

    def two(self, index: int, type: OperationType) -> tuple[int, int] | None:
        """The operands of an operation of two, without an activation, that makes an operand."""
        item = self.made_by(index, type)
        if item is None:
            return None
        first, second, activation = item.inputs
        if self.graph.value(activation) != FuseCode.NONE or not self.graph.is_plain(second):
            return None
        return first, second

    def with_number(self, index: int, type: OperationType) -> tuple[int, float] | None:
        """The same, with a constant of one number: the other operand, and the number."""
        found = self.with_constant(index, type, 1)
        return found and (found[0], unpack("<f", self.graph.contents(found[1]))[0])

    def with_constant(self, index: int, type: OperationType, count: int) -> tuple[int, int] | None:
        """The same, with a constant of so many numbers: the other operand, and the constant."""
        graph, found = self.graph, self.two(index, type)
        for constant, other in (found, found[::-1]) if found else ():
            is_it = element_count(graph.operands[constant].dimensions) == count
            keeps = graph.operands[other].dimensions == graph.operands[index].dimensions
            if is_it and keeps and graph.is_constant(constant):
                return other, constant
        return None

    def result(self, index: int) -> int:
        """The one result that an operand which nobody else needs goes into; -1 if there is none."""
        if not self.is_alone(index):
            return -1
        reader = self.graph.operations[self.graph.readers[index][0]]
        return reader.outputs[0] if reader is not None and len(reader.outputs) == 1 else -1

    def is_alone(self, index: int, times: int = 1) -> bool:
        """Whether an operand is read so often, and not needed outside."""
        graph = self.graph
        return index not in graph.outputs and len(graph.readers.get(index, ())) == times
