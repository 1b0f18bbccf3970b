"""The canonical device interface, which every device implements.

Methods keep the HAL spelling. Every method may raise NnapiError with the result code for the
program, and a rule id of the device (`driver.my-device.no-memory`).
"""

from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, FeatureLevel, Priority
from nnapi_shim.hal.types import (
    CacheHandles,
    Capabilities,
    ExecutionResult,
    Extension,
    IBuffer,
    Model,
    Operand,
    Request,
)
from nnapi_shim.hints import Protocol, Sequence


class IExecution(Protocol):
    """A request bound to a prepared model; can be computed repeatedly, not concurrently."""

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """Run it on the calling thread.

        deadline_ns: time.monotonic_ns() after which the run may end with MISSED_DEADLINE_*.
        """


class IPreparedModel(Protocol):
    """A model compiled for a device. Thread-safe: executions may run concurrently."""

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> IExecution:
        """Bind `request`; its memory stays valid until the last compute."""

    def execute(
        self, request: Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> ExecutionResult:
        """Bind `request` and run it once."""
        execution = self.createReusableExecution(request, measure, loop_timeout_ns)
        return execution.compute(deadline_ns)


class IDevice(Protocol):
    """A device. Its attributes never change."""

    name: str
    version: str
    type: DeviceType
    feature_level: FeatureLevel

    def getCapabilities(self) -> Capabilities:
        """Speed relative to the CPU fallback, by operand type."""

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """For every operation of the main graph, whether this device supports it.

        Depends on types, forms and levels, never on values: a bad value fails at run time.
        """

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> IPreparedModel:
        """Compile a finished model. Bad values fail in compute, not here.

        cache: where to load an earlier compilation from, and to store this one; failures of the
            cache are no errors.
        """

    def wait(self) -> None:
        """Wait until the device is ready; raises UNAVAILABLE_DEVICE if it is gone."""


class IExplainingDevice(IDevice, Protocol):
    """A device that says why it does not run operations; other devices lack the method."""

    def getReasons(self, model: Model) -> list[str]:
        """For every operation of the main graph, why this device does not run it; "" if it does."""


class IAllocatingDevice(IDevice, Protocol):
    """A device with memory of its own; other devices lack the method."""

    def allocate(self, operand: Operand) -> IBuffer | None:
        """Memory for an operand, all dimensions of which are known; None where memory of the
        process serves as well.

        Requests for models that this device has prepared refer to it, as inputs and outputs with
        this type and these dimensions. An output that has other dimensions in the end is left
        alone: the run fails. Two arguments of a request never share it, unless both are inputs.
        """


class ITogetherDevice(IDevice, Protocol):
    """A device that compiles several models in less time than one after another; other devices
    lack the method.
    """

    def compileTogether(
        self, models: Sequence[Model], cache: CacheHandles, deadline_ns: int
    ) -> bool:
        """Compile models for FAST_SINGLE_ANSWER and keep them in the cache, from which
        prepareModel reads them; False if this device does not.
        """


class IExtendedDevice(IDevice, Protocol):
    """A device with extensions; other devices lack the method."""

    def getSupportedExtensions(self) -> tuple[Extension, ...]:
        """The supported extensions; constant."""
