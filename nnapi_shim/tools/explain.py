"""Explains which device runs each operation of a model, and why other devices do not.

The explanation uses the same device queries and the same partitioning as a compilation. Nothing is
prepared or run, except constant folding of nnapi-cpu.
"""

from collections.abc import Iterable, Iterator, Sequence

from nnapi_shim.api.devices import Choice, chosen
from nnapi_shim.api.names import member
from nnapi_shim.api.view import OperationView
from nnapi_shim.drivers import is_built_in
from nnapi_shim.drivers.cpu.compile.optimize import rewrites
from nnapi_shim.drivers.cpu.device import CpuDevice
from nnapi_shim.drivers.versioned.compliance import (
    LEVEL_OF_HAL,
    Compliance,
    Reason,
    compliance,
)
from nnapi_shim.drivers.versioned.defaults import without_defaults
from nnapi_shim.errors import NnapiError, Place
from nnapi_shim.hal.enums import ExecutionPreference, OperationType
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.types import Extension, Model, Operation, within_extension
from nnapi_shim.operations import operation as declaration_of
from nnapi_shim.runtime import device_manager
from nnapi_shim.runtime.compilation import NEVER, NO_FALLBACK
from nnapi_shim.runtime.fallback import fallback_step
from nnapi_shim.runtime.partitioning import Answers, Step, partitioned, whole
from nnapi_shim.runtime.slicing import sliced
from nnapi_shim.settings import PARTITION
from nnapi_shim.tools.explained_times import times_of
from nnapi_shim.tools.explanation import Explanation as Explanation
from nnapi_shim.tools.explanation import (
    HandOver,
    OperationExplained,
    PassExplained,
    StepExplained,
    Verdict,
    Why,
)
from nnapi_shim.tools.info import specification_level
from nnapi_shim.tools.model_source import Source, model_of
from nnapi_shim.tools.model_source import name_of as source_name
from nnapi_shim.tools.operand_info import operand_info


def explain(
    source: Source,
    devices: Choice | None = None,
    *,
    preference: ExecutionPreference | str = ExecutionPreference.FAST_SINGLE_ANSWER,
) -> Explanation:
    """Explain a model.

    devices: allowed devices, as in Compilation; None: all devices.

    Raises NnapiError for a model that cannot be loaded and an unknown device. If the model cannot
    be compiled, `problem` gives the reason.
    """
    model = model_of(source)
    return _Explainer(
        source_name(source),
        model.finished,
        model.operations,
        model.notes,
        device_manager.devices() if devices is None else chosen(devices),
        devices is not None,
        member(ExecutionPreference, preference),
    ).explanation()


