"""IDevice of the CPU device."""

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
from nnapi_shim.version import __version__


class CpuDevice:
    """Runs models with compiled kernels on the processor."""

    name = "nnapi-cpu"
    version = __version__
    type = DeviceType.CPU
    feature_level = RUNTIME_LEVEL

    def getCapabilities(self) -> Capabilities:
        """1 everywhere: the CPU is the reference of the performance ratios."""
        return same_for_all(PerformanceInfo(1.0, 1.0))

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """All declared operations; missing kernels are compiled on demand."""
        return supported(model)

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> CpuPreparedModel:
        """Compile the model as far as its shapes are static, or load the program from the cache.
        Raises MISSED_DEADLINE_TRANSIENT.
        """
        try:
            return CpuPreparedModel(
                model, library.current(), crew(preference, priority), cache, deadline_ns or 0
            )
        except TooLate as late:
            raise too_late(late) from None

    def wait(self) -> None:
        """Load the kernel library; raises OP_FAILED if that fails."""
        library.current()


def _stepper() -> Stepper:
    from nnapi_shim.drivers.cpu.run import stepping

    return stepping


def _kernel_compiler() -> library.Compile:
    from nnapi_shim.drivers.cpu.toolchain import jit

    return jit.compile_kernel


register(CpuDevice.name, _stepper)
library.use_compiler(_kernel_compiler)
