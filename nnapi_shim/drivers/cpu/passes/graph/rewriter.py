"""The mutable graph of graph passes: operations may be replaced or removed, operands only added.

Operands keep their indexes, so inputs, outputs and messages stay those of the model. A pass reads
only declared shapes: where dimensions are dynamic, it leaves the graph unchanged.
"""

from math import isfinite
from struct import pack

from nnapi_shim import address
from nnapi_shim.drivers.cpu.passes.fused import Fused
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.schedule import Rewrite
from nnapi_shim.errors import NnapiError, Place
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, STRUCT_CODES, decoded
from nnapi_shim.hal.types import Operand, Operation, Subgraph, is_known
from nnapi_shim.hints import Any, Callable, Iterator, Sequence, cast
from nnapi_shim.limits import look, watched
from nnapi_shim.operations import bound_operand, bound_operation
from nnapi_shim.operations import operation as declaration_of
from nnapi_shim.operations.declare import BoundOperand, declared
from nnapi_shim.operations.resolve import resolve

L = OperandLifeTime
CONSTANTS = (L.CONSTANT_COPY, L.CONSTANT_REFERENCE)
SCALED = (*QUANTIZED_RANGE, OperandType.TENSOR_INT32)
"""Types that may have a scale; int32 biases have one."""


Item = Operation | Fused


