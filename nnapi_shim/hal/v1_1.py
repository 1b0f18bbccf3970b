"""HAL 1.1 (feature level 2): its changes to HAL 1.0."""

from enum import IntEnum

from nnapi_shim.hal import v1_0
from nnapi_shim.hal.types import Pool
from nnapi_shim.hints import NamedTuple, Protocol


class OperationType(IntEnum):
    """The operations of feature levels 1 and 2."""

    ADD = 0
    AVERAGE_POOL_2D = 1
    CONCATENATION = 2
    CONV_2D = 3
    DEPTHWISE_CONV_2D = 4
    DEPTH_TO_SPACE = 5
    DEQUANTIZE = 6
    EMBEDDING_LOOKUP = 7
    FLOOR = 8
    FULLY_CONNECTED = 9
    HASHTABLE_LOOKUP = 10
    L2_NORMALIZATION = 11
    L2_POOL_2D = 12
    LOCAL_RESPONSE_NORMALIZATION = 13
    LOGISTIC = 14
    LSH_PROJECTION = 15
    LSTM = 16
    MAX_POOL_2D = 17
    MUL = 18
    RELU = 19
    RELU1 = 20
    RELU6 = 21
    RESHAPE = 22
    RESIZE_BILINEAR = 23
    RNN = 24
    SOFTMAX = 25
    SPACE_TO_DEPTH = 26
    SVDF = 27
    TANH = 28
    BATCH_TO_SPACE_ND = 29
    DIV = 30
    MEAN = 31
    PAD = 32
    SPACE_TO_BATCH_ND = 33
    SQUEEZE = 34
    STRIDED_SLICE = 35
    SUB = 36
    TRANSPOSE = 37
    OEM_OPERATION = 10000


class ExecutionPreference(IntEnum):
    """Optimization goal of a prepared model."""

    LOW_POWER = 0
    FAST_SINGLE_ANSWER = 1
    SUSTAINED_SPEED = 2


class Capabilities(NamedTuple):
    """As in 1.0, with the performance on float32 data with relaxed (float16) precision."""

    float32Performance: v1_0.PerformanceInfo
    quantized8Performance: v1_0.PerformanceInfo
    relaxedFloat32toFloat16Performance: v1_0.PerformanceInfo


class Operation(NamedTuple):
    """As in 1.0, with an operation of 1.1."""

    type: OperationType
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Model(NamedTuple):
    """As in 1.0, with operations of 1.1 and one more permission.

    relaxComputationFloat32toFloat16: float32 may be computed with the range and precision of
        float16.
    """

    operands: tuple[v1_0.Operand, ...]
    operations: tuple[Operation, ...]
    inputIndexes: tuple[int, ...]
    outputIndexes: tuple[int, ...]
    operandValues: bytes
    pools: tuple[Pool, ...]
    relaxComputationFloat32toFloat16: bool


class IDevice(v1_0.IDevice, Protocol):
    """A device of HAL 1.1; its prepared models are those of 1.0."""

    def getCapabilities_1_1(self) -> tuple[v1_0.ErrorStatus, Capabilities]:
        """As IDevice.getCapabilities of 1.0, with the relaxed performance."""

    def getSupportedOperations_1_1(self, model: Model) -> tuple[v1_0.ErrorStatus, tuple[bool, ...]]:
        """As IDevice.getSupportedOperations of 1.0."""

    def prepareModel_1_1(
        self,
        model: Model,
        preference: ExecutionPreference,
        callback: v1_0.IPreparedModelCallback,
    ) -> v1_0.ErrorStatus:
        """As IDevice.prepareModel of 1.0, optimised for what the program prefers."""
