"""Data exchanged by the runtime and the devices: the canonical HAL at feature level 8.

Names are those of the HAL, with fields in snake_case. All objects are immutable.
"""

from math import prod

from nnapi_shim.hal.enums import ErrorStatus, OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.quantization import ELEMENT_BYTES, SCALARS
from nnapi_shim.hints import Any, NamedTuple, Protocol, Sequence

Dimensions = tuple[int, ...]


class SymmPerChannelQuantParams(NamedTuple):
    """Scales of a TENSOR_QUANT8_SYMM_PER_CHANNEL operand, one per index of `channel_dim`."""

    scales: tuple[float, ...]
    channel_dim: int


class DataLocation(NamedTuple):
    """Location of a constant: `length` bytes from `offset` of Model.pools[pool_index], or of
    Model.operand_values when the lifetime is CONSTANT_COPY. For a SUBGRAPH operand `offset` is
    the index in Model.referenced.
    """

    pool_index: int = 0
    offset: int = 0
    length: int = 0


class ExtensionOperandType(NamedTuple):
    """An operand type of an extension: its code in the extension, and its element size."""

    type: int
    is_tensor: bool
    byte_size: int


class Extension(NamedTuple):
    """An extension of a device: a name such as "com.example.sorting", and its operand types. Its
    operations are not described; the device validates them.
    """

    name: str
    operand_types: tuple[ExtensionOperandType, ...] = ()


class ExtensionAttribute(NamedTuple):
    """An extension attribute of a compilation or an execution, for the device."""

    extension: str
    code: int
    data: bytes


class ExtensionType(int):
    """Operand type of an extension, used like an OperandType: its number in this process."""

    name: str
    """For messages."""


class Operand(NamedTuple):
    """A value of a model. `dimensions` is () for scalars and for tensors of unknown rank; a 0 in
    it is an unknown dimension. The type is an ExtensionType for an operand of an extension, which
    may have `extension_data`.
    """

    type: OperandType
    dimensions: Dimensions = ()
    scale: float = 0.0
    zero_point: int = 0
    lifetime: OperandLifeTime = OperandLifeTime.TEMPORARY_VARIABLE
    location: DataLocation = DataLocation()
    channel_quant: SymmPerChannelQuantParams | None = None
    extension_data: bytes = b""


class Operation(NamedTuple):
    """An operation with the indexes of its operands; an extension operation's type is an int."""

    type: OperationType | int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    number: int = 0
    """Position of the addOperation call, for messages."""


class Subgraph(NamedTuple):
    """A graph; `operations` are in topological order."""

    operands: tuple[Operand, ...]
    operations: tuple[Operation, ...]
    input_indexes: tuple[int, ...]
    output_indexes: tuple[int, ...]


class Model(NamedTuple):
    """A finished model: the main graph, the graphs that IF and WHILE refer to, its constants.

    `referenced` is in topological order: each graph follows those that it refers to.
    """

    main: Subgraph
    referenced: tuple[Subgraph, ...] = ()
    operand_values: bytes = b""
    pools: tuple["Pool", ...] = ()
    relax_computation_float32_to_float16: bool = False
    extension_prefixes: tuple[tuple[str, int], ...] = ()
    """Name and prefix of extensions that it may use; a prefix is the upper 16 bits of a type."""
    extension_attributes: tuple[ExtensionAttribute, ...] = ()


class Pool:
    """Memory of the program that holds constants or arguments.

    `map()` returns the address of its `size` bytes, and keeps it mapped for the lifetime of the
    pool; raises NnapiError UNMAPPABLE.
    """

    size: int
    since = 1
    """Feature level of the first HAL with this kind of memory."""
    is_immutable = False
    """Whether its contents never change."""
    can_release = False
    """Whether pages that the process drops (MADV_DONTNEED) have the same contents when it reads
    them again: those of a file, or shared memory.
    """

    def map(self) -> int:
        """Address of the first byte."""
        raise NotImplementedError


class IBuffer(Protocol):
    """Memory of a device for the elements of one operand. It is released with the last reference
    to it, or later.
    """

    def copyTo(self, address: int, length: int) -> None:
        """Copy the elements to memory of the process, which has exactly their `length` in bytes."""

    def copyFrom(self, address: int, length: int) -> None:
        """Copy the elements from there."""


