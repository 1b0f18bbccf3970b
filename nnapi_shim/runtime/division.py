"""Divides a model over devices so that its estimated time is least.

The estimate of a division is exact for its steps: the operations, a call for each step, and every
operand that is handed over. A search over all divisions would take too long; so the best of a few
is taken: one device alone, the one by figures, and the one that dynamic programming finds, which is
then improved by moving steps, and operations at their edges, to other devices.
"""

from math import inf

from nnapi_shim.drivers.engines.rules import inferred
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.hal.types import Model, Operation, Subgraph
from nnapi_shim.hints import Iterator, NamedTuple, Protocol, Sequence
from nnapi_shim.limits import look, watched
from nnapi_shim.runtime.calibration import Calibration
from nnapi_shim.runtime.costs import Costs, applicable
from nnapi_shim.runtime.costs import costs as costs_of
from nnapi_shim.runtime.step_order import in_steps

NOISE = 0.15
"""Share of the time by which a division with more steps has to be better: estimates are rough."""

_MOST_OPERATIONS = 6_000
"""Operations of all divisions that are looked at while steps are moved."""


class Estimate(NamedTuple):
    """The estimated time of a division, in seconds. calls: those of changes included."""

    computing: float
    calls: float
    handing_over: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.computing + self.calls + self.handing_over


class IAnswers(Protocol):
    """What devices answered about the model (partitioning.Answers)."""

    def runs(self, device: int) -> list[bool]:
        """Per operation, whether a device can run it."""

    def figures_in(self, graph: Subgraph, item: Operation) -> list[float]:
        """The declared figures of all devices for an operation."""


class Division(NamedTuple):
    """The device of each operation, the steps (as `in_steps` gives them), and their time."""

    chosen: Sequence[int]
    steps: Sequence[tuple[int, tuple[int, ...]]]
    estimate: Estimate


class Measured:
    """Divisions of a model over devices, by a calibration."""

    def __init__(
        self, model: Model, devices: Sequence[IDevice], calibration: Calibration, answers: IAnswers
    ) -> None:
        model = inferred(model)
        self.costs = costs_of(model, devices, calibration, answers.figures_in)
        self.calibration = calibration
        self._model = model
        self._answers = answers
        self._devices = range(len(devices))

    def best(self, by_figures: Sequence[int]) -> Division:
        """The best division found; by_figures: as in `divided`."""
        runs = [self._answers.runs(device) for device in self._devices]
        return divided(self._model, self.costs, runs, by_figures)

    def of(self, chosen: Sequence[int]) -> Division:
        """The division that gives each operation to this device."""
        return estimated(self._model, self.costs, chosen)

    def alone(self, device: int) -> float:
        """The estimated time of a device that runs everything, in seconds."""
        return self.of([device] * len(self._model.main.operations)).estimate.total


def measured(model: Model, devices: Sequence[IDevice], answers: IAnswers) -> Measured | None:
    """Divisions by the calibration of this machine; None if declared figures decide."""
    calibration = applicable(devices) if model.main.operations else None
    return None if calibration is None else Measured(model, devices, calibration, answers)


def divided(
    model: Model, costs: Costs, runs: Sequence[Sequence[bool]], by_figures: Sequence[int]
) -> Division:
    """The best division found.

    runs: device -> whether it runs each operation. by_figures: the device of each operation by
    declared figures, which is kept unless another division is better by more than NOISE.
    """
    first = estimated(model, costs, by_figures)
    found = [first]
    for device, answers in enumerate(runs):
        if all(answers):
            found.append(estimated(model, costs, [device] * len(answers)))
    found.append(_moved(model, costs, runs, estimated(model, costs, _cheapest(model, costs, runs))))
    least = min(division.estimate.total for division in found)
    good = [each for each in found if each.estimate.total <= least * (1 + NOISE)]
    fewest = min(len(each.steps) for each in good)
    good = [each for each in good if len(each.steps) == fewest]
    if first in good:
        return first
    return min(good, key=lambda division: division.estimate.total)


def estimated(model: Model, costs: Costs, chosen: Sequence[int]) -> Division:
    """A division with its estimate."""
    steps = in_steps(model, chosen)
    step_of = [0] * len(chosen)
    for number, (_, operations) in enumerate(steps):
        for position in operations:
            step_of[position] = number
    computing = sum(costs.operations[device][at] for at, device in enumerate(chosen))
    calls = sum(costs.calls[device] for device, _ in steps)
    if len(steps) > 1:
        calls += costs.step * len(steps)
        after = [*steps[1:], steps[0]]  # runs follow each other
        calls += sum(costs.changes[one[0]][two[0]] for one, two in zip(steps, after, strict=True))
    estimate = Estimate(computing, calls, _handing_over(model, costs, chosen, step_of))
    return Division(chosen, steps, estimate)


