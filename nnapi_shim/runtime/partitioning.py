"""Partitioning: assigns the operations of a model to devices and steps.

Each operation is assigned to the supporting device with the best performance figure. Operations of
one device that can run in sequence form one step.
"""

from nnapi_shim import log, vlog
from nnapi_shim.drivers import is_built_in
from nnapi_shim.errors import NnapiError, bad_data, op_failed, operation_place
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import (
    ExecutionPreference,
    FeatureLevel,
    OperandLifeTime,
    OperandType,
    OperationType,
)
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hints import TYPE_CHECKING, NamedTuple, Sequence
from nnapi_shim.limits import watched
from nnapi_shim.runtime.step_order import in_steps
from nnapi_shim.settings import ENABLED_DEVICES

if TYPE_CHECKING:
    from nnapi_shim.runtime.division import Measured

_WORST = hal.PerformanceInfo(float("inf"), float("inf"))
"""Performance of an operand type for which a device reports none."""

DYNAMIC_OUTPUTS = FeatureLevel.LEVEL_3
"""First feature level of devices that report output dimensions and accept empty inputs."""


class Step(NamedTuple):
    """Operations that run on a device, as positions in Model.main.operations."""

    device: IDevice
    operations: tuple[int, ...]


def partitioned(
    model: hal.Model,
    devices: Sequence[IDevice],
    preference: ExecutionPreference,
    answers: "Answers | None" = None,
) -> list[Step]:
    """The steps of a model on these devices, in an order in which they can run.

    answers: answers of these devices about the model, if the caller has them.

    It is one step if one device is the best, or equal to the best, for all operations. With a
    calibration of the machine, the division with the least estimated time is taken (`division.py`).
    Raises BAD_DATA naming the first operation that no device supports; OP_FAILED for one that a
    device supports, but not as part of these steps.
    """
    answers = answers or Answers(model, devices, preference)
    while True:
        chosen = answers.best_devices()
        one = answers.equal_device(chosen)
        measured = answers.measured()
        if measured is not None:
            by_figures = chosen if one is None else [one] * len(chosen)
            chosen = [*measured.best(by_figures).chosen]
            one = chosen[0] if len(set(chosen)) == 1 else None
        if one is not None:
            return [_logged(whole_on(devices[one], model))]
        assignments = in_steps(model, chosen)
        steps = [Step(devices[device], operations) for device, operations in assignments]
        unfit = _unfit(model, steps)
        if not unfit:
            return [_logged(step) for step in steps]
        for position in unfit:
            answers.refuse(chosen[position], position)


def whole(
    model: hal.Model,
    devices: Sequence[IDevice],
    preference: ExecutionPreference,
    answers: "Answers | None" = None,
) -> list[Step]:
    """One step, on the device that is best for all operations together; answers: as above.

    Raises BAD_DATA naming the first operation that no device supports, OP_FAILED if no device
    supports all of them.
    """
    answers = answers or Answers(model, devices, preference)
    answers.best_devices()
    measured = answers.measured()
    totals = {
        device: answers.total(device) if measured is None else measured.alone(device)
        for device in range(len(devices))
        if answers.runs_all(device)
    }
    if not totals:
        names = ", ".join(device.name for device in devices)
        raise op_failed(
            f"no single device of {names} runs the whole model, and DEBUG_NN_PARTITION is 0",
            "compilation.partition.unsupported-whole",
        )
    best = min(totals, key=lambda device: totals[device])
    return [_logged(whole_on(devices[best], model))]


def whole_on(device: IDevice, model: hal.Model) -> Step:
    """All operations on one device."""
    return Step(device, tuple(range(len(model.main.operations))))


def _logged(step: Step) -> Step:
    if vlog.enabled("compilation"):
        shown = ", ".join(map(str, step.operations[:20]))
        more = ", ..." if len(step.operations) > 20 else ""
        vlog.write("compilation", f"{step.device.name} runs operations {shown}{more}")
    return step


def supported_by(device: IDevice, model: hal.Model) -> list[bool]:
    """Per operation, in the order of Model.main.operations, whether a device supports it.

    All False if the device fails, or returns a wrong number of answers.
    """
    count = len(model.main.operations)
    try:
        answer = list(device.getSupportedOperations(model))
    except NnapiError as error:
        log.warning(f"{device.name} is left out, it does not say which operations it runs: {error}")
        return [False] * count
    if len(answer) != count:
        log.warning(
            f"{device.name} is left out, it says of {len(answer)} operations whether it runs them; "
            f"the model has {count}"
        )
        return [False] * count
    return answer


