"""Arguments of an execution: what is bound to the inputs and outputs of its model."""

from nnapi_shim.errors import NnapiError, Place, bad_data, bad_state, op_failed
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import (
    Dimensions,
    Operand,
    Request,
    RequestArgument,
    byte_size,
    is_known,
)
from nnapi_shim.hints import Callable, NamedTuple, Sequence
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.memory import FdMemory, Memory
from nnapi_shim.runtime.memory_desc import DeviceMemory

MAX_LENGTH = 0xFFFFFFFF
FEW = 16
"""Number of input-output pairs up to which overlaps are found by comparing all pairs."""


ArgumentType = Callable[[], Dimensions]
"""Checks an operand type given with an argument; its dimensions, which refine the model's."""


class MemoryArgument(NamedTuple):
    """An input or output in a region of a memory object, which is mapped when the run is bound."""

    memory: Memory
    offset: int
    length: int
    dimensions: Dimensions


Argument = RequestArgument | MemoryArgument


class Arguments:
    """All inputs and outputs of an execution; each is set once."""

    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self._input_operands = compilation.inputs
        self.output_operands = compilation.outputs
        self._input_bytes, self._output_bytes = compilation.argument_bytes
        self._inputs: list[Argument | None] = [None] * len(self._input_operands)
        self._outputs: list[Argument | None] = [None] * len(self.output_operands)
        self._padding = False
        self._padding_settled = False
        self._file: FdMemory | None = None
        self._has_files = False  # several
        self.device_inputs: tuple[tuple[int, DeviceMemory], ...] = ()
        self.device_outputs: tuple[tuple[int, DeviceMemory], ...] = ()

    def set_buffer(self, role: str, index: int, address: int, length: int) -> bool:
        """`set` for the common case: a buffer of exactly the size of the operand.

        Returns False, and sets nothing, in all other cases; the caller then calls `set`.
        """
        if role == "input":
            arguments, operands, exact = self._inputs, self._input_operands, self._input_bytes
        else:
            arguments, operands, exact = self._outputs, self.output_operands, self._output_bytes
        if not (
            0 <= index < len(arguments)
            and length == exact[index]
            and arguments[index] is None
            and address
        ):
            return False
        arguments[index] = RequestArgument(address, length, operands[index].dimensions)
        self._padding_settled = True
        return True

    def set(
        self,
        role: str,
        index: int,
        type: ArgumentType | None,
        address: int,
        length: int,
        memory: Memory | None,
        offset: int,
    ) -> None:
        """The checks in the order of the reference runtime (api-semantics.md 4).

        role: "input" or "output". memory: where `offset` counts; None: `address` is used.
        """
        operands = self._input_operands if role == "input" else self.output_operands
        arguments = self._inputs if role == "input" else self._outputs
        if not 0 <= index < len(operands):
            message = f"{role} {index} does not exist; the model has {len(operands)}"
            raise bad_data(message, "execution.argument.index").about(Place(role, index))
        operand = operands[index]
        type_dimensions: Dimensions | None = None
        try:
            if type is not None:
                type_dimensions = type()
            dimensions = refined(operand, type_dimensions)
            omitted = memory is None and address == 0
            if role == "input" and not omitted and not is_known(operand.type, dimensions):
                raise _unknown_dimensions(operand, dimensions, type_dimensions)
            if length > MAX_LENGTH:
                raise bad_data(
                    f"length is {length} bytes; allowed are {MAX_LENGTH}",
                    "execution.argument.too-long",
                )
            measured: int | None = length
            if memory is not None:
                role_key = (self._compilation, role, index)
                measured = memory.check_argument(role_key, type_dimensions, offset, length)
            if arguments[index] is not None:
                raise bad_state(
                    "it is set already; once is allowed", "execution.argument.set-already"
                )
            self._padding_settled = True
            if not omitted and measured is not None:
                self._check_length(operand, dimensions, measured, memory)
        except NnapiError as error:
            raise error.at(Place(role, index)) from None
        if memory is None:
            arguments[index] = RequestArgument(address, length, dimensions, omitted)
            return
        arguments[index] = MemoryArgument(memory, offset, measured or 0, dimensions)
        if isinstance(memory, FdMemory):
            self._has_files = self._has_files or self._file not in (None, memory)
            self._file = memory
        elif isinstance(memory, DeviceMemory):
            if role == "input":
                self.device_inputs += ((index, memory),)
            else:
                self.device_outputs += ((index, memory),)

    def _check_length(
        self, operand: Operand, dimensions: Dimensions, length: int, memory: Memory | None
    ) -> None:
        if not is_known(operand.type, dimensions):
            if length == 0 and memory is None:
                raise bad_data("length is 0", "execution.argument.no-length")
            return
        if dimensions is not operand.dimensions:
            operand = operand._replace(dimensions=dimensions)
        needed = byte_size(operand)
        if length < needed or (length > needed and not self._padding):
            raise bad_data(
                f"{operand.type.name}{list(dimensions)}: length is {length} bytes; it must be "
                f"{needed}{' or more' if self._padding else ''}",
                "execution.argument.length",
            )

    def enable_padding(self, enable: bool) -> None:
        """Whether lengths may exceed what an argument needs; BAD_STATE once an argument is set."""
        if self._padding_settled:
            raise bad_state(
                "an argument is set already; padding is enabled or disabled before the first one",
                "execution.enable-padding.too-late",
            )
        self._padding = enable

    def require_all(self) -> None:
        """Raise BAD_DATA for a missing argument, OP_FAILED for an input memory without contents."""
        for role, arguments in (("input", self._inputs), ("output", self._outputs)):
            if None in arguments:
                index = arguments.index(None)
                message = f"{role} {index} is not set; set{role.title()} must set every {role}"
                raise bad_data(message, "execution.argument.missing").about(Place(role, index))
        for index, memory in self.device_inputs:
            if not memory.is_initialized:
                message = f"the memory of input {index} has no contents yet"
                raise op_failed(message, "execution.argument.no-contents").about(
                    Place("input", index)
                )

    def request(self) -> Request:
        """All of them, mapped; raises UNMAPPABLE."""
        return Request(
            tuple([_resolved("input", a) for a in self._inputs]),
            tuple([_resolved("output", a) for a in self._outputs]),
        )

    def outputs_that_overlap(self, request: Request) -> tuple[int, ...]:
        """Outputs that overlap an input or an earlier output; rare."""
        inputs, outputs = request.inputs, request.outputs
        few = len(inputs) * len(outputs) <= FEW and not self._has_files
        if few and not _share_bytes(inputs, outputs):
            return ()
        from nnapi_shim.runtime.overlap import overlapping  # few programs need it

        return overlapping(
            [_span(a, b) for a, b in zip(self._inputs, inputs, strict=True)],
            [_span(a, b) for a, b in zip(self._outputs, outputs, strict=True)],
        )

    def require_known_outputs(self) -> None:
        """Raise BAD_DATA for an output whose dimensions are unknown before the computation."""
        arguments = zip(self.output_operands, self._outputs, strict=True)
        for index, (operand, argument) in enumerate(arguments):
            assert argument is not None
            if not is_known(operand.type, argument.dimensions):
                raise bad_data(
                    f"output {index} {operand.type.name}{list(argument.dimensions)} has unknown "
                    "dimensions; with dependencies, an output needs all of them",
                    "execution.start-compute-with-dependencies.unknown-dimensions",
                )