def _handing_over(
    model: Model, costs: Costs, chosen: Sequence[int], step_of: Sequence[int]
) -> float:
    """Each operand that leaves a step, once; each that enters one, once per step."""
    main = model.main
    writer = {index: at for at, item in enumerate(main.operations) for index in item.outputs}
    given, outputs = set(main.input_indexes), set(main.output_indexes)
    leaving = {index: chosen[writer[index]] for index in outputs if index in writer}
    entering: dict[tuple[int, int], int] = {}
    for at, item in enumerate(main.operations):
        for index in item.inputs:
            source = writer.get(index)
            if source is not None and step_of[source] != step_of[at]:
                leaving[index] = chosen[source]
            elif source is not None or index not in given:
                continue  # written in the same step, or a constant
            entering[index, step_of[at]] = chosen[at]
    left = sum(costs.rates[device][index] for index, device in leaving.items())
    return left + sum(costs.rates[device][index] for (index, _), device in entering.items())


def _cheapest(model: Model, costs: Costs, runs: Sequence[Sequence[bool]]) -> list[int]:
    """The devices of the best division into several steps, by dynamic programming over the order of
    the operations.

    A change of the device costs a call, and all operands that are written before it and read behind
    it; so one that is handed on over several changes counts more often than it costs.
    """
    found = [
        _cheapest_from(first, model, costs, runs)
        for first, answers in enumerate(runs)
        if answers[0]
    ]
    return min(found)[1]


def _cheapest_from(
    first: int, model: Model, costs: Costs, runs: Sequence[Sequence[bool]]
) -> tuple[float, list[int]]:
    """The time and the devices, with this one first: the change from the last to it counts."""
    operations = model.main.operations
    devices = range(len(runs))
    last: dict[int, int] = {}
    for at, item in enumerate(operations):
        last.update(dict.fromkeys(item.inputs, at))
    given, asked = set(model.main.input_indexes), set(model.main.output_indexes)
    live = [0.0 for _ in devices]
    written: set[int] = set()
    best: list[float] = []
    before: list[list[int]] = []
    for at, item in enumerate(watched(operations)):
        can = [runs[device][at] and (at > 0 or device == first) for device in devices]
        came, best = _extended(costs, best, live, can)
        before.append(came)
        handed = [*given.intersection(item.inputs), *asked.intersection(item.outputs)]
        given.difference_update(item.inputs)
        best = [
            each + costs.operations[device][at] + sum(map(costs.rates[device].__getitem__, handed))
            for device, each in enumerate(best)
        ]
        gone = [index for index in {*item.inputs} & written if last[index] == at]
        new = [index for index in item.outputs if last.get(index, at) > at]
        written.update(new)
        for device in devices:
            rates = costs.rates[device]
            live[device] += sum(map(rates.__getitem__, new)) - sum(map(rates.__getitem__, gone))
    total = [each + costs.changes[device][first] for device, each in enumerate(best)]
    device = min(devices, key=total.__getitem__)
    time, chosen = total[device], []
    for came in reversed(before):
        chosen.append(device)
        device = came[device]
    return time, chosen[::-1]


def _extended(
    costs: Costs, best: Sequence[float], live: Sequence[float], can: Sequence[bool]
) -> tuple[list[int], list[float]]:
    """For each device on which the next operation runs: the best device before, and the time.

    best: the least time of everything before, by its last device; empty at the start. live: the
    time to hand over, to or from each device, what is read later. can: who runs the operation.
    """
    came, result = [], []
    for device, is_able in enumerate(can):
        call = costs.calls[device]
        if not best:
            came.append(device)
            result.append(call + costs.step if is_able else inf)
            continue
        entered = [
            time
            if other == device
            else time
            + (live[other] + live[device] + call + costs.step + costs.changes[other][device])
            for other, time in enumerate(best)
        ]
        first = min(range(len(entered)), key=entered.__getitem__)
        came.append(first)
        result.append(entered[first] if is_able else inf)
    return came, result


def _moved(
    model: Model, costs: Costs, runs: Sequence[Sequence[bool]], division: Division
) -> Division:
    """A division after moves to other devices, as long as they make it better: of steps, and of
    operations at their edges.
    """
    tries = max(8, _MOST_OPERATIONS // len(division.chosen))
    while len(division.steps) > 1:
        better = None
        for operations in (*[each for _, each in division.steps], *_at_edges(model, division)):
            own = division.chosen[operations[0]]
            for device, answers in enumerate(runs):
                if device == own or not all(answers[at] for at in operations):
                    continue
                tries -= 1
                if tries < 0:
                    return division
                look()
                chosen = list(division.chosen)
                for at in operations:
                    chosen[at] = device
                other = estimated(model, costs, chosen)
                if better is None or other.estimate.total < better.estimate.total:
                    better = other
        if better is None or better.estimate.total >= division.estimate.total:
            break
        division = better
    return division


def _at_edges(model: Model, division: Division) -> Iterator[tuple[int]]:
    """Each operation that exchanges operands with one on another device."""
    writer = {index: at for at, item in enumerate(model.main.operations) for index in item.outputs}
    found: set[int] = set()
    for at, item in enumerate(model.main.operations):
        for index in item.inputs:
            source = writer.get(index, at)
            if division.chosen[source] != division.chosen[at]:
                found.update((source, at))
    return ((at,) for at in sorted(found))
