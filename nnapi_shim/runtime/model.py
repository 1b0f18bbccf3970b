"""Model: operands, values and operations while a program adds them, and what finish makes of it."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from nnapi_shim import address
from nnapi_shim.errors import NnapiError, bad_data, bad_state
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import (
    MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES,
    OperandLifeTime,
    OperandType,
    OperationType,
)
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.operations import operation
from nnapi_shim.operations.declare import UNSET, BoundOperand
from nnapi_shim.runtime import extension
from nnapi_shim.runtime.memory import Memory
from nnapi_shim.runtime.operand_type import checked_type
from nnapi_shim.runtime.referenced import joined

L = OperandLifeTime
_operation_types = {int(member): member for member in OperationType}
_VALUE_ALIGNMENT = 64
_CONSTANTS = (L.CONSTANT_COPY, L.CONSTANT_REFERENCE, L.NO_VALUE, L.SUBGRAPH)

Method = TypeVar("Method", bound=Callable[..., Any])


class _Operand:
    """An operand while its model is built; becomes a hal.Operand at finish.

    value: bytes, an (address, length) to be read at finish, a (Memory, offset, length), a Model,
    or None.
    """

    __slots__ = (
        "channel_quant",
        "dimensions",
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


def while_building(method: Method) -> Method:
    """A method that is allowed until finish; raises BAD_STATE afterwards."""

    @wraps(method)
    def checked(self: "Model", *arguments: Any) -> Any:
        if self.state != "building":
            raise bad_state(f"the model is {self.state}; it can no longer be changed")
        return method(self, *arguments)

    return checked  # type: ignore[return-value]


class Model:
    """A model. States: building, then finished, or invalid after a finish that failed."""

    def __init__(self) -> None:
        self.state = "building"
        self._operands: list[_Operand] = []
        self._operations: list[hal.Operation] = []
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._relaxed = False
        self.hal: hal.Model | None = None
        """The immutable model, once finished."""

    # Building

    @while_building
    def add_operand(
        self,
        code: int,
        dimensions: Sequence[int] | None,
        rank: int,
        scale: float,
        zero_point: int,
    ) -> int:
        """Add an operand; its index. Raises BAD_DATA (see operand_type.checked_type)."""
        index = len(self._operands)
        try:
            kind, sizes = checked_type(code, dimensions, rank, scale, zero_point)
        except NnapiError as error:
            raise error.at(f"operand {index}") from None
        self._operands.append(_Operand(kind, sizes, scale, zero_point))
        return index

    def _operand(self, index: int) -> _Operand:
        if not 0 <= index < len(self._operands):
            raise bad_data(f"operand {index} does not exist; the model has {len(self._operands)}")
        return self._operands[index]

    @while_building
    def set_operand_symm_per_channel_quant_params(
        self, index: int, channel_dim: int, scales: Sequence[float] | None
    ) -> None:
        """Scales of a TENSOR_QUANT8_SYMM_PER_CHANNEL operand; scales None: a NULL with a count."""
        operand = self._operand(index)
        if operand.type is not OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL:
            raise bad_data(
                f"operand {index} is {operand.type.name}; only TENSOR_QUANT8_SYMM_PER_CHANNEL has "
                "scales per channel"
            )
        if scales is None:
            raise bad_data(f"operand {index}: scales is NULL")
        if channel_dim >= len(operand.dimensions):
            raise bad_data(
                f"operand {index} {list(operand.dimensions)}: channelDim is {channel_dim}"
            )
        size = operand.dimensions[channel_dim]
        if size == 0 or len(scales) != size:
            raise bad_data(
                f"operand {index} {list(operand.dimensions)}: {len(scales)} scales given; "
                f"dimension {channel_dim} has size {size or 'unknown'}"
            )
        for position, scale in enumerate(scales):
            if not 0 < scale < float("inf"):
                raise bad_data(
                    f"operand {index}: scale {position} is {scale:g}; it must be above 0"
                )
        operand.channel_quant = hal.SymmPerChannelQuantParams(tuple(scales), channel_dim)

    def _check_length(self, index: int, operand: _Operand, length: int) -> None:
        if not hal.is_known(operand.type, operand.dimensions):
            raise bad_data(
                f"operand {index} {operand.type.name}{list(operand.dimensions)} has unknown "
                "dimensions; a value needs all of them"
            )
        if operand.type is OperandType.OEM_SCALAR:
            return
        needed = hal.byte_size(operand)
        if length != needed:
            raise bad_data(
                f"operand {index} {operand.type.name}{list(operand.dimensions)}: length is "
                f"{length} bytes; it must be {needed}"
            )

    @while_building
    def set_operand_value(self, index: int, where: int, length: int) -> None:
        """Constant from `length` bytes at an address; address 0 with length 0: omitted.

        Up to 128 bytes are copied now; more are read at finish.
        """
        operand = self._operand(index)
        if where == 0:
            operand.lifetime, operand.value = L.NO_VALUE, None
            return
        self._check_length(index, operand, length)
        operand.lifetime = L.CONSTANT_COPY
        if length <= MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES:
            operand.value = address.read(where, length)
        else:
            operand.value = (where, length)

    @while_building
    def set_operand_value_from_memory(
        self, index: int, memory: Memory, offset: int, length: int
    ) -> None:
        """Constant from a region of a memory object, read whenever the model runs."""
        operand = self._operand(index)
        self._check_length(index, operand, length)
        memory.check_constant(offset, length)
        operand.lifetime, operand.value = L.CONSTANT_REFERENCE, (memory, offset, length)

    @while_building
    def set_operand_value_from_model(self, index: int, value: "Model") -> None:
        """Refer to a finished model, for IF and WHILE. Raises BAD_STATE if it is not finished."""
        if value.state != "finished":
            raise bad_state(f"the model given as a value is {value.state}; it must be finished")
        operand = self._operand(index)
        operand.lifetime, operand.value = L.SUBGRAPH, value

    @while_building
    def set_operand_extension_data(self, index: int) -> None:
        """Data of an extension operand; raises BAD_DATA, as no device describes extension types."""
        operand = self._operand(index)
        raise bad_data(f"operand {index} is {operand.type.name}; only extension types take data")

    def require_finished(self) -> None:
        """Raise BAD_STATE unless finish has succeeded."""
        if self.state != "finished":
            raise bad_state(f"the model is {self.state}; it must be finished")

    @while_building
    def add_operation(self, code: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Add an operation; raises BAD_DATA where its declaration refuses its operands."""
        number = len(self._operations)
        kind: OperationType | int
        if code >> 16:
            extension.require_known_prefix(code)
            kind = code
        elif code in _operation_types:
            kind = _operation_types[code]
        else:
            raise bad_data(f"operation {number}: type {code} does not exist; allowed are 0 to 105")
        name = kind.name if isinstance(kind, OperationType) else f"extension {code:#x}"
        for role, indexes in (("input", inputs), ("output", outputs)):
            if not indexes:
                raise bad_data(f"{name} (operation {number}): {role} count is 0")
            for position, index in enumerate(indexes):
                if not 0 <= index < len(self._operands):
                    raise bad_data(
                        f"{name} (operation {number}): {role} {position} is operand {index}; the "
                        f"model has {len(self._operands)}"
                    )
        item = hal.Operation(kind, tuple(inputs), tuple(outputs), number)
        self._check_operation(item)
        self._operations.append(item)

    def _check_operation(self, item: hal.Operation) -> None:
        """Match the declaration and run its rules on what is known now."""
        if not isinstance(item.type, OperationType) or item.type is OperationType.OEM_OPERATION:
            return
        operands = self._operands
        try:
            declaration = operation(item.type)
            match = declaration.match(
                tuple([operands[i].type for i in item.inputs]),
                tuple([operands[i].type for i in item.outputs]),
            )
            values = match.value_positions
            inputs = [
                UNSET if at in values else self._bound(index)
                for at, index in enumerate(item.inputs)
            ]
            outputs = [self._bound(index) for index in item.outputs]
            op = declaration.bind(
                match, inputs, outputs, lambda position: self._bound(item.inputs[position])
            )
            declaration.required_level(op)
        except NnapiError as error:
            raise error.at(f"{item.type.name} (operation {item.number})") from None

    def _bound(self, index: int) -> BoundOperand:
        operand = self._operands[index]
        bound = BoundOperand(
            index,
            operand.type,
            operand.dimensions if operand.lifetime is not L.NO_VALUE else (),
            operand.scale,
            operand.zero_point,
            operand.channel_quant,
        )
        if operand.lifetime is L.SUBGRAPH:
            bound.value = operand.value.hal.main
        return bound

    @while_building
    def identify_inputs_and_outputs(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Say which operands are the model's arguments, in the order of the arguments."""
        if not inputs or not outputs:
            raise bad_data("a model needs at least one input and one output")
        # Differs: the reference leaves the operands before a bad one marked; here a call that fails
        # changes nothing.
        seen: set[int] = set()
        for role, indexes in (("input", inputs), ("output", outputs)):
            for position, index in enumerate(indexes):
                operand = self._operand(index)
                if operand.lifetime is not L.TEMPORARY_VARIABLE or index in seen:
                    what = "named twice" if index in seen else f"{operand.lifetime.name} already"
                    raise bad_data(f"{role} {position}: operand {index} is {what}")
                seen.add(index)
        for index in inputs:
            self._operands[index].lifetime = L.SUBGRAPH_INPUT
        for index in outputs:
            self._operands[index].lifetime = L.SUBGRAPH_OUTPUT
        self._inputs, self._outputs = list(inputs), list(outputs)

    @while_building
    def relax_computation_float32_to_float16(self, allow: bool) -> None:
        """Allow float32 to be computed with the range and precision of float16."""
        self._relaxed = allow

    # Finishing

    @while_building
    def finish(self) -> None:
        """Check the whole graph and make it immutable; raises BAD_DATA, and is invalid then."""
        self.state = "invalid"
        if not self._operands or not self._operations:
            raise bad_data("a model needs at least one operand and one operation")
        for index, operand in enumerate(self._operands):
            self._check_operand(index, operand)
        self._check_arguments("input", self._inputs, L.SUBGRAPH_INPUT)
        self._check_arguments("output", self._outputs, L.SUBGRAPH_OUTPUT)
        for item in self._operations:
            self._check_operation(item)
        order = self._execution_order()
        self.hal = self._build(order)
        self.state = "finished"

    def _check_operand(self, index: int, operand: _Operand) -> None:
        kind = operand.type
        if kind is OperandType.TENSOR_INT32 and not (
            operand.scale >= 0 and operand.zero_point == 0
        ):
            raise bad_data(
                f"operand {index} TENSOR_INT32: scale is {operand.scale:g} and zeroPoint "
                f"{operand.zero_point}; allowed are scales from 0 and zeroPoint 0"
            )
        if kind is OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL and operand.channel_quant is None:
            raise bad_data(f"operand {index} {kind.name} has no scales per channel")
        if (kind is OperandType.MODEL) != (operand.lifetime is L.SUBGRAPH):
            raise bad_data(f"operand {index} {kind.name} is {operand.lifetime.name}")

    def _check_arguments(self, role: str, indexes: list[int], lifetime: L) -> None:
        for index in indexes:
            found = self._operands[index].lifetime
            if found is not lifetime:
                raise bad_data(f"operand {index} became an {role} first and {found.name} later")

    def _execution_order(self) -> list[hal.Operation]:
        """Operations such that every operand is written before it is read; refuses cycles."""
        operands, operations = self._operands, self._operations
        writer: dict[int, int] = {}
        for item in operations:
            for index in item.outputs:
                if index in writer:
                    raise bad_data(f"operand {index} is written twice")
                if operands[index].lifetime not in (L.TEMPORARY_VARIABLE, L.SUBGRAPH_OUTPUT):
                    raise bad_data(
                        f"operand {index} is {operands[index].lifetime.name}, and operation "
                        f"{item.number} writes it"
                    )
                writer[index] = item.number
        for index, operand in enumerate(operands):
            written = operand.lifetime in (L.TEMPORARY_VARIABLE, L.SUBGRAPH_OUTPUT)
            if written and index not in writer:
                raise bad_data(
                    f"operand {index} has no value: it is neither an input nor a constant, and no "
                    "operation writes it"
                )
        waits_for: list[int] = []
        readers: dict[int, list[int]] = {}
        for item in operations:
            sources = {writer[index] for index in item.inputs if index in writer}
            waits_for.append(len(sources))
            for source in sources:
                readers.setdefault(source, []).append(item.number)
        ready = [item.number for item in operations if waits_for[item.number] == 0]
        order: list[hal.Operation] = []
        for number in ready:  # grows while it is walked
            order.append(operations[number])
            for reader in readers.get(number, ()):
                waits_for[reader] -= 1
                if waits_for[reader] == 0:
                    ready.append(reader)
        if len(order) < len(operations):
            stuck = [number for number, waits in enumerate(waits_for) if waits]
            raise bad_data(f"the graph has a cycle through operations {stuck}")
        return order

    def _build(self, order: list[hal.Operation]) -> hal.Model:
        values = bytearray()
        pools: list[hal.Pool] = []
        referenced: dict[Model, int] = {}
        operands = []
        for operand in self._operands:
            location = hal.DataLocation()
            if operand.lifetime is L.CONSTANT_COPY:
                values += bytes(-len(values) % min(_VALUE_ALIGNMENT, _alignment(operand)))
                data = operand.value
                if isinstance(data, tuple):
                    data = address.read(*data)
                location = hal.DataLocation(0, len(values), len(data))
                values += data
                operand.value = None
            elif operand.lifetime is L.CONSTANT_REFERENCE:
                memory, offset, length = operand.value
                if memory not in pools:
                    pools.append(memory)
                location = hal.DataLocation(pools.index(memory), offset, length)
            elif operand.lifetime is L.SUBGRAPH:
                number = referenced.setdefault(operand.value, len(referenced))
                location = hal.DataLocation(0, number, 0)
            operands.append(
                hal.Operand(
                    operand.type,
                    operand.dimensions,
                    operand.scale,
                    operand.zero_point,
                    operand.lifetime,
                    location,
                    operand.channel_quant,
                )
            )
        graph = hal.Subgraph(
            tuple(operands), tuple(order), tuple(self._inputs), tuple(self._outputs)
        )
        model = hal.Model(graph, (), bytes(values), tuple(pools), self._relaxed)
        inner = [other.hal for other in referenced if other.hal is not None]
        return joined(model, inner) if inner else model


def _alignment(operand: _Operand) -> int:
    """Small values lie at their element size, large ones at a cache line."""
    size = hal.byte_size(operand)
    return _VALUE_ALIGNMENT if size > _VALUE_ALIGNMENT else max(1, ELEMENT_BYTES[operand.type])
