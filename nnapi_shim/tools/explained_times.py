"""What `explain` says of estimated times, if a calibration decides."""

from collections.abc import Iterator, Sequence

from nnapi_shim.errors import NnapiError
from nnapi_shim.hal.interfaces import IDevice
from nnapi_shim.runtime.division import NOISE, Division, Measured
from nnapi_shim.runtime.partitioning import Answers, Step
from nnapi_shim.tools.explanation import DivisionExplained, Why
from nnapi_shim.units import duration, percent


def times_of(devices: Sequence[IDevice], answers: Answers) -> "Times | None":
    """The estimated times of the model of these answers; None if declared figures decide."""
    measured = answers.measured()
    return None if measured is None else Times(measured, devices, answers)


class Times:
    """The estimated times of a model on devices."""

    def __init__(self, measured: Measured, devices: Sequence[IDevice], answers: Answers) -> None:
        self._measured = measured
        self._devices = devices
        self._answers = answers

    def seconds(self, position: int, device: int) -> float:
        """The estimated time of an operation on a device."""
        return self._measured.costs.operations[device][position]

    def decision(self) -> str:
        """How devices were chosen, in words."""
        made = self._measured.calibration.made
        return f"the division with the least estimated time, by the calibration of {made}"

    def chosen(self, position: int, device: int, others: Sequence[int]) -> Why:
        """Why a device is chosen for an operation that others run, too."""
        best = min(others, key=lambda other: self.seconds(position, other))
        return Why("time", self._compared(position, device, best))

    def passed_over(self, position: int, device: int, winner: int) -> Why:
        """Why the winner is chosen, and not this device."""
        return Why("time", self._compared(position, device, winner, is_chosen=False))

    def _compared(self, position: int, one: int, other: int, is_chosen: bool = True) -> str:
        own, its = self.seconds(position, one), self.seconds(position, other)
        text = f"estimated time: {duration(own)}, {self._devices[other].name} {duration(its)}"
        is_faster_chosen = own <= its if is_chosen else its <= own
        more = f"; no other division that was tried saves {percent(NOISE)} of the whole time"
        return text if is_faster_chosen else text + more

    def divisions(self, steps: Sequence[Step]) -> Iterator[DivisionExplained]:
        """The division into these steps, each device alone, and the division by figures."""
        count = len(self._answers.runs(0))
        chosen = [0] * count
        for step in steps:
            number = next(at for at, each in enumerate(self._devices) if each is step.device)
            for position in step.operations:
                chosen[position] = number
        yield self._explained("chosen", self._measured.of(chosen))
        for device, each in enumerate(self._devices):
            if self._answers.runs_all(device):
                yield self._explained(f"{each.name} alone", self._measured.of([device] * count))
        try:
            best = self._answers.best_devices()
        except NnapiError:  # a device cannot run an operation at its position
            return
        one = self._answers.equal_device(best)
        by_figures = best if one is None else [one] * count
        yield self._explained("by figures", self._measured.of(by_figures))

    def _explained(self, what: str, division: Division) -> DivisionExplained:
        return DivisionExplained(
            what,
            tuple(self._devices[device].name for device, _ in division.steps),
            division.estimate.total,
            *division.estimate,
        )
