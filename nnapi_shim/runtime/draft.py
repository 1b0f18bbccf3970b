"""A model that is being built: validation of the whole, and conversion to a hal.Model."""

from nnapi_shim import address
from nnapi_shim.errors import NnapiError, Place, bad_data, operation_place
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hints import Any, Iterator, Mapping
from nnapi_shim.operations import bound_operand, bound_operation, operation
from nnapi_shim.operations.declare import UNSET, BoundOperand
from nnapi_shim.runtime import extension
from nnapi_shim.runtime.referenced import Part

L = OperandLifeTime
_OWN_MAPPING = 1 << 16
"""Values of fewer bytes are in the heap; malloc maps blocks from 128 kB on."""

_WORTH_A_PLACE = 1 << 12
"""Values of more bytes are read where they are, if they stay there (program_constants.py); smaller
ones may be part of a cache's key.
"""
_VALUE_ALIGNMENT = 64
_IDENTIFY = "ANeuralNetworksModel_identifyInputsAndOutputs"
_WRITTEN = (L.TEMPORARY_VARIABLE, L.SUBGRAPH_OUTPUT)


class DraftOperand:
    """An operand while its model is built; becomes a hal.Operand at finish.

    value: bytes, an (address, length) to be read at finish, a (Memory, offset, length), a Model,
    or None.
    """

    __slots__ = (
        "channel_quant",
        "dimensions",
        "extension_data",
        "lifetime",
        "scale",
        "type",
        "value",
        "zero_point",
    )

    def __init__(
        self, type: OperandType, dimensions: hal.Dimensions, scale: float, zero_point: int
    ) -> None:
        self.type = type
        self.dimensions = dimensions
        self.scale = scale
        self.zero_point = zero_point
        self.lifetime = L.TEMPORARY_VARIABLE
        self.value: Any = None
        self.channel_quant: hal.SymmPerChannelQuantParams | None = None
        self.extension_data = b""

    def __str__(self) -> str:
        return f"{self.type.name}{list(self.dimensions)}"


