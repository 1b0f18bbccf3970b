"""The canonical device interface: what the runtime asks of every device.

Methods keep the HAL spelling. Every method may raise NnapiError with the result code that the
program gets to see, and the id of a rule of its own (`driver.my-device.no-memory`).
"""

from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, FeatureLevel, Priority
from nnapi_shim.hal.types import (
    CacheHandles,
    Capabilities,
    Dimensions,
    ExecutionResult,
    Extension,
    Model,
    Request,
    Timing,
)
from nnapi_shim.hints import Protocol


class IBuffer(Protocol):
    """Memory that a device has allocated for the roles that its descriptor names."""

    def copyTo(self, address: int, length: int) -> None:
        """Write the contents to `length` bytes at `address`."""

    def copyFrom(self, address: int, length: int, dimensions: Dimensions) -> None:
        """Take `length` bytes from `address` as contents with these dimensions."""


class IExecution(Protocol):
    """A request bound to a prepared model; may be computed any number of times, one at a time."""

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """Run it on the calling thread.

        deadline_ns: time.monotonic_ns() after which the run may end with MISSED_DEADLINE_*.
        """


class IPreparedModel(Protocol):
    """A model made ready for a device. Thread-safe: any number of executions may be in flight."""

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> IExecution:
        """Bind `request`; its memory stays valid until the last compute."""

    def execute(
        self, request: Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> ExecutionResult:
        """Bind `request` and run it once."""


class IDevice(Protocol):
    """A device. Its attributes never change."""

    name: str
    version: str
    type: DeviceType
    feature_level: FeatureLevel

    def getCapabilities(self) -> Capabilities:
        """Speed relative to the CPU fallback, by operand type."""

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """For every operation of the main graph, whether this device runs it.

        Looks at types, forms and levels, never at values: a bad value fails when it is reached.
        """

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> IPreparedModel:
        """Make a finished model ready to run. A bad value does not fail here but in compute.

        cache: where to look for what an earlier call has left, and to leave what this one makes;
            that this is not possible, or of no use, is no error.
        """

    def wait(self) -> None:
        """Return when the device is ready to work; raises UNAVAILABLE_DEVICE when it is gone."""


class IExtendedDevice(IDevice, Protocol):
    """A device that brings extensions; other devices lack the method."""

    def getSupportedExtensions(self) -> tuple[Extension, ...]:
        """The extensions that it knows; always the same ones."""


__all__ = [
    "CacheHandles",
    "IBuffer",
    "IDevice",
    "IExecution",
    "IExtendedDevice",
    "IPreparedModel",
    "Timing",
]