def _resolved(role: str, argument: Argument | None) -> RequestArgument:
    assert argument is not None
    if isinstance(argument, RequestArgument):
        return argument
    memory = argument.memory
    if memory.buffer is not None:
        return RequestArgument(0, argument.length, argument.dimensions, buffer=memory.buffer)
    start = memory.map() if role == "input" else memory.map_for_output()
    return RequestArgument(start + argument.offset, argument.length, argument.dimensions)


def _share_bytes(inputs: Sequence[RequestArgument], outputs: Sequence[RequestArgument]) -> bool:
    """Whether an output overlaps an input or another output, if that of buffers counts as one."""
    earlier = inputs
    for output in outputs:
        start = output.address
        end = start + output.length
        for other in earlier:
            if other.address < end and start < other.address + other.length:
                return True
        if len(outputs) > 1:
            earlier = (*earlier, output)
    return False


def _span(argument: Argument | None, resolved: RequestArgument) -> tuple[object, int, int]:
    """Address space, start and end of an argument. A file is one address space for all mappings,
    and so is a buffer of a device.
    """
    if isinstance(argument, MemoryArgument) and isinstance(argument.memory, FdMemory):
        file, start = argument.memory.place()
        start += argument.offset
        return file, start, start + resolved.length
    return resolved.buffer, resolved.address, resolved.address + resolved.length


def refined(operand: Operand, type_dimensions: Dimensions | None) -> Dimensions:
    """The model's dimensions with those of an argument's type; raises BAD_DATA if they clash."""
    known = operand.dimensions
    if type_dimensions is None or (operand.type in SCALARS and not type_dimensions):
        return known
    if not known and operand.type not in SCALARS:
        return type_dimensions
    if len(type_dimensions) != len(known) or any(
        declared not in (0, size) for declared, size in zip(known, type_dimensions, strict=True)
    ):
        raise bad_data(
            f"the type has dimensions {list(type_dimensions)}; the model has {list(known)}",
            "execution.argument.dimensions",
        )
    return type_dimensions


def _unknown_dimensions(
    operand: Operand, dimensions: Dimensions, given: Dimensions | None
) -> NnapiError:
    """An input whose dimensions neither the model nor its type says."""
    if given and 0 in given:
        cure = "a size of 0 means an unknown size, so a run cannot have a batch of 0 rows: skip it"
    else:
        cure = (
            "an input needs all of them: pass an ANeuralNetworksOperandType with them to "
            "ANeuralNetworksExecution_setInput in place of NULL"
        )
    return bad_data(
        f"{operand.type.name}{list(dimensions)} has unknown dimensions; {cure}",
        "execution.set-input.unknown-dimensions",
    )