class MutableGraph:
    """The main graph of a model while passes rewrite it.

    operations: in a topological order; None for a removed operation.
    evaluate: evaluates a graph without inputs: the contents of its outputs, or None on failure.
    pass_name: the current pass. rewrites: the changes that passes reported.
    """

    def __init__(
        self,
        subgraph: Subgraph,
        constants: Constants,
        evaluate: Callable[[Subgraph], Sequence[bytes] | None],
    ) -> None:
        self.constants = constants
        self.evaluate = evaluate
        self.subgraph = subgraph
        self.operands: list[Operand] = list(subgraph.operands)
        self.operations: list[Item | None] = list(subgraph.operations)
        self.outputs = frozenset(subgraph.output_indexes)
        self.pass_name = ""
        self.rewrites: list[Rewrite] = []
        self.producer: dict[int, int] = {}
        """Operand -> position of the operation that writes it."""
        self.readers: dict[int, list[int]] = {}
        """Operand -> positions of the operations that read it, one entry per read."""
        self._addresses = constants.addresses(subgraph)
        self._plain: dict[int, bool] = {}
        for position, item in enumerate(watched(subgraph.operations)):
            self._enter(position, item)

    def rewritten(self) -> Subgraph:
        """The current graph as a Subgraph."""
        operations = tuple([item for item in self.operations if item is not None])
        return self.subgraph._replace(
            operands=tuple(self.operands), operations=cast("tuple[Operation, ...]", operations)
        )

    # Queries

    def each(self, *types: OperationType) -> Iterator[tuple[int, Operation]]:
        """Position and operation of each operation of these types; skips those that are removed
        during the iteration.
        """
        for position in watched(range(len(self.operations))):
            item = self.operations[position]
            if isinstance(item, Operation) and item.type in types:
                yield position, item

    def named(self, item: Operation) -> dict[str, int]:
        """Declared name -> operand of an operation; the last operand of a repeated name."""
        match = declaration_of(OperationType(item.type)).match(
            tuple([self.operands[index].type for index in item.inputs]),
            tuple([self.operands[index].type for index in item.outputs]),
        )
        names = match.input_names + match.output_names
        return dict(zip(names, item.inputs + item.outputs, strict=True))

    def is_constant(self, index: int) -> bool:
        """Whether an operand is a constant of the model or of a pass."""
        return self.operands[index].lifetime in CONSTANTS

    def value(self, index: int) -> Any:
        """The value of a constant: a number, or a tuple for a tensor; None for other operands."""
        if not self.is_constant(index):
            return None
        return decoded(self.operands[index].type, self.contents(index))

    def address(self, index: int) -> int:
        """The address of a constant."""
        return self._addresses[index]

    def contents(self, index: int) -> bytes:
        """The bytes of a constant."""
        operand = self.operands[index]
        return address.read(self.address(index), operand.location.length)

    def is_plain(self, *indexes: int) -> bool:
        """Whether the shapes and quantization of operands are static, and as declared."""
        return all(self._plain.get(index) or self._is_plain(index) for index in indexes)

    def _is_plain(self, index: int) -> bool:
        """`is_plain` of one operand; the answer is cached, because passes do not change it."""
        pending = [index]
        while pending:
            look()
            at = pending[-1]
            operand = self.operands[at]
            if at in self._plain:
                pending.pop()
            elif not (is_known(operand.type, operand.dimensions) and isfinite(operand.scale)):
                self._plain[at] = False
            else:
                self._check_operand(at, pending)
        return self._plain[index]

    def _check_operand(self, index: int, pending: list[int]) -> None:
        """Decide whether an operand is as its producer computes it, or push the inputs that must be
        decided first: many operations copy scale and zero point from an input, whatever the output
        declares.
        """
        position = self.producer.get(index)
        item = None if position is None else self.operations[position]
        if not isinstance(item, Operation):
            self._plain[index] = True
        elif item.type in (OperationType.IF, OperationType.WHILE):
            self._plain[index] = self.operands[index].type not in SCALED
        else:
            scaled: list[int] = []
            if declaration_of(OperationType(item.type)).quantization is not declared:
                scaled = [it for it in item.inputs if self.operands[it].type in SCALED]
            unknown = [it for it in scaled if it not in self._plain]
            if unknown:
                pending += unknown
            else:
                are_plain = all(self._plain[it] for it in scaled)
                self._plain[index] = are_plain and self._is_as_declared(item)

    def _is_as_declared(self, item: Operation) -> bool:
        """Whether an operation passes all static checks, and its outputs get the dimensions, scales
        and zero points that they declare. False if those of an input are dynamic.
        """
        inputs = [self.operands[index] for index in item.inputs]
        if not all(it.lifetime is L.NO_VALUE or is_known(it.type, it.dimensions) for it in inputs):
            return False
        try:
            op = bound_operation(item, self.operands, self._input, self._bound)
            operation = op.match.operation
            parameters = operation.quantization(op)
            if any(
                output.type in SCALED and (output.scale, output.zero_point) != expected
                for output, expected in zip(op.outputs, parameters, strict=True)
            ):
                return False
            are_known = all(self._has_value(item.inputs[at]) for at in op.match.value_positions)
            return not are_known or operation.data_dependent or not resolve(op)
        except NnapiError:
            return False

    def _input(self, index: int, is_value: bool) -> Any:
        if self.operands[index].lifetime is L.NO_VALUE:
            return None
        if not is_value or not self.is_constant(index):
            return self._bound(index)
        return self.value(index)

    def _has_value(self, index: int) -> bool:
        return self.is_constant(index) or self.operands[index].lifetime is L.NO_VALUE

    def _bound(self, index: int) -> BoundOperand:
        return bound_operand(index, self.operands[index])

    def are_alike(self, one: int, other: int) -> bool:
        """Whether two operands have the same type, dimensions and quantization."""
        first, second = self.operands[one], self.operands[other]
        return (
            first.type == second.type
            and first.dimensions == second.dimensions
            and (first.scale, first.zero_point) == (second.scale, second.zero_point)
            and first.channel_quant == second.channel_quant
        )

    # Changes

    def report(self, item: Item, text: str) -> None:
        """Record a change by the current pass; the text names operations by their titles."""
        where = Place("operation", item.number, OperationType(item.type).name)
        self.rewrites.append(Rewrite(self.pass_name, where, text))

    def replace(self, position: int, item: Item) -> None:
        """Replace an operation."""
        self.remove(position)
        self.operations[position] = item
        self._enter(position, item)

    def remove(self, position: int) -> None:
        """Remove an operation."""
        item = self.operations[position]
        assert item is not None
        for index in item.inputs:
            self.readers[index].remove(position)
        for index in item.outputs:
            if self.producer.get(index) == position:
                del self.producer[index]
        self.operations[position] = None

    def replace_uses(self, index: int, other: int) -> None:
        """Replace all reads of an operand by reads of another operand."""
        for position in dict.fromkeys(self.readers.get(index, ())):
            item = self.operations[position]
            assert item is not None
            inputs = tuple([other if each == index else each for each in item.inputs])
            self.replace(position, item._replace(inputs=inputs))

    def scalar(self, type: OperandType, value: Any, extension_data: bytes = b"") -> int:
        """Add a scalar constant; returns its index."""
        operand = Operand(type, extension_data=extension_data)
        return self.constant(operand, pack(f"<{STRUCT_CODES[type]}", value))

    def constant(self, operand: Operand, contents: bytes) -> int:
        """Add a constant with the type and dimensions of `operand`; returns its index."""
        location, where = self.constants.add(contents)
        self.operands.append(operand._replace(lifetime=L.CONSTANT_REFERENCE, location=location))
        index = len(self.operands) - 1
        self._addresses[index] = where
        return index

    def make_constant(self, index: int, contents: bytes) -> None:
        """Turn the result of an operation into a constant."""
        location, where = self.constants.add(contents)
        operand = self.operands[index]
        self.operands[index] = operand._replace(lifetime=L.CONSTANT_REFERENCE, location=location)
        self._addresses[index] = where

    def _enter(self, position: int, item: Item) -> None:
        for index in item.inputs:
            self.readers.setdefault(index, []).append(position)
        for index in item.outputs:
            self.producer[index] = position


def title(item: Item) -> str:
    """Number and type of an operation, for messages."""
    return f"operation {item.number} {OperationType(item.type).name}"
