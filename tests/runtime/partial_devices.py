"""Devices that run only some operations, each with the formulas of nnapi-reference."""

from collections.abc import Callable
from typing import Any

from nnapi_shim.drivers.reference.device import ReferenceDevice
from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.enums import RUNTIME_LEVEL, DeviceType, OperandType, OperationType
from nnapi_shim.hal.types import Capabilities, PerformanceInfo
from nnapi_shim.operations import supported
from nnapi_shim.runtime.compilation import Compilation

FIGURES = {
    "float_fast": (0.8, 1.2),
    "float_slow": (1.3, 0.7),
    "minimal": (0.4, 0.5),
    "quant": (50.0, 1.0),
    "all": (1.1, 1.1),
}
"""Time and power of the sample devices of the reference source."""


Hook = Callable[[Callable[[], Any]], Any]


def call(action: Callable[[], Any]) -> Any:
    """The hook that changes nothing."""
    return action()


def types(names: str) -> Callable[[Any], bool]:
    """Whether an operation is one of these."""
    chosen = {OperationType[name] for name in names.split()}
    return lambda item: item.type in chosen


class PartialDevice:
    """A device with figures, and the operations for which `runs` holds.

    prepared: the models that it was given. A test may replace `prepare` and `getCapabilities`.
    """

    version = "test"
    type = DeviceType.OTHER
    feature_level = RUNTIME_LEVEL

    def __init__(
        self, name: str, runs: Any = None, figures: tuple[float, float] | None = None
    ) -> None:
        self.name = name
        self._runs = types(runs) if isinstance(runs, str) else runs or (lambda item: True)
        self.figures = PerformanceInfo(*(figures or FIGURES.get(name, (1.0, 1.0))))
        self.by_type: dict[OperandType, PerformanceInfo] = {}
        self.prepared: list[Any] = []
        self.prepare: Any = ReferenceDevice().prepareModel

    def getCapabilities(self) -> Capabilities:
        every = dict.fromkeys(OperandType, self.figures) | self.by_type
        return Capabilities(self.figures, self.figures, every, self.figures, self.figures)

    def getSupportedOperations(self, model: Any) -> list[bool]:
        return [
            can and self._runs_all_of(item, model.main, model)
            for item, can in zip(model.main.operations, supported(model), strict=True)
        ]

    def _runs_all_of(self, item: Any, graph: Any, model: Any) -> bool:
        inner = [
            model.referenced[graph.operands[index].location.offset]
            for index in item.inputs
            if graph.operands[index].type is OperandType.MODEL
        ]
        return self._runs(item) and all(
            self._runs_all_of(other, part, model) for part in inner for other in part.operations
        )

    def prepareModel(self, model: Any, *arguments: Any) -> Any:
        self.prepared.append(model)
        return self.prepare(model, *arguments)

    def wait(self) -> None:
        pass


class Watched:
    """Comes between a device and who uses it, to count and to spoil.

    Every hook is called with a function that does what was asked for, and gives the answer.
    """

    def __init__(
        self,
        device: PartialDevice,
        prepare: Hook = call,
        bind: Hook = call,
        compute: Hook = call,
    ) -> None:
        self.bind, self.compute = bind, compute
        self.requests: list[Any] = []
        """Arguments of every createReusableExecution."""
        self.deadlines: list[int | None] = []
        """Of every compute."""
        original = device.prepare
        device.prepare = lambda *arguments: prepare(
            lambda: _WatchedModel(self, original(*arguments))
        )


class _WatchedModel:
    def __init__(self, watch: Watched, prepared: Any) -> None:
        self._watch, self._prepared = watch, prepared

    def createReusableExecution(self, *arguments: Any) -> Any:
        self._watch.requests.append(arguments)
        return self._watch.bind(
            lambda: _WatchedExecution(
                self._watch, self._prepared.createReusableExecution(*arguments)
            )
        )


class _WatchedExecution:
    def __init__(self, watch: Watched, execution: Any) -> None:
        self._watch, self._execution = watch, execution

    def compute(self, deadline: int | None) -> Any:
        self._watch.deadlines.append(deadline)
        return self._watch.compute(lambda: self._execution.compute(deadline))


class Finished:
    """A finished model of the runtime, of which only its form in the HAL matters."""

    def __init__(self, model: Any) -> None:
        self.hal = model

    def require_finished(self) -> None:
        pass

    def named(self, error: NnapiError) -> NnapiError:
        return error


def compiled(model: Any, devices: Any, preference: int = 1) -> Compilation:
    """A finished compilation of a model of the HAL for named devices, or None for all."""
    compilation = Compilation(Finished(model), devices)
    compilation.set_preference(preference)
    compilation.finish()
    return compilation


class Together:
    """Several devices in the place of one."""

    def __init__(self, *devices: PartialDevice) -> None:
        self.devices = devices

    def prepareModel(self, model: Any, *arguments: Any) -> Any:
        return compiled(model, self.devices).prepared
