"""IDevice of the CPU device."""

from nnapi_shim import __version__
from nnapi_shim.drivers.cpu.prepared_model import CpuPreparedModel, too_late
from nnapi_shim.drivers.cpu.program import library
from nnapi_shim.drivers.cpu.program.threads import crew
from nnapi_shim.drivers.steppable import Stepper, register
from nnapi_shim.hal.enums import (
    RUNTIME_LEVEL,
    DeviceType,
    ExecutionPreference,
    Priority,
)
from nnapi_shim.hal.types import CacheHandles, Capabilities, Model, PerformanceInfo, same_for_all
from nnapi_shim.limits import TooLate
from nnapi_shim.operations import supported


class CpuDevice:
    """Compiled kernels on this machine's processor."""

    name = "nnapi-cpu"
    version = __version__
    type = DeviceType.CPU
    feature_level = RUNTIME_LEVEL

    def getCapabilities(self) -> Capabilities:
        """It is the CPU that others compare themselves with: 1 everywhere."""
        return same_for_all(PerformanceInfo(1.0, 1.0))

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """Everything that is declared; a missing kernel is compiled when it is needed."""
        return supported(model)

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> CpuPreparedModel:
        """Lower the model, or what of it does not wait for the shapes of a run; or take from the
        cache what an earlier preparation left there. Raises MISSED_DEADLINE_TRANSIENT.
        """
        try:
            return CpuPreparedModel(
                model, library.current(), crew(preference, priority), cache, deadline_ns or 0
            )
        except TooLate as late:
            raise too_late(late) from None

    def wait(self) -> None:
        """It is ready when its kernels are loaded; raises OP_FAILED where that cannot be."""
        library.current()


def _stepper() -> Stepper:
    from nnapi_shim.drivers.cpu.run import stepping

    return stepping


def _kernel_compiler() -> library.Compile:
    from nnapi_shim.drivers.cpu.toolchain import jit

    return jit.compile_kernel


register(CpuDevice.name, _stepper)
library.use_compiler(_kernel_compiler)
