"""IDevice of the reference device. numpy is imported when the first model is prepared."""

from typing import TYPE_CHECKING

from nnapi_shim import __version__
from nnapi_shim.hal.enums import (
    DeviceType,
    ExecutionPreference,
    FeatureLevel,
    OperandType,
    Priority,
)
from nnapi_shim.hal.interfaces import CacheHandles
from nnapi_shim.hal.types import Capabilities, Model, PerformanceInfo
from nnapi_shim.operations import supported

if TYPE_CHECKING:
    from nnapi_shim.drivers.reference.prepared_model import ReferencePreparedModel

_PERFORMANCE = PerformanceInfo(10.0, 10.0)


class ReferenceDevice:
    """The formulas of the specification, one operation after the other."""

    name = "nnapi-reference"
    version = __version__
    type = DeviceType.CPU
    feature_level = FeatureLevel.LEVEL_8

    def getCapabilities(self) -> Capabilities:
        """Far slower than nnapi-cpu, for every type."""
        return Capabilities(
            _PERFORMANCE,
            _PERFORMANCE,
            dict.fromkeys(OperandType, _PERFORMANCE),
            _PERFORMANCE,
            _PERFORMANCE,
        )

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """Everything that is declared."""
        return supported(model)

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> "ReferencePreparedModel":
        """Nothing to prepare but the constants: the model is interpreted."""
        from nnapi_shim.drivers.reference.prepared_model import ReferencePreparedModel

        return ReferencePreparedModel(model)

    def wait(self) -> None:
        """It is always ready."""
