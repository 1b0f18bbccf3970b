"""HAL 1.1 (feature level 2): its changes to HAL 1.0."""

from nnapi_shim.hal import enums, v1_0
from nnapi_shim.hal.types import Pool
from nnapi_shim.hints import TYPE_CHECKING, NamedTuple, Protocol

ExecutionPreference = enums.ExecutionPreference

if TYPE_CHECKING:
    OperationType = enums.OperationType
else:
    OperationType = enums.operations_up_to(37, __name__)
    """The operations of feature levels 1 and 2."""


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
