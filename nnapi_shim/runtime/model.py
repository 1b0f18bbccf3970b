"""Model: built call by call; finish validates it."""

from nnapi_shim import address, log, vlog
from nnapi_shim.errors import NnapiError, Place, bad_data, bad_state, operation_place
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import (
    MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES,
    OperandLifeTime,
    OperandType,
    OperationType,
)
from nnapi_shim.hal.quantization import MAX_BYTES
from nnapi_shim.hints import Any, Callable, Container, Sequence, TypeVar
from nnapi_shim.runtime import extension
from nnapi_shim.runtime.draft import Draft, DraftOperand
from nnapi_shim.runtime.memory import Memory
from nnapi_shim.runtime.naming import function_of, named
from nnapi_shim.runtime.operand_type import checked_type
from nnapi_shim.runtime.referenced import Part, joined
from nnapi_shim.settings import LINT, PROFILE

L = OperandLifeTime
_OEM_SCALAR = OperandType.OEM_SCALAR  # faster than attribute access on the enum
_operation_types = {int(member): member for member in OperationType}
*_, _last_code, _oem_code = sorted(_operation_types)

Method = TypeVar("Method", bound=Callable[..., Any])


def while_building(method: Method) -> Method:
    """Decorator of a method that raises BAD_STATE after finish."""

    def checked(self: "Model", *arguments: Any) -> Any:
        if self.state != "building":
            raise bad_state(
                f"the model is {self.state}; it can no longer be changed", "model.sealed"
            )
        if self.goes_on:
            from nnapi_shim.runtime import lint

            return lint.carry_on(self, method, arguments)
        try:
            return method(self, *arguments)
        except NnapiError as error:
            renamed = error
            if method.__name__.startswith("set_operand") and not error.place("operand"):
                renamed = error.about(Place("operand", arguments[0]))
            renamed = self._after_others(method.__name__, self.named(renamed))
            if renamed is error:
                raise
            raise renamed from None

    return checked  # type: ignore[return-value]


