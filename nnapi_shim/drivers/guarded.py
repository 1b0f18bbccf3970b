"""Canonical devices of other people: whatever they raise is an NnapiError that names the device."""

from collections.abc import Callable
from typing import Any

from nnapi_shim.drivers.versioned.answer import guarded
from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import (
    DeviceType,
    ErrorStatus,
    ExecutionPreference,
    FeatureLevel,
    Priority,
)
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.quantization import MAX_BYTES
from nnapi_shim.hal.types import (
    CacheHandles,
    Capabilities,
    Dimensions,
    ExecutionResult,
    Extension,
    ExtensionOperandType,
    Model,
    OutputShape,
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
        found = guarded(what, self._device.getCapabilities)
        if not _are_capabilities(found):
            raise op_failed(f"{what} answered {found!r}; it must be Capabilities with numbers")
        return found  # type: ignore[no-any-return]

    def getSupportedOperations(self, model: Model) -> list[bool]:
        """As IDevice."""
        ask, what = self._device.getSupportedOperations, self._what("getSupportedOperations")
        return guarded(what, lambda: [bool(answer) for answer in ask(model)])  # type: ignore[no-any-return]

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
        what = self._what("prepareModel")
        prepared = guarded(what, lambda: prepare(model, preference, priority, deadline_ns, cache))
        if not all(callable(getattr(prepared, name, None)) for name in _PREPARED):
            raise op_failed(f"{what} returned {prepared!r}; it must be an IPreparedModel")
        return GuardedPreparedModel(self.name, model, prepared)

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


_PREPARED = ("createReusableExecution", "execute")


def _are_capabilities(given: Any) -> bool:
    return (
        isinstance(given, Capabilities)
        and isinstance(given.operand_performance, dict)
        and all(
            isinstance(figures, tuple)
            and len(figures) == 2
            and all(isinstance(figure, int | float) for figure in figures)
            for part in given
            for figures in (part.values() if isinstance(part, dict) else (part,))
        )
    )


class GuardedPreparedModel:
    """As IPreparedModel."""

    def __init__(self, name: str, model: Model, prepared: IPreparedModel) -> None:
        self._name = name
        self._prepared = prepared
        main = model.main
        self._outputs = [main.operands[index].dimensions for index in main.output_indexes]

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
            self._declared(request),
        )

    def execute(
        self, request: Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> ExecutionResult:
        """As IPreparedModel."""
        execute = self._prepared.execute
        return _result(
            f"{self._name}.execute",
            lambda: execute(request, measure, deadline_ns, loop_timeout_ns),
            self._declared(request),
        )

    def _declared(self, request: Request) -> list[Dimensions]:
        """What is known of the outputs: a result must not contradict it."""
        return [
            argument.dimensions or dimensions
            for argument, dimensions in zip(request.outputs, self._outputs, strict=True)
        ]


class GuardedExecution:
    """As IExecution."""

    def __init__(self, name: str, execution: IExecution, declared: list[Dimensions]) -> None:
        self._name = name
        self._execution = execution
        self._declared = declared

    def compute(self, deadline_ns: int | None) -> ExecutionResult:
        """As IExecution."""
        run = self._execution.compute
        return _result(f"{self._name}.compute", lambda: run(deadline_ns), self._declared)


def _result(what: str, run: Callable[[], Any], declared: list[Dimensions]) -> ExecutionResult:
    result = guarded(what, run)
    if not isinstance(result, ExecutionResult):
        raise op_failed(f"{what} returned {result!r}; it must be an ExecutionResult", "type")
    shapes = tuple(result.output_shapes)
    if result.status not in (ErrorStatus.NONE, ErrorStatus.OUTPUT_INSUFFICIENT_SIZE):
        raise op_failed(f"{what} answered with status {result.status!r}", "status")
    if not (
        len(shapes) == len(declared)
        and all(map(_is_shape, shapes))
        and all(map(_fits, shapes, declared))
        and all(time is None or isinstance(time, int) for time in result.timing)
    ):
        raise op_failed(
            f"{what} answered with outputs {[*map(_dimensions, shapes)]} and {result.timing!r}; "
            f"declared are {[*map(list, declared)]}, and times are numbers of ns or None",
            "outputs",
        )
    if (result.status == ErrorStatus.NONE) != all(shape.is_sufficient for shape in shapes):
        raise op_failed(
            f"{what} answered with status {result.status!r}, which the outputs deny",
            "contradiction",
        )
    return result


def _is_shape(given: Any) -> bool:
    return isinstance(given, OutputShape) and all(
        isinstance(size, int) and 0 <= size <= MAX_BYTES for size in given.dimensions
    )


def _fits(shape: OutputShape, declared: Dimensions) -> bool:
    """Whether dimensions are the declared ones, where those are known."""
    return not declared or (
        len(shape.dimensions) == len(declared)
        and all(size in (0, found) for size, found in zip(declared, shape.dimensions, strict=True))
    )


def _dimensions(shape: Any) -> Any:
    return getattr(shape, "dimensions", shape)