class Answers:
    """Answers of devices about a model. Each device is asked on demand, and once."""

    def __init__(
        self, model: hal.Model, devices: Sequence[IDevice], preference: ExecutionPreference
    ) -> None:
        self._model = model
        self._devices = devices
        self._is_low_power = preference is ExecutionPreference.LOW_POWER
        self._measured: list[Measured | None] = []
        self._supported: list[list[bool] | None] = [None] * len(devices)
        self._capabilities: list[hal.Capabilities | None] = [None] * len(devices)
        self._figures: dict[OperandType | int, list[float]] = {}
        """Operand type -> performance figure of each device."""
        self._rankings: dict[OperandType | int, list[int]] = {}
        self._graphs: list[list[float]] = []
        """Per referenced graph, the sum of figures of each device; filled on demand."""
        self.refused: set[tuple[int, int]] = set()
        """(device, position) of supported operations that cannot run at their position."""

    def best_devices(self) -> list[int]:
        """Per operation, the index of its device. Raises BAD_DATA if there is none."""
        return [
            self._best(position, item)
            for position, item in enumerate(watched(self._model.main.operations))
        ]

    def _best(self, position: int, item: hal.Operation) -> int:
        for device in self._ranking(item):
            if self.runs(device)[position]:
                return device
        if not self._devices:
            raise bad_data(
                f"{_named(item)} is supported by no device, for there is none; "
                f"{ENABLED_DEVICES.name} is {ENABLED_DEVICES.get()!r}",
                "compilation.partition.no-devices",
            )
        names = ", ".join(device.name for device in self._devices)
        if any(position == refused for _, refused in self.refused):
            raise op_failed(
                f"{_named(item)}: an output has unknown dimensions and is read on another device; "
                f"no device of {names} can tell them",
                "compilation.partition.unknown-dimensions",
            )
        raise bad_data(
            f"{_named(item)} is supported by no device of: {names}; DEBUG_NN_VLOG=device tells "
            "what each does not run",
            "compilation.partition.unsupported",
        )

    def equal_device(self, chosen: Sequence[int]) -> int | None:
        """The first device that supports all operations with figures not worse than the chosen."""
        if len(set(chosen)) == 1:
            return chosen[0]
        operations = self._model.main.operations
        for device in range(len(self._devices)):
            if all(
                self.figures(item)[device] <= self.figures(item)[best]
                for item, best in zip(operations, chosen, strict=True)
            ) and self.runs_all(device):
                return device
        return None

    def runs_all(self, device: int) -> bool:
        """Whether a device supports every operation."""
        return all(self.runs(device))

    def total(self, device: int) -> float:
        """Sum of a device's figures over all operations."""
        return sum(self.figures(item)[device] for item in self._model.main.operations)

    def refuse(self, device: int, position: int) -> None:
        """Record that a device cannot run an operation at its position."""
        self.runs(device)[position] = False
        self.refused.add((device, position))

    def runs(self, device: int) -> list[bool]:
        """Per operation, whether a device can run it at its position."""
        answer = self._supported[device]
        if answer is None:
            answer = self._supported[device] = supported_by(self._devices[device], self._model)
            if vlog.enabled("device") and not all(answer):
                items = zip(self._model.main.operations, answer, strict=True)
                unable = ", ".join(_named(item) for item, can in items if not can)
                vlog.write("device", f"{self._devices[device].name} does not run {unable}")
        return answer

    def measured(self) -> "Measured | None":
        """The estimated times, if a calibration decides; None if the figures do."""
        if not self._measured:
            self._measured.append(self._by_calibration())
        return self._measured[0]

    def _by_calibration(self) -> "Measured | None":
        is_choice = len(self._devices) > 1 and not self._is_low_power
        if not is_choice or all(is_built_in(device.name) for device in self._devices):
            return None
        from nnapi_shim.runtime.division import measured  # few programs have devices of others

        return measured(self._model, self._devices, self)

    # Figures

    def _ranking(self, item: hal.Operation) -> Sequence[int]:
        """All devices, best first for an operation; ties keep the order of devices."""
        if len(self._devices) < 2:
            return range(len(self._devices))
        if item.type in (OperationType.IF, OperationType.WHILE):
            return _ranked(self.figures(item))
        key = self._model.main.operands[item.inputs[0]].type
        ranking = self._rankings.get(key)
        if ranking is None:
            ranking = self._rankings[key] = _ranked(self.figures(item))
        return ranking

    def figures(self, item: hal.Operation) -> list[float]:
        """Time or power that each device needs for an operation, relative to the CPU.

        As in the reference runtime, the type of the first input decides.
        """
        if item.type in (OperationType.IF, OperationType.WHILE) and not self._graphs:
            for graph in self._model.referenced:
                each = [self.figures_in(graph, inner) for inner in graph.operations]
                self._graphs.append([sum(figures) for figures in zip(*each, strict=True)])
        return self.figures_in(self._model.main, item)

    def figures_in(self, graph: hal.Subgraph, item: hal.Operation) -> list[float]:
        """Figures of an operation of any graph, after those of the graphs that it refers to."""
        operands = graph.operands
        if item.type in (OperationType.IF, OperationType.WHILE):
            inner = [
                operands[index].location.offset
                for index in item.inputs
                if operands[index].lifetime is OperandLifeTime.SUBGRAPH
            ]
            return [
                self._control_flow(device, item.type is OperationType.IF, inner)
                for device in range(len(self._devices))
            ]
        type = operands[item.inputs[0]].type
        figures = self._figures.get(type)
        if figures is None:
            figures = self._figures[type] = [
                self._figure(device, type) for device in range(len(self._devices))
            ]
        return figures

    def _control_flow(self, device: int, is_if: bool, inner: Sequence[int]) -> float:
        """Figures of IF (one of its graphs runs) and WHILE (both run)."""
        capabilities = self._capabilities_of(device)
        own = capabilities.if_performance if is_if else capabilities.while_performance
        graphs = sum(self._graphs[number][device] for number in inner)
        return self._preferred(own) + (graphs / 2 if is_if else graphs)

    def _figure(self, device: int, type: OperandType) -> float:
        capabilities = self._capabilities_of(device)
        if self._model.relax_computation_float32_to_float16:
            if type is OperandType.TENSOR_FLOAT32:
                return self._preferred(capabilities.relaxed_float32_to_float16_performance_tensor)
            if type is OperandType.FLOAT32:
                return self._preferred(capabilities.relaxed_float32_to_float16_performance_scalar)
        return self._preferred(capabilities.operand_performance.get(type, _WORST))

    def _preferred(self, info: hal.PerformanceInfo) -> float:
        return info.power_usage if self._is_low_power else info.exec_time

    def _capabilities_of(self, device: int) -> hal.Capabilities:
        capabilities = self._capabilities[device]
        if capabilities is None:
            try:
                capabilities = self._devices[device].getCapabilities()
            except NnapiError as error:
                name = self._devices[device].name
                log.warning(
                    f"{name} counts as the slowest, it does not say how fast it is: {error}"
                )
                capabilities = hal.Capabilities(_WORST, _WORST, {}, _WORST, _WORST)
            self._capabilities[device] = capabilities
        return capabilities


def _ranked(figures: Sequence[float]) -> list[int]:
    return sorted(range(len(figures)), key=lambda device: figures[device])


def _named(item: hal.Operation) -> str:
    """An operation in a message."""
    return str(operation_place(item.type, item.number))


def _unfit(model: hal.Model, steps: Sequence[Step]) -> list[int]:
    """Operations that their device supports, but not at their position.

    A device of feature level 1 or 2 does not report output dimensions. It cannot pass an operand to
    another step if the model does not declare them either.
    """
    main = model.main
    readers: dict[int, set[int]] = {}
    for number, step in enumerate(steps):
        for position in step.operations:
            for index in main.operations[position].inputs:
                readers.setdefault(index, set()).add(number)
    return [
        position
        for number, step in enumerate(steps)
        if step.device.feature_level < DYNAMIC_OUTPUTS
        for position in step.operations
        if any(
            not hal.is_known(main.operands[index].type, main.operands[index].dimensions)
            and not readers.get(index, set()) <= {number}
            for index in main.operations[position].outputs
        )
    ]
