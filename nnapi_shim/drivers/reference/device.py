"""IDevice of the reference device. numpy is imported when the first model is prepared."""

from nnapi_shim.drivers.steppable import Stepper, register
from nnapi_shim.errors import last_line, op_failed
from nnapi_shim.hal.enums import (
    RUNTIME_LEVEL,
    DeviceType,
    ExecutionPreference,
    Priority,
)
from nnapi_shim.hal.types import CacheHandles, Capabilities, Model, PerformanceInfo, same_for_all
from nnapi_shim.hints import TYPE_CHECKING
from nnapi_shim.operations import supported
from nnapi_shim.process import load_numpy
from nnapi_shim.version import __version__

if TYPE_CHECKING:
    from nnapi_shim.drivers.reference.precision import Precision
    from nnapi_shim.drivers.reference.prepared_model import ReferencePreparedModel


class ReferenceDevice:
    """The formulas of the specification, one operation after the other."""

    name = "nnapi-reference"
    version = __version__
    type = DeviceType.CPU
    feature_level = RUNTIME_LEVEL

    def __init__(self, precision: "Precision | None" = None) -> None:
        """precision: how models compute with float16; None: as the specification says."""
        self._precision = precision

    def getCapabilities(self) -> Capabilities:
        """Far slower than nnapi-cpu, for every type."""
        return same_for_all(PerformanceInfo(10.0, 10.0))

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
        """Prepare the constants; the model is interpreted.

        Raises OP_FAILED if numpy is missing, MemoryError if there is not enough memory to load it.
        """
        try:
            load_numpy()
            from nnapi_shim.drivers.reference.prepared_model import ReferencePreparedModel
        except ImportError as error:
            if (error.name or "").startswith("nnapi_shim"):
                raise
            state = "found" if error.name == "numpy" else f"imported ({last_line(error)})"
            raise op_failed(
                f"nnapi-reference needs numpy, which cannot be {state}; `pip install numpy` where "
                "nnapi_shim and cffi are installed, or use nnapi-cpu",
                "device.needs-numpy",
            ) from None
        register(self.name, _stepper)
        return ReferencePreparedModel(model, self._precision)

    def wait(self) -> None:
        """It is always ready."""


def _stepper() -> Stepper:
    from nnapi_shim.drivers.reference import stepping

    return stepping