class Draft:
    """Operands and operations, in the order in which they were added.

    excused: operands that need no value, because the call that sets it was refused;
    placeholders: operands that replace refused ones; refused_operations: the number of operations
    left out; checksums: of constants that are read at finish, by operand; reported: operation and
    rule of what was logged about values (see runtime/lint.py).
    """

    def __init__(self) -> None:
        self.operands: list[DraftOperand] = []
        self.operations: list[hal.Operation] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.relaxed = False
        self.excused: set[int] = set()
        self.placeholders: set[int] = set()
        self.refused_operations = 0
        self.checksums: dict[int, int] = {}
        self.reported: set[tuple[object, str]] = set()

    # Rules

    def check_operand(self, index: int, operand: DraftOperand) -> None:
        """Check an operand that is to be added; `operand_type.checked_type` has the rules."""

    def check_operation(self, item: hal.Operation) -> None:
        """Match the declaration and run its rules on the known dimensions; raises BAD_DATA."""
        if not isinstance(item.type, OperationType) or item.type is OperationType.OEM_OPERATION:
            return
        try:
            op = bound_operation(item, self.operands, self._given, self._bound)
            op.match.operation.required_level(op)
        except NnapiError as error:
            raise error.at(_place(item)) from None

    def remarks(self) -> Iterator[str]:
        """Remarks on legal but suspicious uses; requires a valid model."""
        if not self.outputs:
            yield f"the model has no outputs, so it gives nothing; {_IDENTIFY} names them"
        for item in self.operations:
            if not isinstance(item.type, OperationType) or item.type is OperationType.OEM_OPERATION:
                continue
            remarks = operation(item.type).remarks
            if remarks:
                op = bound_operation(item, self.operands, self._given, self._bound)
                yield from [f"{_place(item)}: {said}" for said in (r(op) for r in remarks) if said]

    def _given(self, index: int, is_value: bool) -> Any:
        return UNSET if is_value else self._bound(index)

    def _bound(self, index: int) -> BoundOperand:
        operand = self.operands[index]
        # As in the reference, rules also check the dimensions of an omitted operand.
        bound = bound_operand(index, operand, operand.dimensions)
        if operand.lifetime is L.SUBGRAPH:
            bound.value = operand.value.part.own.main
        return bound

    def problems(self) -> Iterator[NnapiError]:
        """All errors that finish reports, in the order of its checks."""
        if not self.operands or not (self.operations or self.refused_operations):
            yield bad_data(
                f"the model has {len(self.operands)} operands and {len(self.operations)} "
                "operations; it needs at least one operand and one operation",
                "model.finish.empty",
            )
            return
        for index, operand in enumerate(self.operands):
            yield from _problems_of(index, operand)
        yield from self._argument_problems("input", self.inputs, L.SUBGRAPH_INPUT)
        yield from self._argument_problems("output", self.outputs, L.SUBGRAPH_OUTPUT)
        for item in self.operations:
            if not self.placeholders.isdisjoint((*item.inputs, *item.outputs)):
                continue  # their dimensions do not count
            try:
                self.check_operation(item)
            except NnapiError as error:
                yield error
        yield from self._writing_problems()
        ordered = {item.number for item in self._execution_order()}
        if len(ordered) < len(self.operations):
            stuck = [item for item in self.operations if item.number not in ordered]
            names = ", ".join(str(_place(item)) for item in stuck)
            message = f"operations wait for each other: {names}; the graph must have no cycle"
            yield bad_data(message, "model.finish.cycle").about(_place(stuck[0]))

    def _argument_problems(
        self, role: str, indexes: list[int], lifetime: L
    ) -> Iterator[NnapiError]:
        for index in indexes:
            declared = self.operands[index].lifetime
            if declared is not lifetime:
                message = f"operand {index} became an {role} first and {declared.name} later"
                yield bad_data(message, "model.finish.argument-later").about(
                    Place("operand", index)
                )
        listed = set(indexes)
        for index, operand in enumerate(self.operands):
            if operand.lifetime is lifetime and index not in listed:
                message = f"operand {index} was an {role} first, and then others were named"
                yield bad_data(message, "model.finish.argument-replaced").about(
                    Place("operand", index)
                )

    def _writing_problems(self) -> Iterator[NnapiError]:
        written: set[int] = set()
        for item in self.operations:
            for index in item.outputs:
                lifetime = self.operands[index].lifetime
                if index in written:
                    message = (
                        f"operand {index} is written twice, also by {_place(item)}; once is allowed"
                    )
                    error = bad_data(message, "model.finish.written-twice")
                    yield error.about(_place(item), Place("operand", index))
                elif lifetime not in _WRITTEN:
                    message = (
                        f"{_place(item)} writes operand {index}; it is {lifetime.name} already"
                    )
                    error = bad_data(message, "model.finish.not-writable")
                    yield error.about(_place(item), Place("operand", index))
                written.add(index)
        written |= self.excused
        for index, operand in enumerate(self.operands):
            if operand.lifetime in _WRITTEN and index not in written:
                use, hint = self._use_of(index), self._without_arguments()
                message = (
                    f"operand {index} has no value, and {use}; it must be an input, a constant, or "
                    f"written by an operation{hint}"
                )
                yield bad_data(message, "model.finish.no-value").about(Place("operand", index))

    def _use_of(self, index: int) -> str:
        """The first operation that reads an operand, for messages."""
        for item in self.operations:
            if index in item.inputs:
                return f"{_place(item)} reads it as {self._role(item, item.inputs.index(index))}"
        return "nothing reads it" if index not in self.outputs else "it is an output of the model"

    def _role(self, item: hal.Operation, position: int) -> Place:
        """The role of an input of an operation, with its name if known."""
        try:
            names = bound_operation(item, self.operands, self._given, self._bound).match.input_names
        except (NnapiError, ValueError):  # of an extension, or with operands that were refused
            return Place("input", position)
        return Place("input", position, names[position])

    def _without_arguments(self) -> str:
        """A hint for a model without inputs."""
        return "" if self.inputs else f" ({_IDENTIFY} has named no inputs)"

    # Conversion

    def _execution_order(self) -> list[hal.Operation]:
        """A topological order of the operations, without those of a cycle."""
        waits_for, readers = hal.dependencies(self.operations)
        ready = [at for at, count in enumerate(waits_for) if count == 0]
        order: list[hal.Operation] = []
        for at in ready:  # grows while it is walked
            order.append(self.operations[at])
            for reader in readers[at]:
                waits_for[reader] -= 1
                if waits_for[reader] == 0:
                    ready.append(reader)
        return order

    def build(self, names: Mapping[int, str] | None = None) -> Part:
        """The immutable model; requires a valid draft. names: of operands."""
        values: list[Any] = []  # joined at once: constants may be most of the memory of the process
        length = 0
        pools: dict[hal.Pool, int] = {}
        referenced: dict[Any, int] = {}
        operands: list[hal.Operand] = []
        for operand in self.operands:
            location = hal.DataLocation()
            lifetime, data = _lifetime_and_value(operand)
            if lifetime is L.CONSTANT_COPY:
                padding = bytes(-length % min(_VALUE_ALIGNMENT, _alignment(operand)))
                if isinstance(data, tuple):
                    _require_mapped(len(operands), *data)
                    data = address.view(*data)
                location = hal.DataLocation(0, length + len(padding), len(data))
                values += padding, data
                length = location.offset + location.length
            elif lifetime is L.CONSTANT_REFERENCE:
                memory, offset, size = data
                number = pools.setdefault(memory, len(pools))
                location = hal.DataLocation(number, offset, size)
            elif lifetime is L.SUBGRAPH:
                number = referenced.setdefault(data, len(referenced))
                location = hal.DataLocation(0, number, 0)
            operands.append(
                hal.Operand(
                    operand.type,
                    operand.dimensions,
                    operand.scale,
                    operand.zero_point,
                    lifetime,
                    location,
                    operand.channel_quant,
                    operand.extension_data,
                )
            )
        graph = hal.Subgraph(
            tuple(operands), tuple(self._execution_order()), tuple(self.inputs), tuple(self.outputs)
        )
        model = hal.Model(
            graph, (), b"".join(values), tuple(pools), self.relaxed, extension.prefixes()
        )
        return Part(model, [other.part for other in referenced], names)