class _Explainer:
    """Collects the facts of an explanation."""

    def __init__(
        self,
        name: str,
        model: Model,
        views: Sequence[OperationView],
        notes: tuple[str, ...],
        devices: Sequence[IDevice],
        is_named: bool,
        preference: ExecutionPreference,
    ) -> None:
        self.name = name
        self.model = model
        self.views = views
        self.notes = notes
        self.devices = devices
        self.is_named = is_named
        self.preference = preference
        self.figure = "power_usage" if preference is ExecutionPreference.LOW_POWER else "exec_time"
        self.levels = compliance(model)
        self.levels_without_defaults = compliance(without_defaults(model))
        self.answers = Answers(model, devices, preference)
        self._own_reasons: dict[int, list[str]] = {}
        self.is_whole = not is_named and PARTITION.get() == NEVER
        self.own = [self._answered(device) for device in devices]
        """Per device: whether it supports each operation, or its error message."""
        self.times = times_of(devices, self.answers)
        self.problem = ""
        self.steps: list[Step] = []
        try:
            find = whole if self.is_whole else partitioned
            self.steps = find(model, devices, preference, self.answers)
        except NnapiError as error:
            self.problem = error.message
        self.step_of = {
            position: number
            for number, step in enumerate(self.steps)
            for position in step.operations
        }

    def _answered(self, device: IDevice) -> list[bool] | str:
        try:
            answer = list(device.getSupportedOperations(self.model))
        except NnapiError as error:
            return error.message
        count = len(self.model.main.operations)
        if len(answer) != count:
            return f"it answers for {len(answer)} operations; the model has {count}"
        return answer

    def explanation(self) -> Explanation:
        """The complete explanation."""
        hand_overs = tuple(self._hand_overs())
        steps = tuple(
            StepExplained(
                number,
                step.device.name,
                tuple(self.views[position].number for position in step.operations),
                _sum(item.operand.bytes for item in hand_overs if item.to_step == number),
            )
            for number, step in enumerate(self.steps)
        )
        return Explanation(
            self.name,
            self.preference,
            self.figure,
            tuple(device.name for device in self.devices),
            self._left_out(),
            self._decision(),
            self.problem,
            self._fallback(),
            tuple(map(self._operation, range(len(self.views)))),
            steps,
            hand_overs,
            _sum(item.operand.bytes for item in hand_overs),
            tuple(self._passes()),
            self.notes,
            () if self.times is None or not steps else tuple(self.times.divisions(self.steps)),
        )

    def _passes(self) -> Iterator[PassExplained]:
        """The rewrites of nnapi-cpu's passes in its steps."""
        parts = [list(step.operations) for step in self.steps]
        for number, step in enumerate(self.steps):
            if step.device.name == CpuDevice.name:
                is_all = len(parts) == 1
                model = self.model if is_all else sliced(self.model, parts)[number].model
                for rewrite in rewrites(model):
                    assert isinstance(rewrite.where, Place)
                    yield PassExplained(rewrite.name, rewrite.where.number, rewrite.text)

    def _left_out(self) -> dict[str, str]:
        if not self.is_named:
            return device_manager.left_out()
        names = {device.name for device in self.devices}
        others = {
            device.name: "not among the devices that were named"
            for device in device_manager.devices()
            if device.name not in names
        }
        return others | device_manager.left_out()

    def _fallback(self) -> str:
        """The fallback device of a compilation; "" if the program names its devices."""
        is_off = self.is_named or PARTITION.get() == NO_FALLBACK
        if is_off or all(is_built_in(step.device.name) for step in self.steps):
            return ""
        step = fallback_step(self.model, self.devices, self.steps)
        return "" if step is None else step.device.name

    def _decision(self) -> str:
        if self.problem:
            return "no device, or no order of devices, runs all of it"
        devices = list(dict.fromkeys(step.device.name for step in self.steps))
        if self.is_whole:
            sums = "figures" if self.times is None else "estimated times"
            return f"{PARTITION.name} is {NEVER}: {devices[0]} has the best sum of all {sums}"
        if len(self.devices) == 1:
            return f"{devices[0]} is the only device"
        if self.times is not None:
            return self.times.decision()
        if len(devices) > 1:
            return f"each operation goes to the device with the best {self.figure} that runs it"
        return f"{devices[0]} is the best, or as good as the best, for every operation"

    def _operation(self, position: int) -> OperationExplained:
        view, compliance_of = (
            self.views[position],
            self.levels_without_defaults.operations[position],
        )
        step = self.step_of.get(position)
        return OperationExplained(
            view.number,
            view.name,
            tuple(map(operand_info, view.inputs)),
            tuple(map(operand_info, view.outputs)),
            compliance_of.level,
            tuple(map(_why, compliance_of.reasons)),
            "" if step is None else self.steps[step].device.name,
            step,
            tuple(self._verdict(position, device) for device in range(len(self.devices))),
        )

    # Verdicts

    def _verdict(self, position: int, device: int) -> Verdict:
        item = self.model.main.operations[position]
        step = self.step_of.get(position)
        is_chosen = step is not None and self.steps[step].device is self.devices[device]
        answer = self.own[device]
        runs = not isinstance(answer, str) and answer[position]
        figure: float | None = self.answers.figures(item)[device]
        if (device, position) in self.answers.refused:
            text = (
                "an output has unknown dimensions and is read on another device, and devices of "
                "feature level 1 and 2 do not tell them"
            )
            runs, reasons = False, [Why("dynamic", text, 3)]
        elif not runs:
            reasons = self._missing(position, device)
        elif is_chosen:
            reasons = [self._chosen(position, device)]
        else:
            reasons = [self._passed_over(position, device)]
        seconds = self.times.seconds(position, device) if self.times and runs else None
        return Verdict(self.devices[device].name, runs, is_chosen, figure, tuple(reasons), seconds)

    def _others(self, position: int, device: int) -> list[int]:
        """The other devices that can run an operation at its position."""
        return [
            other
            for other in range(len(self.devices))
            if other != device and self.answers.runs(other)[position]
        ]

    def _chosen(self, position: int, device: int) -> Why:
        others = self._others(position, device)
        if not others:
            return Why("only", "no other device runs it")
        if self.is_whole:
            return Why("whole", f"the whole model runs on one device; {PARTITION.name} is {NEVER}")
        if self.times is not None:
            return self.times.chosen(position, device, others)
        figures = self.answers.figures(self.model.main.operations[position])
        best = min(others, key=lambda other: figures[other])
        compared = f"{figures[device]:g}, {self.devices[best].name} {figures[best]:g}"
        of = f"{self.figure} for {self._figure_of(position)}: {compared}"
        if figures[device] < figures[best]:
            return Why("figure", of)
        if best < device:
            return Why("whole", f"{of}, and it runs the whole model")
        return Why("order", f"{of}; of equal ones the first in the list")

    def _passed_over(self, position: int, device: int) -> Why:
        step = self.step_of.get(position)
        if step is None:
            return Why("problem", "it runs this, but the model cannot be compiled")
        figures = self.answers.figures(self.model.main.operations[position])
        winner = next(
            number for number, other in enumerate(self.devices) if other is self.steps[step].device
        )
        name = self.devices[winner].name
        if self.is_whole:
            return Why("whole", f"{name} runs the whole model; {PARTITION.name} is {NEVER}")
        if self.times is not None:
            return self.times.passed_over(position, device, winner)
        of = f"{self.figure} for {self._figure_of(position)}: {figures[device]:g}"
        if figures[winner] < figures[device]:
            return Why("figure", f"{of}, {name} {figures[winner]:g}")
        if winner < device:
            return Why("order", f"{of}, as {name}, which is listed first")
        return Why("whole", f"{of}, as {name}, which runs the whole model")

    def _figure_of(self, position: int) -> str:
        """The operand type or operation whose performance figure applies to an operation."""
        item = self.model.main.operations[position]
        if item.type in (OperationType.IF, OperationType.WHILE):
            return OperationType(item.type).name
        kind = self.model.main.operands[item.inputs[0]].type
        relaxed = self.model.relax_computation_float32_to_float16 and "FLOAT32" in str(
            getattr(kind, "name", "")
        )
        return f"{'relaxed ' if relaxed else ''}{getattr(kind, 'name', 'an extension type')}"

    def _missing(self, position: int, device: int) -> list[Why]:
        """The reasons why a device does not support an operation."""
        driver, answer = self.devices[device], self.own[device]
        if isinstance(answer, str):
            return [Why("answer", f"it does not say what it runs: {answer}")]
        own = self._reasons_of(device)
        if own[position:] and own[position]:
            return [Why("driver", own[position])]
        item = self.model.main.operations[position]
        hal = getattr(driver, "hal", "")
        if hal:
            return self._beyond(
                self.levels_without_defaults, position, LEVEL_OF_HAL[hal], f"HAL {hal}"
            )
        if not isinstance(item.type, OperationType):
            return [self._no_extension(item, driver)]
        if is_built_in(driver.name):
            return [self._undeclared(position)]
        return self._beyond(self.levels, position, specification_level(driver), "the device")

    def _reasons_of(self, device: int) -> list[str]:
        """A device's own reasons, asked for once; none if it has none, or fails."""
        if device not in self._own_reasons:
            ask = getattr(self.devices[device], "getReasons", None)
            try:
                self._own_reasons[device] = [] if ask is None else ask(self.model)
            except NnapiError as error:
                self._own_reasons[device] = [error.message] * len(self.model.main.operations)
        return self._own_reasons[device]

    def _beyond(self, levels: Compliance, position: int, has: int, who: str) -> list[Why]:
        reasons = [
            Why(
                reason.rule,
                f"{reason.text}: needs level {reason.level}, {who} has {has}",
                reason.level,
            )
            for reason in levels.operations[position].reasons
            if reason.level > has
        ]
        if reasons:
            return reasons
        return [Why("driver", "the driver says that it does not run it, at a level that it has")]

    def _no_extension(self, item: Operation, driver: IDevice) -> Why:
        name, code = within_extension(self.model, item.type)
        known: tuple[Extension, ...] = getattr(driver, "getSupportedExtensions", tuple)()
        if name and name not in {extension.name for extension in known}:
            return Why("extension", f"the device does not have the extension {name}")
        return Why("driver", f"the driver says that it does not run operation {code} of {name}")

    def _undeclared(self, position: int) -> Why:
        item = self.model.main.operations[position]
        operands = self.model.main.operands
        assert isinstance(item.type, OperationType)
        try:
            declaration_of(item.type).match(
                tuple(operands[index].type for index in item.inputs),
                tuple(operands[index].type for index in item.outputs),
            )
        except NnapiError as error:
            return Why("operation", error.message)
        return Why("graph", "an operation in one of its graphs is not declared")

    # Data that steps exchange

    def _hand_overs(self) -> list[HandOver]:
        written: dict[int, int] = {}
        hand_overs: dict[tuple[int, int], HandOver] = {}
        for position, view in enumerate(self.views):
            if position in self.step_of:
                for operand in view.outputs:
                    written[operand.index] = self.step_of[position]
        for position, view in enumerate(self.views):
            to = self.step_of.get(position)
            for operand in view.inputs:
                source = written.get(operand.index)
                if to is None or source is None or source == to:
                    continue
                hand_overs[operand.index, to] = HandOver(
                    operand_info(operand),
                    source,
                    self.steps[source].device.name,
                    to,
                    self.steps[to].device.name,
                )
        return sorted(hand_overs.values(), key=lambda item: (item.to_step, item.operand.index))


def _why(reason: Reason) -> Why:
    return Why(reason.rule, reason.text, reason.level)


def _sum(sizes: Iterable[int | None]) -> int | None:
    """The sum; None if a size is unknown."""
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total
