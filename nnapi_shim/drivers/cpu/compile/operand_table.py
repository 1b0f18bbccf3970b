"""The operands of a graph, with dimensions, values and memory of one run; those of an operation."""

from nnapi_shim.drivers.cpu.compile.suspension import NeedsValue
from nnapi_shim.drivers.cpu.lowering.constant_bytes import ConstantBytes
from nnapi_shim.drivers.cpu.lowering.half_precision import HALVED
from nnapi_shim.drivers.cpu.lowering.tiling import tier
from nnapi_shim.drivers.cpu.program.constants import Constants
from nnapi_shim.drivers.cpu.program.program import FIRST_ARGUMENT_SLOT
from nnapi_shim.drivers.cpu.program.record import At
from nnapi_shim.hal.enums import OperandLifeTime, OperandType
from nnapi_shim.hal.quantization import QUANTIZED_RANGE, decoded
from nnapi_shim.hal.types import Dimensions, Operand, Operation, Subgraph, byte_size
from nnapi_shim.hints import Any, Collection, NamedTuple, Sequence
from nnapi_shim.operations import bound_operand
from nnapi_shim.operations.declare import BoundOperand, BoundOperation, Match
from nnapi_shim.operations.resolve import merge_dimensions


def _without_value(graph: Subgraph, base: int) -> list[int]:
    """Indexes of operands that have no value; base: the index of the first operand."""
    return [
        index
        for index, operand in enumerate(graph.operands, base)
        if operand.lifetime is OperandLifeTime.NO_VALUE
    ]


class Contents(NamedTuple):
    """The contents of an operand whose value an operation needs."""

    type: OperandType
    data: bytes
    extension_data: bytes


_TABLES = (
    *("declared", "constant_addresses", "values", "aliases", "pinned", "slots"),
    *("_absent", "_contents"),
)
"""What two tables do not share."""


