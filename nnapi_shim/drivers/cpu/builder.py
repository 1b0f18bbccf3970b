"""From a model and known shapes to a program: binds, resolves, lowers one operation at a time."""

from collections.abc import Callable, Container, Sequence
from struct import pack, unpack
from typing import Any

from nnapi_shim import address
from nnapi_shim.drivers.cpu import lowering
from nnapi_shim.drivers.cpu.library import KernelLibrary
from nnapi_shim.drivers.cpu.memory_planner import LiveRange, plan
from nnapi_shim.drivers.cpu.program import (
    FIRST_ARGUMENT_SLOT,
    SLOT_ARENA,
    SLOT_WORDS,
    Program,
    patch,
)
from nnapi_shim.drivers.cpu.record import ADDRESS, INT64, Alias, At, Buffer, Step, record
from nnapi_shim.drivers.cpu.weights import Constants
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS, STRUCT_CODES
from nnapi_shim.hal.types import Dimensions, Operand, Subgraph, byte_size
from nnapi_shim.operations import operation
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.resolve import resolve

COPY = record(input=ADDRESS, output=ADDRESS, bytes=INT64)

L = OperandLifeTime


class NeedsValue(Exception):  # noqa: N818 (not an error)
    """Lowering has come to an operation whose shape depends on a value not computed yet."""

    def __init__(self, operand: int) -> None:
        super().__init__(operand)
        self.operand = operand


