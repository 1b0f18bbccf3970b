"""Canonical devices of other people: whatever they raise is an NnapiError that names the device."""

from collections.abc import Callable
from typing import Any

from nnapi_shim.drivers.versioned.answer import guarded
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import DeviceType, ExecutionPreference, FeatureLevel, Priority
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.quantization import MAX_BYTES
from nnapi_shim.hal.types import (
    CacheHandles,
    Capabilities,
    ExecutionResult,
    Extension,
    ExtensionOperandType,
    Model,
    Request,
)


class GuardedDevice:
    """A device whose every call is guarded. It is asked once for its extensions."""

    def __init__(self, device: IDevice) -> None:
        """Raises OP_FAILED where its extensions are none."""
        self.name = device.name
        self.version = device.version
        self.type: DeviceType = device.type
        self.feature_level: FeatureLevel = device.feature_level
        self._device = device
        self._extensions: tuple[Extension, ...] = ()
        get: Callable[[], Any] | None = getattr(device, "getSupportedExtensions", None)
        if get is not None:
            what = self._what("getSupportedExtensions")
            self._extensions = guarded(what, lambda: tuple(get()))
            if not all(map(_is_extension, self._extensions)):
                raise op_failed(
                    f"{what} answered {self._extensions!r}; it must be Extensions, with types from "
                    "0 to 65535 of at least one byte"
                )

    def _what(self, method: str) -> str:
        return f"{self.name}.{method}"

    def getSupportedExtensions(self) -> tuple[Extension, ...]:
        """As IExtendedDevice."""
        return self._extensions

    def getCapabilities(self) -> Capabilities:
        """As IDevice."""
        what = self._what("getCapabilities")
        return guarded(what, self._device.getCapabilities)  # type: ignore[no-any-return]

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """As IDevice."""
        ask = self._device.getSupportedOperations
        return guarded(self._what("getSupportedOperations"), lambda: list(ask(model)))  # type: ignore[no-any-return]

    def prepareModel(
        self,
        model: Model,
        preference: ExecutionPreference,
        priority: Priority,
        deadline_ns: int | None,
        cache: CacheHandles | None,
    ) -> "GuardedPreparedModel":
        """As IDevice."""
        prepare = self._device.prepareModel
        prepared = guarded(
            self._what("prepareModel"),
            lambda: prepare(model, preference, priority, deadline_ns, cache),
        )
        return GuardedPreparedModel(self.name, prepared)

    def wait(self) -> None:
        """As IDevice."""
        guarded(self._what("wait"), self._device.wait)


def _is_extension(given: Any) -> bool:
    return (
        isinstance(given, Extension)
        and isinstance(given.name, str)
        and all(
            isinstance(known, ExtensionOperandType)
            and known.type in range(1 << 16)
            and known.byte_size in range(1, MAX_BYTES)
            for known in given.operand_types
        )
    )


class GuardedPreparedModel:
    """As IPreparedModel."""

    def __init__(self, name: str, prepared: IPreparedModel) -> None:
        self._name = name
        self._prepared = prepared

    def createReusableExecution(
        self, request: Request, measure: bool, loop_timeout_ns: int
    ) -> "GuardedExecution":
        """As IPreparedModel."""
        create = self._prepared.createReusableExecution
        return GuardedExecution(
            self._name,
            guarded(
                f"{self._name}.createReusableExecution",
                lambda: create(request, measure, loop_timeout_ns),
            ),
        )

    def execute(
        self, request: Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> ExecutionResult:
        """As IPreparedModel."""
        execute = self._prepared.execute
        return _result(
            f"{self._name}.execute",
            lambda: execute(request, measure, deadline_ns, loop_timeout_ns),
        )


class GuardedExecution:
    """As IExecution."""

    def __init__(self, name: str, execution: IExecution) -> None:
        self._name = name
        self._execution = execution

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """As IExecution."""
        return _result(f"{self._name}.compute", lambda: self._execution.compute(deadline_ns))


def _result(what: str, run: Callable[[], Any]) -> ExecutionResult:
    result = guarded(what, run)
    if not isinstance(result, ExecutionResult):
        raise op_failed(f"{what} returned {result!r}; it must be an ExecutionResult")
    return result