class OperandTable:
    """Operands by index in `declared`; inlined graphs append their operands.

    omitted: indexes of the graph's inputs that the run omits.
    owned: the outputs are temporaries in the arena, not memory of the caller.
    """

    def __init__(
        self,
        graph: Subgraph,
        constants: Constants,
        input_dimensions: Sequence[Dimensions],
        output_dimensions: Sequence[Dimensions],
        omitted: Collection[int] = (),
        owned: bool = False,
    ) -> None:
        self._constants = constants
        keeps_all = tier().byte_pairs or tier().large_patches
        self._kept_types = QUANTIZED_RANGE if keeps_all else (OperandType.TENSOR_QUANT8_SYMM,)
        self.declared: list[Operand] = list(graph.operands)
        self._absent = {*omitted, *_without_value(graph, 0)}
        """Operands without a value; aliases share the value of their owner."""
        self.constant_addresses = constants.addresses(graph)
        self.values: dict[int, bytes] = {}
        """Run-time contents of operands that determine shapes."""
        self.aliases: dict[int, int] = {}
        """Operand -> the operand whose memory it shares."""
        self.pinned: set[int] = set()
        """Operands that share the memory of an output and cannot be aliased to another operand."""
        self._contents: dict[int, Contents] = {}
        """Contents of constants that operations needed."""
        self._bound: dict[int, BoundOperand] = {}
        arguments = graph.input_indexes if owned else (*graph.input_indexes, *graph.output_indexes)
        self.slots: dict[Any, int] = {
            index: FIRST_ARGUMENT_SLOT + position for position, index in enumerate(arguments)
        }
        """Operand or Buffer -> slot of its address."""
        for index, dimensions in zip(
            (*graph.input_indexes, *graph.output_indexes),
            (*input_dimensions, *output_dimensions),
            strict=True,
        ):
            if index in omitted:  # the declared dimensions stay
                dimensions = graph.operands[index].dimensions
            self._bound[index] = self._bind(index, dimensions)

    def copy(self) -> "OperandTable":
        """An independent copy."""
        other: OperandTable = object.__new__(OperandTable)
        other.__dict__ = dict(self.__dict__)
        for name in _TABLES:
            setattr(other, name, getattr(self, name).copy())
        other._bound = {index: operand.copy() for index, operand in [*self._bound.items()]}
        return other

    def truncate(self, count: int, changed: Sequence[BoundOperand]) -> None:
        """Remove all operands from index `count` on, and restore others from copies."""
        for index in range(count, len(self.declared)):
            for table in (self._bound, self._contents, self.constant_addresses, self.aliases):
                table.pop(index, None)
            for indexes in (self.pinned, self._absent):
                indexes.discard(index)
        del self.declared[count:]
        self._bound.update({operand.index: operand for operand in changed})

    def append_graph(self, graph: Subgraph) -> int:
        """Append the operands of an inlined graph; returns the index of the first."""
        base = len(self.declared)
        self.declared.extend(graph.operands)
        self._absent.update(_without_value(graph, base))
        for index, where in self._constants.addresses(graph).items():
            self.constant_addresses[base + index] = where
        return base

    def append(self, operand: Operand) -> int:
        """Append an operand; returns its index."""
        self.declared.append(operand)
        return len(self.declared) - 1

    def _bind(self, index: int, dimensions: Dimensions) -> BoundOperand:
        bound = bound_operand(index, self.declared[index], dimensions)
        halved = bound.type is OperandType.TENSOR_FLOAT32 and self._constants.halved
        where = self.constant_addresses.get(index)
        if halved and (where, dimensions) in halved:
            bound.value = HALVED
        elif where is not None and bound.type in self._kept_types:
            bound.value = ConstantBytes(where)
        return bound

    def bound(self, index: int) -> BoundOperand:
        """An operand with the dimensions of this run."""
        operand = self._bound.get(index)
        if operand is None:
            operand = self._bound[index] = self._bind(index, self.declared[index].dimensions)
        return operand

    def set_dimensions(self, index: int, dimensions: Dimensions) -> None:
        """Merge computed dimensions into an operand; raises OP_FAILED where they contradict."""
        operand = self.bound(index)
        operand.dimensions = merge_dimensions(operand.dimensions, dimensions)

    def share_memory(self, index: int, other: int, pinned: bool = False) -> None:
        """Alias an operand to the memory of another operand."""
        self.aliases[index] = self.owner(other)
        if pinned:
            self.pinned.add(index)

    def owner(self, index: int) -> int:
        """The operand that owns the memory of an operand: itself, or the target of its alias."""
        return self.aliases.get(index, index)

    def root(self, value: Any) -> Any:
        """The operand or Buffer to which a field refers, with aliases resolved."""
        while type(value) is At:
            value = value.base
        if type(value) is BoundOperand:
            return self.aliases.get(value.index, value.index)
        return value

    def is_omitted(self, index: int) -> bool:
        """Whether an operand has no value in this run."""
        return self.aliases.get(index, index) in self._absent

    def constant_address(self, operand: BoundOperand) -> int | None:
        """The address of a constant; None for any other operand."""
        return self.constant_addresses.get(self.owner(operand.index))

    def value(self, index: int) -> bytes:
        """Contents of an operand; raises NeedsValue if they are known only at run time."""
        owner = self.aliases.get(index, index)
        where = self.constant_addresses.get(owner)
        if where is not None:
            return self._constants.read(where, byte_size(self.declared[owner]))
        if owner not in self.values:
            raise NeedsValue(owner)
        return self.values[owner]

    def contents(self, index: int) -> Contents:
        """The contents of an input whose value the operation needs; raises NeedsValue."""
        contents = self._contents.get(index)
        if contents is None:
            operand = self.declared[index]
            contents = Contents(operand.type, self.value(index), operand.extension_data)
            if self.owner(index) in self.constant_addresses:
                self._contents[index] = contents
        return contents

    def given(self, index: int) -> Any:
        """The contents of an input as a number or a tuple of numbers; None if it is omitted. Raises
        NeedsValue.
        """
        if self.is_omitted(index):
            return None
        operand = self.declared[index]
        value = decoded(operand.type, self.value(index))
        if operand.extension_data:
            from nnapi_shim.drivers.cpu.lowering.bounds import marked

            return marked(value, operand.extension_data)
        return value


class Use:
    """An operation with the operands and values that lowering reads.

    tensors: the operands that steps may name; positions: where they are among the inputs and
    outputs of the operation.
    """

    __slots__ = ("_inputs", "_item", "_match", "_sources", "outputs", "positions", "tensors")

    def __init__(self, item: Operation, match: Match, operands: OperandTable) -> None:
        self._item, self._match = item, match
        bound, is_omitted, given = operands.bound, operands.is_omitted, operands.given
        values, has_sources = match.value_positions, match.operation.values
        inputs: list[Any] = []
        sources: dict[int, BoundOperand] = {}
        tensors: list[BoundOperand] = []
        positions: list[int] = []
        for at, index in enumerate(item.inputs):
            if at in values:
                inputs.append(given(index))
                if has_sources:
                    sources[at] = source = bound(index)
                    tensors.append(source)
                    positions.append(at)
            elif is_omitted(index):
                inputs.append(None)
            else:
                operand = bound(index)
                inputs.append(operand)
                tensors.append(operand)
                positions.append(at)
        self._inputs, self._sources = inputs, sources
        self.outputs = outputs = [bound(index) for index in item.outputs]
        self.tensors = tensors + outputs
        self.positions = positions + [len(inputs) + at for at in range(len(outputs))]

    def operation(self, base: int) -> BoundOperation:
        """The operation with its operands by name. base: as in `operations.bound_operation`."""
        match, indexes = self._match, self._item.inputs + self._item.outputs
        if base:
            indexes = tuple([index - base for index in indexes])
        source = self._sources.__getitem__
        return match.operation.bind(match, self._inputs, self.outputs, source, indexes)
