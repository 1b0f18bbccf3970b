"""HAL 1.0 (feature level 1): its types and interfaces, in the original spelling.

Vectors are tuples, structs are named tuples. A HIDL `memory` is a Pool. A method that returns
several values in HIDL returns a tuple.
"""

from enum import IntEnum

from nnapi_shim.hal import enums
from nnapi_shim.hal.types import Pool
from nnapi_shim.hints import TYPE_CHECKING, NamedTuple, Protocol

ErrorStatus = enums.ErrorStatus
FusedActivationFunc = enums.FuseCode

if TYPE_CHECKING:
    OperationType = enums.OperationType
else:
    OperationType = enums.operations_up_to(28, __name__)
    """The operations of feature level 1."""


class OperandType(IntEnum):
    """Element type of an operand: scalars, tensors, and the two that vendors define."""

    FLOAT32 = 0
    INT32 = 1
    UINT32 = 2
    TENSOR_FLOAT32 = 3
    TENSOR_INT32 = 4
    TENSOR_QUANT8_ASYMM = 5
    OEM = 10000
    TENSOR_OEM_BYTE = 10001


class OperandLifeTime(IntEnum):
    """Source and lifetime of the value of an operand."""

    TEMPORARY_VARIABLE = 0
    MODEL_INPUT = 1
    MODEL_OUTPUT = 2
    CONSTANT_COPY = 3
    CONSTANT_REFERENCE = 4
    NO_VALUE = 5


class DeviceStatus(IntEnum):
    """Status of a device."""

    AVAILABLE = 0
    BUSY = 1
    OFFLINE = 2
    UNKNOWN = 3


class PerformanceInfo(NamedTuple):
    """Time and energy of a workload, as a ratio to what the CPU takes; smaller is better."""

    execTime: float
    powerUsage: float


class Capabilities(NamedTuple):
    """Performance on float32 data and on TENSOR_QUANT8_ASYMM data."""

    float32Performance: PerformanceInfo
    quantized8Performance: PerformanceInfo


class DataLocation(NamedTuple):
    """`length` bytes from byte `offset` of a pool."""

    poolIndex: int = 0
    offset: int = 0
    length: int = 0


class Operand(NamedTuple):
    """An operand of a model.

    dimensions: () for a scalar; one entry or more for a tensor, 0 for one that is not known.
    numberOfConsumers: number of uses as an input of operations.
    scale: of TENSOR_QUANT8_ASYMM and TENSOR_INT32. zeroPoint: of TENSOR_QUANT8_ASYMM.
    location: of a constant: in Model.operandValues, with poolIndex 0, when the lifetime is
        CONSTANT_COPY, in Model.pools when it is CONSTANT_REFERENCE; else all zero.
    """

    type: OperandType
    dimensions: tuple[int, ...]
    numberOfConsumers: int
    scale: float
    zeroPoint: int
    lifetime: OperandLifeTime
    location: DataLocation


class Operation(NamedTuple):
    """An operation with the indexes of its operands in Model.operands."""

    type: OperationType
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Model(NamedTuple):
    """A graph and its constants; dimensions may be unknown.

    operations: in topological order.
    inputIndexes, outputIndexes: at least one each.
    operandValues: the constants with lifetime CONSTANT_COPY. pools: memory of the others.
    """

    operands: tuple[Operand, ...]
    operations: tuple[Operation, ...]
    inputIndexes: tuple[int, ...]
    outputIndexes: tuple[int, ...]
    operandValues: bytes
    pools: tuple[Pool, ...]


class RequestArgument(NamedTuple):
    """An input or output of a run.

    hasNoValue: it is omitted; the rest is zero and empty then.
    location: in Request.pools.
    dimensions: () for those of the model; else all of them, where the model knows some the same.
    """

    hasNoValue: bool
    location: DataLocation
    dimensions: tuple[int, ...]


class Request(NamedTuple):
    """Arguments of a run, in the order of inputIndexes and outputIndexes.

    An output overlaps with no other argument and with no constant.
    """

    inputs: tuple[RequestArgument, ...]
    outputs: tuple[RequestArgument, ...]
    pools: tuple[Pool, ...]


class IExecutionCallback(Protocol):
    """Callback for the end of a run."""

    def notify(self, status: ErrorStatus) -> None:
        """Called exactly once per IPreparedModel.execute, also if it cannot start.

        status: NONE; DEVICE_UNAVAILABLE when the device is offline or busy; GENERAL_FAILURE;
            OUTPUT_INSUFFICIENT_SIZE when a buffer cannot hold its output; INVALID_ARGUMENT.
        """


class IPreparedModel(Protocol):
    """A compiled model."""

    def execute(self, request: Request, callback: IExecutionCallback) -> ErrorStatus:
        """Validate a request and start it; returns the status of the start.

        May be asynchronous. `callback` is called exactly once, also if the start fails. Calls may
        be concurrent.
        """


class IPreparedModelCallback(Protocol):
    """Callback for the end of a preparation."""

    def notify(self, status: ErrorStatus, preparedModel: IPreparedModel | None) -> None:
        """Called exactly once per prepareModel, also if it cannot start.

        preparedModel: None unless status is NONE.
        """


class IDevice(Protocol):
    """A device of HAL 1.0."""

    def getCapabilities(self) -> tuple[ErrorStatus, Capabilities]:
        """Status and performance; the second value is valid if the first is NONE."""

    def getSupportedOperations(self, model: Model) -> tuple[ErrorStatus, tuple[bool, ...]]:
        """For every operation of `model`, in its order, whether the device supports it.

        For an invalid model the status is INVALID_ARGUMENT and the list is empty.
        """

    def prepareModel(self, model: Model, callback: IPreparedModelCallback) -> ErrorStatus:
        """Validate a model and start to prepare it; returns the status of the start.

        May be asynchronous. `callback` is called exactly once, also if the start fails.
        """

    def getStatus(self) -> DeviceStatus:
        """The status of the device."""
