"""The report classes of `explain`."""

from dataclasses import dataclass

from nnapi_shim.hal.enums import ExecutionPreference
from nnapi_shim.tools.operand_info import OperandInfo
from nnapi_shim.tools.report import Report


@dataclass(frozen=True)
class Why:
    """A reason. rule: the deciding criterion: `figure`, `time`, `order`, `only`, `whole`; or the
    missing support: `operation`, `types`, `form`, `rank`, `quantization`, `operand type`,
    `extension`, `driver`, `answer`, `dynamic`, or the name of a rule of the declaration. level: the
    required feature level, if that is the reason. text: the reason in words.
    """

    rule: str
    text: str
    level: int | None = None


@dataclass(frozen=True)
class Verdict:
    """A device's role for an operation.

    runs: whether the device can run the operation at its position. is_chosen: whether it is chosen
    to. figure: its declared time or power relative to the CPU; None if it declares none.
    reasons: why it is chosen, or why not. seconds: its estimated time for the operation, if a
    calibration decides.
    """

    device: str
    runs: bool
    is_chosen: bool
    figure: float | None
    reasons: tuple[Why, ...]
    seconds: float | None = None


@dataclass(frozen=True)
class OperationExplained:
    """An operation; operations are listed in execution order.

    number: of its addOperation call. level: the lowest feature level that has this use of it,
    not counting inputs with their default values; newer: the reasons for a level above 1.
    device, step: "" and None if no device runs it.
    """

    number: int
    name: str
    inputs: tuple[OperandInfo, ...]
    outputs: tuple[OperandInfo, ...]
    level: int
    newer: tuple[Why, ...]
    device: str
    step: int | None
    verdicts: tuple[Verdict, ...]

    @property
    def why(self) -> str:
        """The reasons for the chosen device, in words."""
        chosen_one = next((item for item in self.verdicts if item.is_chosen), None)
        return "; ".join(why.text for why in chosen_one.reasons) if chosen_one else ""


@dataclass(frozen=True)
class StepExplained:
    """Operations, by their numbers, that a device runs as one prepared model.

    bytes_in: size of its inputs from earlier steps; None if only a run determines it.
    """

    number: int
    device: str
    operations: tuple[int, ...]
    bytes_in: int | None


@dataclass(frozen=True)
class DivisionExplained:
    """A division of the model over devices, with its estimated time in seconds.

    what: `chosen`, `by figures`, or a device that runs all of it, such as `nnapi-cpu alone`.
    devices: of its steps, in order. seconds: the sum of computing, calls and handing_over.
    """

    what: str
    devices: tuple[str, ...]
    seconds: float
    computing: float
    calls: float
    handing_over: float


@dataclass(frozen=True)
class PassExplained:
    """A rewrite by a pass of nnapi-cpu.

    name: of the pass. operation: number of the rewritten operation. what: description.
    """

    name: str
    operation: int
    what: str


@dataclass(frozen=True)
class HandOver:
    """An operand that one step writes and another reads."""

    operand: OperandInfo
    from_step: int
    from_device: str
    to_step: int
    to_device: str


@dataclass(frozen=True)
class Explanation(Report):
    """The assignment of operations to devices.

    figure: the deciding performance figure: exec_time, or power_usage for the preference LOW_POWER.
    decision: how devices were chosen, in words. problem: why the model cannot be compiled, or "".
    left_out: excluded devices, name -> reason. fallback: the device that runs the whole model if
    another one fails, or "". handed_over_bytes: sum of all hand-overs, each counted once for each
    step that reads it; None if only a run determines it. passes: rewrites of nnapi-cpu. notes:
    parts of the model's file that the model expresses differently. divisions: with a calibration,
    estimates for this division and for others; the chosen one first.
    """

    model: str
    preference: ExecutionPreference
    figure: str
    devices: tuple[str, ...]
    left_out: dict[str, str]
    decision: str
    problem: str
    fallback: str
    operations: tuple[OperationExplained, ...]
    steps: tuple[StepExplained, ...]
    hand_overs: tuple[HandOver, ...]
    handed_over_bytes: int | None
    passes: tuple[PassExplained, ...] = ()
    notes: tuple[str, ...] = ()
    divisions: tuple[DivisionExplained, ...] = ()
