"""What `explain` tells: the classes of its report."""

from dataclasses import dataclass

from nnapi_shim.hal.enums import ExecutionPreference
from nnapi_shim.tools.operand_info import OperandInfo
from nnapi_shim.tools.report import Report


@dataclass(frozen=True)
class Why:
    """A reason. rule: what decided: `figure`, `order`, `only`, `whole`; or what is missing:
    `operation`, `types`, `form`, `rank`, `quantization`, `operand type`, `extension`, `driver`,
    `answer`, `dynamic`, or the name of a rule of the declaration. level: the feature level that
    is needed, where that is the reason. text: the same in words.
    """

    rule: str
    text: str
    level: int | None = None


@dataclass(frozen=True)
class Verdict:
    """What a device is to an operation.

    runs: whether it runs it where it stands. is_chosen: whether it is the one that does. figure:
    the time, or power, that it says it needs relative to the CPU; None where it says nothing.
    reasons: why it is chosen, or why not.
    """

    device: str
    runs: bool
    is_chosen: bool
    figure: float | None
    reasons: tuple[Why, ...]


@dataclass(frozen=True)
class OperationExplained:
    """An operation, in the order in which they run.

    number: of its addOperation call. level: the lowest feature level that has this use of it,
    without inputs that say what leaving them out says; newer: what makes that higher than 1.
    device: "" where none runs it. step: None there.
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
        """Why it runs where it does, in words."""
        chosen_one = next((item for item in self.verdicts if item.is_chosen), None)
        return "; ".join(why.text for why in chosen_one.reasons) if chosen_one else ""


@dataclass(frozen=True)
class StepExplained:
    """Operations, by their numbers, that a device runs as one prepared model.

    bytes_in: of what it reads that earlier steps have written; None where a run decides them.
    """

    number: int
    device: str
    operations: tuple[int, ...]
    bytes_in: int | None


@dataclass(frozen=True)
class PassExplained:
    """What a pass over the graph does when nnapi-cpu prepares it.

    name: of the pass. operation: the number of the one that it is about. what: in words.
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
    """Who runs what.

    preference: what counts: exec_time, or power_usage for LOW_POWER. decision: how devices were
    chosen, in words. problem: why the model cannot be compiled like this, or "". left_out: devices
    that are there and do not take part, by name, with the reason. fallback: the device that runs
    the whole model where another one fails, or "". handed_over_bytes: of all
    hand-overs together, each once for each step that reads it; None where a run decides them.
    passes: what becomes of operations on nnapi-cpu. notes: what of the model's file is expressed
    otherwise than it stands there.
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