class Builder:
    """Lowers one graph, in the order of its operations.

    values(index) gives the bytes of an operand: of a constant, of a model input of this run, or of
    what the run has computed. It raises NeedsValue for one that must be computed first.
    omitted: indexes of the model's inputs and outputs that this run leaves out.
    """

    def __init__(
        self,
        library: KernelLibrary,
        graph: Subgraph,
        constants: Constants,
        input_dimensions: Sequence[Dimensions],
        output_dimensions: Sequence[Dimensions],
        values: Callable[[int], bytes],
        omitted: Container[int] = (),
    ) -> None:
        self.omitted = omitted
        self.library = library
        self.graph = graph
        self.constants = constants
        self.values = values
        self.steps: list[tuple[Step, BoundOperation | None, int]] = []
        self.failure: NnapiError | None = None
        self.aliases: dict[int, int] = {}
        self.fixed: dict[int, int] = {}  # addresses of results that outlive their program
        self._operands: dict[int, BoundOperand] = {}
        self._literals: dict[bytes, address.Block] = {}
        self.slots = {
            index: FIRST_ARGUMENT_SLOT + position
            for position, index in enumerate((*graph.input_indexes, *graph.output_indexes))
        }
        for index, dimensions in zip(
            (*graph.input_indexes, *graph.output_indexes),
            (*input_dimensions, *output_dimensions),
            strict=True,
        ):
            self._operands[index] = self._bound(index, dimensions)
        self.next_operation = 0

    # Binding

    def _bound(self, index: int, dimensions: Dimensions) -> BoundOperand:
        operand = self.graph.operands[index]
        return BoundOperand(
            index,
            operand.type,
            dimensions,
            operand.scale,
            operand.zero_point,
            operand.channel_quant,
            operand.lifetime is L.SUBGRAPH_OUTPUT,
        )

    def operand(self, index: int) -> BoundOperand:
        """The operand as this run knows it."""
        found = self._operands.get(index)
        if found is None:
            found = self._bound(index, self.graph.operands[index].dimensions)
            self._operands[index] = found
        return found

    def _input(self, index: int, name: str, is_value: bool) -> Any:
        operand = self.graph.operands[index]
        if operand.lifetime is L.NO_VALUE or index in self.omitted:
            return None
        if is_value:
            return decode(operand, self.values(self.aliases.get(index, index)))
        return self.operand(index)

    def lower_all(self) -> None:
        """Lower the operations from where the last call stopped.

        An operation that cannot run ends the program; its error is kept in `failure`, for the
        computation to raise. Raises NeedsValue in front of an operation that waits for a value
        that has to be computed first.
        """
        operations = self.graph.operations
        while self.next_operation < len(operations) and self.failure is None:
            item = operations[self.next_operation]
            place = f"{OperationType(item.type).name} (operation {item.number})"
            try:
                self._lower(item)
            except NnapiError as error:
                self.failure = error.at(place)
            self.next_operation += 1

    def _lower(self, item: Any) -> None:
        graph = self.graph
        declaration = operation(item.type)
        match = declaration.match(
            tuple([graph.operands[i].type for i in item.inputs]),
            tuple([graph.operands[i].type for i in item.outputs]),
        )
        inputs = [
            self._input(index, match.input_names[at], at in match.value_positions)
            for at, index in enumerate(item.inputs)
        ]
        outputs = [self.operand(index) for index in item.outputs]
        op = declaration.bind(match, inputs, outputs)
        resolve(op)
        for index, name in zip(item.outputs, match.output_names, strict=True):
            if index in self.omitted:
                raise op_failed(f"output {name} is omitted, and it is not optional")
        if all(0 in output.dimensions for output in outputs):
            return
        for step in lowering.lower(op):
            if isinstance(step, Alias):
                self._alias(step, op)
            else:
                self._add(step, op, item.number)

    def _alias(self, alias: Alias, op: BoundOperation) -> None:
        source, target = alias.source, alias.target
        if target.index not in self.slots and target.index not in self.fixed:
            self.aliases[target.index] = self.aliases.get(source.index, source.index)
        else:
            step = Step(COPY, "copy", input=source, output=target, bytes=byte_size(target))
            self._add(step, op, -1)

    def _add(self, step: Step, op: BoundOperation, index: int) -> None:
        """Append a step; a `once` step on constants runs now instead."""
        if step.once and self.constants.fill(self.library, step, self._constant_address):
            return
        self.steps.append((step, op, index))

    def _constant_address(self, operand: BoundOperand) -> int | None:
        return self.constants.address(self.aliases.get(operand.index, operand.index))

    def keep_results(self, origin: int, arguments: Sequence[int]) -> list[address.Block]:
        """Let what the steps from `origin` on write outlive their program: temporaries move out of
        the arena. The caller keeps the memory.

        arguments: addresses of the model's inputs and outputs.
        """
        blocks = []
        for step, _, _ in self.steps[origin:]:
            root = self._root(step.fields["output"])
            if root in self.slots:
                self.fixed[root] = arguments[self.slots[root] - FIRST_ARGUMENT_SLOT]
            elif isinstance(root, int) and root not in self.fixed:
                block = address.Block(byte_size(self.operand(root)))
                self.fixed[root] = block.address
                blocks.append(block)
        return blocks

    def written_bytes(self, origin: int) -> list[int]:
        """Per model output, how many bytes the steps from `origin` on write to it."""
        written = {self._root(step.fields["output"]) for step, _, _ in self.steps[origin:]}
        return [
            byte_size(self.operand(index)) if index in written else 0
            for index in self.graph.output_indexes
        ]

    def computed(self, index: int) -> int | None:
        """Address of what an earlier program of this run has computed."""
        return self.fixed.get(index)

    # Assembly

    def program(self, origin: int = 0) -> Program:
        """Assemble the steps from number `origin` on into a program."""
        steps = self.steps[origin:]
        ranges: dict[Any, list[int]] = {}
        for number, (step, _, _) in enumerate(steps):
            for _, name in step.record.addresses:
                key = self._place(step.fields[name])
                if key is None:
                    continue
                if key in ranges:
                    ranges[key][2] = number
                else:
                    ranges[key] = [self._length(step.fields[name]), number, number]
        shared = self._share_in_place(steps, ranges)
        keys = [key for key in ranges if key not in shared]
        offsets, arena_bytes = plan([LiveRange(*ranges[key]) for key in keys])
        places = dict(zip(keys, offsets, strict=True))
        places.update((key, places[owner]) for key, owner in shared.items())
        return self._assemble(steps, places, arena_bytes)

    def _root(self, value: Any) -> Any:
        """The operand or buffer behind a field's value, aliases followed."""
        while isinstance(value, At):
            value = value.base
        if isinstance(value, BoundOperand):
            return self.aliases.get(value.index, value.index)
        return value

    def _place(self, value: Any) -> Any:
        """Key of what lies in the arena, or None for what has an address of its own."""
        root = self._root(value)
        if isinstance(root, int):
            outside = root in self.slots or root in self.fixed
            return None if outside or self.constants.address(root) is not None else root
        if isinstance(root, Buffer):
            return None if root.address is not None else root
        return None

    def _length(self, value: Any) -> int:
        root = self._root(value)
        return root.length if isinstance(root, Buffer) else byte_size(self.operand(root))

    def _share_in_place(self, steps: Sequence[Any], ranges: dict[Any, list[int]]) -> dict[Any, Any]:
        """Outputs that take over the memory of an input which nothing reads afterwards.

        Output -> whoever the memory belonged to first.
        """
        shared: dict[Any, Any] = {}
        for number, (step, _, _) in enumerate(steps):
            if not step.in_place:
                continue
            source = self._place(step.fields[step.in_place])
            target = self._place(step.fields["output"])
            if (
                source is not None
                and target is not None
                and source != target
                and ranges[source][0] == ranges[target][0]
                and ranges[source][2] == number
                and ranges[target][1] == number
            ):
                owner = shared[target] = shared.get(source, source)
                ranges[owner][2] = ranges[target][2]  # it lives as long as the last of them
        return shared

    def _assemble(self, steps: Sequence[Any], places: dict[Any, int], arena_bytes: int) -> Program:
        library = self.library
        self._literals = {}
        patches: list[bytes] = []
        head: list[bytes] = []
        blocks: list[bytes] = []
        word = 4 * len(steps)
        origins = []
        for number, (step, op, index) in enumerate(steps):
            fields = step.fields
            values = []
            for at, (name, kind) in enumerate(step.record.fields.items()):
                value = fields[name]
                if kind == ADDRESS:
                    value = self._address(value, places, patches, word + at)
                values.append(value)
            blocks.append(step.record.pack(*values))
            head.append(pack("<4q", library.address(step.kernel), 0, step.tiles, 0))
            patches.append(patch(4 * number + 1, SLOT_WORDS, 8 * word))
            word += step.record.words
            origins.append((op, index, step.kernel))
        return Program(
            library,
            b"".join(head) + b"".join(blocks),
            b"".join(patches),
            len(head),
            arena_bytes,
            FIRST_ARGUMENT_SLOT + len(self.slots),
            origins,
            [self.constants, self._literals],
        )

    def _literal(self, data: bytes) -> int:
        """Address of constant bytes that a lowering made; they live as long as the program."""
        block = self._literals.get(data)
        if block is None:
            block = self._literals[data] = address.Block(len(data))
            address.view(block.address, len(data))[:] = data
        return block.address

    def _address(self, value: Any, places: dict[Any, int], patches: list[bytes], at: int) -> int:
        """The word for an ADDRESS field: final, or 0 and a patch."""
        if value is None:
            return 0
        offset = 0
        while isinstance(value, At):
            offset += value.offset
            value = value.base
        if isinstance(value, bytes):
            return self._literal(value) + offset
        root = self._root(value)
        if root in places:
            patches.append(patch(at, SLOT_ARENA, places[root] + offset))
            return 0
        if isinstance(root, Buffer):
            assert root.address is not None
            return root.address + offset
        if root in self.fixed:
            return self.fixed[root] + offset
        if root in self.slots:
            patches.append(patch(at, self.slots[root], offset))
            return 0
        constant = self.constants.address(root)
        assert constant is not None, f"operand {root} has no place"
        return constant + offset


def decode(operand: Operand, data: bytes) -> Any:
    """The Python value of a scalar, or the tuple of numbers of a tensor."""
    count = len(data) // ELEMENT_BYTES[operand.type]
    numbers = unpack(f"<{count}{STRUCT_CODES[operand.type]}", data)
    if operand.type in SCALARS:
        return bool(numbers[0]) if STRUCT_CODES[operand.type] == "B" else numbers[0]
    return numbers