def _lifetime_and_value(operand: DraftOperand) -> tuple[OperandLifeTime, Any]:
    """Those of an operand of the finished model; a value that is read where the program has it is
    in a memory.
    """
    value = operand.value
    if operand.lifetime is L.CONSTANT_COPY and isinstance(value, tuple):
        where, length = value
        if length > _WORTH_A_PLACE and operand.type not in SCALARS:
            from nnapi_shim.runtime import program_constants

            region = program_constants.segment_of(where, length)
            if region is not None:
                return L.CONSTANT_REFERENCE, (*region, length)
    return operand.lifetime, value


def _require_mapped(index: int, where: int, length: int) -> None:
    """Raise BAD_DATA if the program has unmapped the value of a constant.

    free() unmaps only blocks that malloc has mapped for themselves, so others are not looked at.
    """
    if length >= _OWN_MAPPING and not address.is_mapped(where, length):
        raise value_freed(index, where, length)


def value_freed(index: int, where: int, length: int) -> NnapiError:
    """A constant whose memory is gone."""
    message = (
        f"operand {index}: its value, {length} bytes at {where:#x}, was freed after "
        "ANeuralNetworksModel_setOperandValue; values of more than 128 bytes are read at finish "
        "(docs/debugging.md, Constants)"
    )
    return bad_data(message, "model.finish.value-freed").about(Place("operand", index))


def _place(item: hal.Operation) -> Place:
    return operation_place(item.type, item.number)


def _problems_of(index: int, operand: DraftOperand) -> Iterator[NnapiError]:
    kind, operand_place = operand.type, Place("operand", index)
    if kind is OperandType.TENSOR_INT32 and not (operand.scale >= 0 and operand.zero_point == 0):
        message = (
            f"operand {index} TENSOR_INT32: scale is {operand.scale:g} and zeroPoint "
            f"{operand.zero_point}; allowed are scales from 0 and zeroPoint 0"
        )
        yield bad_data(message, "model.finish.int32-quantization").about(operand_place)
    if kind is OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL and operand.channel_quant is None:
        message = f"operand {index} {kind.name} has no scales per channel; it needs them"
        yield bad_data(message, "model.finish.no-channel-scales").about(operand_place)
    if kind is OperandType.MODEL and operand.lifetime is not L.SUBGRAPH:
        message = f"operand {index} MODEL is {operand.lifetime.name}; it needs a model as its value"
        yield bad_data(message, "model.finish.no-model-value").about(operand_place)
    if kind is not OperandType.MODEL and operand.lifetime is L.SUBGRAPH:
        message = f"operand {index} {kind.name} has a model as its value; only MODEL can"
        yield bad_data(message, "model.finish.model-value").about(operand_place)


def _alignment(operand: DraftOperand) -> int:
    """Alignment: the element size for small values, a cache line for large ones."""
    size = hal.byte_size(operand)
    return _VALUE_ALIGNMENT if size > _VALUE_ALIGNMENT else max(1, ELEMENT_BYTES[operand.type])