class RequestArgument(NamedTuple):
    """One input or output of a run: `length` bytes at `address`; `dimensions` where they are
    known (a 0 is unknown). `has_no_value` marks an omitted argument. `buffer` is memory that the
    device has allocated itself (IAllocatingDevice); the address is 0 then.
    """

    address: int
    length: int
    dimensions: Dimensions
    has_no_value: bool = False
    buffer: IBuffer | None = None


class Request(NamedTuple):
    """Arguments of a run, in the order of the inputs and outputs of the model. The caller keeps the
    memory alive.
    """

    inputs: tuple[RequestArgument, ...]
    outputs: tuple[RequestArgument, ...]
    extension_attributes: tuple[ExtensionAttribute, ...] = ()


class OutputShape(NamedTuple):
    """Computed dimensions of an output, and whether its buffer was large enough."""

    dimensions: Dimensions
    is_sufficient: bool = True


class Timing(NamedTuple):
    """Durations of a run in ns; None when not measured."""

    time_on_device_ns: int | None = None
    time_in_driver_ns: int | None = None


NO_TIMING = Timing()


class ExecutionResult(NamedTuple):
    """Outcome of a run: NONE or OUTPUT_INSUFFICIENT_SIZE; other failures raise NnapiError."""

    status: ErrorStatus
    output_shapes: Sequence[OutputShape]
    timing: Timing = NO_TIMING


class CacheHandles(NamedTuple):
    """Cache location of a prepared model: a folder, and the 32-byte token of the program."""

    directory: str
    token: bytes


class PerformanceInfo(NamedTuple):
    """Time and power relative to the CPU fallback; smaller is better."""

    exec_time: float
    power_usage: float


class Capabilities(NamedTuple):
    """Performance of a device, by operand type and construct."""

    relaxed_float32_to_float16_performance_scalar: PerformanceInfo
    relaxed_float32_to_float16_performance_tensor: PerformanceInfo
    operand_performance: dict[OperandType, PerformanceInfo]
    if_performance: PerformanceInfo
    while_performance: PerformanceInfo


def dependencies(operations: Sequence[Operation]) -> tuple[list[int], list[list[int]]]:
    """For each operation, how many others write its inputs, and the positions of its readers."""
    writer = {index: at for at, item in enumerate(operations) for index in item.outputs}
    waits_for: list[int] = []
    readers: list[list[int]] = [[] for _ in operations]
    for at, item in enumerate(operations):
        sources = {writer[index] for index in item.inputs if index in writer}
        waits_for.append(len(sources))
        for source in sources:
            readers[source].append(at)
    return waits_for, readers


def within_extension(model: Model, type: int) -> tuple[str, int]:
    """Name of the extension and code there of an operand or operation type; ("", type) if none."""
    prefix = (type >> 16) & 0xFFFF
    for name, number in model.extension_prefixes:
        if number == prefix:
            return name, type & 0xFFFF
    return "", type


def same_for_all(performance: PerformanceInfo) -> Capabilities:
    """Capabilities with one figure for everything."""
    each = dict.fromkeys(OperandType, performance)
    return Capabilities(performance, performance, each, performance, performance)


def element_count(dimensions: Dimensions) -> int:
    """Number of elements; 0 when a dimension is 0."""
    return prod(dimensions)


def combined(one: Dimensions, other: Dimensions) -> Dimensions | None:
    """Merge known and unknown dimensions; None if they contradict each other."""
    if not one or not other:
        return one or other
    if len(one) != len(other) or any(a and b and a != b for a, b in zip(one, other, strict=True)):
        return None
    return tuple([a or b for a, b in zip(one, other, strict=True)])


def is_known(type: OperandType, dimensions: Dimensions) -> bool:
    """Whether rank and all dimensions are known; a scalar's always are."""
    return type in SCALARS or (bool(dimensions) and 0 not in dimensions)


def byte_size(operand: Any) -> int:
    """Bytes of an operand whose dimensions are all known; a scalar counts as one element."""
    size: int = ELEMENT_BYTES[operand.type] * prod(operand.dimensions)
    return size