class Model:
    """A model. States: building, then finished, or invalid after a finish that failed."""

    def __init__(self) -> None:
        self.state = "building"
        self.draft = _draft()
        self.operand_names: dict[int, str] = {}
        """Names of operands, by index."""
        self.goes_on = LINT.get() == "1"
        self.refused: list[NnapiError] = []
        """Errors of refused calls, if building goes on after a refusal (NNAPI_SHIM_LINT)."""
        self._first_refusal = ""
        """The first refused call and its message, for the message of finish."""
        self.part: Part | None = None
        """The finished model; models that it refers to are not copied."""
        self._hal: hal.Model | None = None

    @property
    def hal(self) -> hal.Model | None:
        """The finished, immutable model with all models that it refers to. Made on demand: a model
        that is only referred to never needs it.
        """
        if self._hal is None and self.part is not None:
            self._hal = joined(self.part)
        return self._hal

    def named(self, error: NnapiError) -> NnapiError:
        """An error with the names of the operands in its message."""
        return named(error, self.operand_names, self.part)

    def _after_others(self, method: str, error: NnapiError) -> NnapiError:
        """An error of finish, with the refused call that comes first; or it is the first itself."""
        if method == "finish" and self._first_refusal:
            return error.worded(
                f"{error.message}; the first refused call was {self._first_refusal}"
            )
        self._first_refusal = self._first_refusal or f"{function_of(method)}: {error.message}"
        return error

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
        index = len(self.draft.operands)
        try:
            kind, sizes = checked_type(code, dimensions, rank, scale, zero_point)
        except NnapiError as error:
            raise error.at(Place("operand", index)) from None
        operand = DraftOperand(kind, sizes, scale, zero_point)
        self.draft.check_operand(index, operand)
        self.draft.operands.append(operand)
        return index

    def _operand(self, index: int) -> DraftOperand:
        if not 0 <= index < len(self.draft.operands):
            message = (
                f"operand {index} does not exist; the model has {len(self.draft.operands)} operands"
            )
            raise bad_data(message, "operand.index").about(Place("operand", index))
        return self.draft.operands[index]

    @while_building
    def set_operand_name(self, index: int, name: str) -> None:
        """Name an operand, for messages and tools; "" for no name. Two may have the same."""
        self._operand(index)
        if name:
            self.operand_names[index] = name
        else:
            self.operand_names.pop(index, None)

    @while_building
    def set_operand_symm_per_channel_quant_params(
        self, index: int, channel_dim: int, scales: Sequence[float] | None
    ) -> None:
        """Scales of a TENSOR_QUANT8_SYMM_PER_CHANNEL operand; scales None: a NULL with a count."""
        operand = self._operand(index)
        if operand.type is not OperandType.TENSOR_QUANT8_SYMM_PER_CHANNEL:
            raise bad_data(
                f"operand {index} is {operand.type.name}; only TENSOR_QUANT8_SYMM_PER_CHANNEL has "
                "scales per channel",
                "model.set-operand-symm-per-channel-quant-params.type",
            )
        if scales is None:
            raise bad_data(
                f"operand {index}: scales is NULL; it needs one per index",
                "model.set-operand-symm-per-channel-quant-params.null",
            )
        rank = len(operand.dimensions)
        if channel_dim >= rank:
            raise bad_data(
                f"operand {index} {list(operand.dimensions)}: channelDim is {channel_dim}; it must "
                f"be below its rank, {rank}",
                "model.set-operand-symm-per-channel-quant-params.dimension",
            )
        size = operand.dimensions[channel_dim]
        if size == 0 or len(scales) != size:
            raise bad_data(
                f"operand {index} {list(operand.dimensions)}: {len(scales)} scales given; "
                f"dimension {channel_dim} has size {size or 'unknown'}",
                "model.set-operand-symm-per-channel-quant-params.count",
            )
        taken = []
        for position, scale in enumerate(scales):
            if not scale > 0:
                raise bad_data(
                    f"operand {index}: scale {position} is {scale:g}; it must be above 0",
                    "model.set-operand-symm-per-channel-quant-params.scale",
                )
            taken.append(scale)
        operand.channel_quant = hal.SymmPerChannelQuantParams(tuple(taken), channel_dim)

    def _check_length(self, index: int, operand: DraftOperand, length: int) -> None:
        if not hal.is_known(operand.type, operand.dimensions):
            raise bad_data(
                f"operand {index} {operand.type.name}{list(operand.dimensions)} has unknown "
                "dimensions; a value needs all of them",
                "model.set-operand-value.unknown-dimensions",
            )
        if operand.type is _OEM_SCALAR:
            return
        needed = hal.byte_size(operand)
        if length != needed:
            raise bad_data(
                f"operand {index} {operand.type.name}{list(operand.dimensions)}: length is "
                f"{length} bytes; it must be {needed}",
                "model.set-operand-value.length",
            )

    @while_building
    def set_operand_value(self, index: int, where: int, length: int) -> None:
        """Set a constant of `length` bytes at an address; address 0 with length 0 omits it.

        Up to 128 bytes are copied at once; longer constants are read at finish.
        """
        operand = self._operand(index)
        if where == 0:
            operand.lifetime, operand.value = L.NO_VALUE, None
            return
        if length == 0:
            raise bad_data(
                f"operand {index}: length is 0 bytes; it must be at least 1",
                "model.set-operand-value.empty",
            )
        if length > MAX_BYTES:
            message = f"operand {index}: length is {length} bytes; allowed are {MAX_BYTES}"
            raise bad_data(message, "model.set-operand-value.too-long")
        self._check_length(index, operand, length)
        if operand.type is _OEM_SCALAR and not address.goes_on(where, length):
            message = f"operand {index}: the length is {length} bytes; the memory is shorter"
            raise bad_data(message, "model.set-operand-value.data-too-short")
        operand.lifetime = L.CONSTANT_COPY
        if length <= MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES:
            operand.value = address.read(where, length)
        else:
            operand.value = (where, length)
            if self.goes_on:
                from nnapi_shim.runtime import lint

                lint.remember_value(self.draft, index)

    @while_building
    def set_operand_value_from_memory(
        self, index: int, memory: Memory, offset: int, length: int
    ) -> None:
        """Set a constant in a region of a memory object, which is read at each run."""
        operand = self._operand(index)
        if operand.type is _OEM_SCALAR:
            message = f"operand {index} is OEM_SCALAR; the value of one cannot lie in a memory"
            raise bad_data(message, "model.set-operand-value-from-memory.oem-scalar")
        self._check_length(index, operand, length)
        memory.check_constant(offset, length)
        operand.lifetime, operand.value = L.CONSTANT_REFERENCE, (memory, offset, length)

    @while_building
    def set_operand_value_from_model(self, index: int, value: "Model") -> None:
        """Refer to a finished model, for IF and WHILE. Raises BAD_STATE if it is not finished."""
        if value.state != "finished":
            raise bad_state(
                f"the model given as a value is {value.state}; {value.what_to_do}",
                "model.set-operand-value-from-model.not-finished",
            )
        operand = self._operand(index)
        operand.lifetime, operand.value = L.SUBGRAPH, value

    @while_building
    def set_operand_extension_data(self, index: int, data: bytes | None) -> None:
        """Data of an extension operand, for its device; None: none. BAD_DATA for other types."""
        operand = self._operand(index)
        if not isinstance(operand.type, hal.ExtensionType):
            raise bad_data(
                f"operand {index} is {operand.type.name}; only extension types take data",
                "model.set-operand-extension-data.type",
            )
        operand.extension_data = extension.data_of(data) or b""

    def require_finished(self) -> None:
        """Raise BAD_STATE unless finish has succeeded."""
        if self.state != "finished":
            raise bad_state(f"the model is {self.state}; {self.what_to_do}", "model.not-finished")

    @property
    def what_to_do(self) -> str:
        """The call that is missing, for messages."""
        if self.state == "invalid":
            return "its finish has failed, so another one must be built"
        return "it must be finished first, by ANeuralNetworksModel_finish (Python: Model.finish)"

    @while_building
    def add_operation(self, code: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Add an operation; raises BAD_DATA if its declaration rejects its operands."""
        number = len(self.draft.operations) + self.draft.refused_operations
        kind: OperationType | int
        if code >> 16:
            extension.require_known_prefix(code)
            kind = code
        elif code in _operation_types:
            kind = _operation_types[code]
        else:
            error = bad_data(
                f"type {code} does not exist; allowed are 0 to {_last_code}, and {_oem_code}",
                "model.add-operation.type",
            )
            raise error.at(Place("operation", number))
        try:
            item = hal.Operation(
                kind, self._taken("input", inputs), self._taken("output", outputs), number
            )
        except NnapiError as error:
            raise error.at(operation_place(kind, number)) from None
        self.draft.check_operation(item)
        self.draft.operations.append(item)

    def _taken(self, role: str, indexes: Sequence[int]) -> tuple[int, ...]:
        """The operands of an index list; raises BAD_DATA for an index out of range.

        Reads one index at a time: the array may be shorter than its count.
        """
        if not len(indexes):
            raise bad_data(
                f"{role} count is 0; it must be at least 1", "model.add-operation.no-operands"
            )
        taken = []
        count = len(self.draft.operands)
        for position, index in enumerate(indexes):
            if not 0 <= index < count:
                message = f"{role} {position} is operand {index}; the model has {count} operands"
                error = bad_data(message, "model.add-operation.operand-index").about(
                    Place(role, position)
                )
                raise error.about(Place("operand", index))
            taken.append(index)
        return tuple(taken)

    def _check_argument(self, index: int, listed: Container[int]) -> None:
        """Raise BAD_DATA unless an operand can become an input or output."""
        lifetime = self._operand(index).lifetime
        if index in listed:
            error = bad_data(
                f"operand {index} is an input or output already; each operand can be listed once",
                "model.identify-inputs-and-outputs.twice",
            )
        elif lifetime is not L.TEMPORARY_VARIABLE:
            message = f"operand {index} is {lifetime.name} already; it can be nothing else"
            error = bad_data(message, "model.identify-inputs-and-outputs.lifetime")
        else:
            return
        raise error.about(Place("operand", index))

    @while_building
    def identify_inputs_and_outputs(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Set the inputs and outputs of the model, in order."""
        if not len(inputs) or not len(outputs):
            raise bad_data(
                "a model needs at least one input and one output; the numbers given are "
                f"{len(inputs)} and {len(outputs)}",
                "model.identify-inputs-and-outputs.empty",
            )
        # Differs: the reference leaves the operands before a bad one marked (docs/deviations.md,
        # identify-half-way).
        listed: set[int] = set()
        taken: dict[str, list[int]] = {"input": [], "output": []}
        for role, indexes in (("input", inputs), ("output", outputs)):
            for position, index in enumerate(indexes):
                try:
                    self._check_argument(index, listed)
                except NnapiError as error:
                    raise error.at(Place(role, position)) from None
                listed.add(index)
                taken[role].append(index)
        self.draft.inputs, self.draft.outputs = taken["input"], taken["output"]
        for index in self.draft.inputs:
            self.draft.operands[index].lifetime = L.SUBGRAPH_INPUT
        for index in self.draft.outputs:
            self.draft.operands[index].lifetime = L.SUBGRAPH_OUTPUT

    @while_building
    def relax_computation_float32_to_float16(self, allow: bool) -> None:
        """Allow float32 to be computed with the range and precision of float16."""
        self.draft.relaxed = allow

    # Finishing

    @while_building
    def finish(self) -> None:
        """Validate the whole graph and make it immutable; after BAD_DATA it is invalid."""
        self.state = "invalid"
        for problem in self.draft.problems():
            raise problem
        for remark in self.draft.remarks():
            log.warning(remark)
        part = self.draft.build(self.operand_names)
        self.draft = Draft()  # releases the values
        self.part = part
        self.state = "finished"
        if vlog.enabled("model"):
            vlog.write("model", f"a model is finished: {_summary(part.own.main)}")


_draft_class: list[type[Draft]] = []
"""The class of drafts of this process, once the first model is made."""


def _draft() -> Draft:
    """An empty draft: with a phone profile one that has its limits, or raises BAD_DATA."""
    if not _draft_class:
        if PROFILE.get():
            from nnapi_shim.runtime.phone import DraftOfPhone

            _draft_class.append(DraftOfPhone)
        else:
            _draft_class.append(Draft)
    return _draft_class[0]()


def _summary(graph: hal.Subgraph) -> str:
    """A one-line summary of a graph."""
    kinds: dict[str, int] = {}
    for item in graph.operations:
        name = OperationType(item.type).name if item.type in _operation_types else "extension"
        kinds[name] = kinds.get(name, 0) + 1
    counts = ", ".join(f"{count} {name}" for name, count in kinds.items())
    inputs, outputs = (
        [
            f"{operand.type.name}{list(operand.dimensions)}"
            for operand in map(graph.operands.__getitem__, indexes)
        ]
        for indexes in (graph.input_indexes, graph.output_indexes)
    )
    return f"{len(graph.operands)} operands, {counts}, from {inputs} to {outputs}"
