"""Estimated times of a model's operations on devices, by the calibration of this machine.

A device that was not measured counts with its declared figure times the time of nnapi-cpu.
"""

from nnapi_shim.drivers import is_built_in
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.types import Model, Operation, Subgraph
from nnapi_shim.hints import Callable, NamedTuple, Sequence
from nnapi_shim.limits import watched
from nnapi_shim.runtime import calibration as file
from nnapi_shim.runtime.calibration import UNIT, Calibration, MeasuredDevice, Point
from nnapi_shim.runtime.work_kinds import FLOAT32, RELAXED, Amount, amount_of, bytes_of, type_of
from nnapi_shim.settings import CALIBRATION, PROFILE

Figures = Callable[[Subgraph, Operation], Sequence[float]]
"""The declared figures of all devices for an operation of a graph (Answers.figures_in)."""

_WORST = 1e6
"""In place of the figure of a device that declares none."""


class Costs(NamedTuple):
    """Estimated times in seconds.

    operations: device -> time of each operation of the main graph. calls: device -> fixed time of
    an execution. rates: device -> operand -> time to hand it over, to or from the device.
    step: time of each step beside its execution, if there are several. changes: device -> device ->
    time of a change between two steps.
    """

    operations: Sequence[Sequence[float]]
    calls: Sequence[float]
    rates: Sequence["Rates"]
    step: float
    changes: Sequence[Sequence[float]]


class Rates:
    """Times to hand operands of a model over to a device, or from it."""

    def __init__(self, model: Model, by_type: Callable[[str], float]) -> None:
        self._model = model
        self._by_type = by_type
        self._known: dict[int, float] = {}

    def __getitem__(self, index: int) -> float:
        seconds = self._known.get(index)
        if seconds is None:
            graph = self._model.main
            rate = self._by_type(type_of(self._model, graph.operands[index].type))
            seconds = self._known[index] = rate * bytes_of(graph, index)
        return seconds


def applicable(devices: Sequence[IDevice]) -> Calibration | None:
    """The calibration that decides for these devices; None if their figures do.

    It has to have measured one that is none of this library's. A phone's profile has figures of its
    own.
    """
    if PROFILE.get() or CALIBRATION.get() == "off":
        return None
    found = file.current(devices)
    if found is None or not any(
        found.device(device.name) for device in devices if not is_built_in(device.name)
    ):
        return None
    return found


def costs(
    model: Model, devices: Sequence[IDevice], calibration: Calibration, figures: Figures
) -> Costs:
    """Estimates for a model on these devices."""
    measured = [calibration.device(device.name) for device in devices]
    unit = calibration.device(UNIT)
    assert unit is not None
    times = _Times(model, measured, unit, figures)
    rows = [times.row(model.main, item) for item in watched(model.main.operations)]
    return Costs(
        [list(column) for column in zip(*rows, strict=True)] or [[] for _ in devices],
        [(device or unit).call for device in measured],
        [Rates(model, _rate(device or unit)) for device in measured],
        calibration.step,
        [[calibration.change(one.name, other.name) for other in devices] for one in devices],
    )


def _rate(device: MeasuredDevice) -> Callable[[str], float]:
    """The time to hand a byte of a type over."""
    most = max(device.handing_over.values(), default=0.0)
    return lambda type: device.handing_over.get(type, device.handing_over.get(FLOAT32, most))


class _Times:
    """Times of operations on devices, those of inner graphs included."""

    def __init__(
        self,
        model: Model,
        measured: Sequence[MeasuredDevice | None],
        unit: MeasuredDevice,
        figures: Figures,
    ) -> None:
        self._model = model
        self._measured = measured
        self._unit = unit
        self._figures = figures
        self._graphs: list[list[float]] = []
        """Per referenced graph, the time on each device."""
        for graph in model.referenced:
            rows = [self.row(graph, item) for item in watched(graph.operations)]
            self._graphs.append([sum(column) for column in zip(*rows, strict=True)])

    def row(self, graph: Subgraph, item: Operation) -> list[float]:
        """The time of an operation on each device."""
        if item.type in (OperationType.IF, OperationType.WHILE):
            inner = [
                self._graphs[graph.operands[index].location.offset]
                for index in item.inputs
                if graph.operands[index].lifetime is OperandLifeTime.SUBGRAPH
            ]
            share = 0.5 if item.type is OperationType.IF else 1.0  # of IF, one of two runs
            return [share * sum(column) for column in zip(*inner, strict=True)]
        work = amount_of(self._model, graph, item)
        if work is None:
            return [0.0] * len(self._measured)
        on_unit = _seconds(self._unit, work)
        assert on_unit is not None
        result = []
        for device, figure in zip(self._measured, self._figures(graph, item), strict=True):
            seconds = None if device is None else _seconds(device, work)
            result.append(on_unit * min(figure, _WORST) if seconds is None else seconds)
        return result


def _seconds(device: MeasuredDevice, work: Amount) -> float | None:
    """The time of an operation; None if the device was not measured with its kind of work."""
    by_type = device.times.get(work.kind, {})
    points = by_type.get(work.type)
    if points is None and (work.type == RELAXED or device.name == UNIT):
        points = by_type.get(FLOAT32)
    return None if points is None else interpolated(points, work.amount)


def interpolated(points: tuple[Point, Point], amount: float) -> float:
    """The time of an amount of work, on the line through two points.

    The line does not fall, and is not below 0: a large operation that took no longer than a small
    one says how fast the device is, and the small one how long any takes.
    """
    small, large = points
    rate = (large.seconds - small.seconds) / (large.amount - small.amount)
    if rate <= 0:
        return small.seconds
    return max(rate * (amount - small.amount) + small.seconds, rate * amount, 0.0)
