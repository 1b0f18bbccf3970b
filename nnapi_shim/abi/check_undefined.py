"""Checks of what works here, and is undefined on Android or answered otherwise.

`undefined` has the calls of docs/deviations.md that succeed here, `lifetime` the order in which
objects are freed: Android's runtime does not count references.
"""

from nnapi_shim.abi import tables
from nnapi_shim.abi.check_report import CheckReport
from nnapi_shim.hal.enums import OperandLifeTime, OperandType, OperationType
from nnapi_shim.hal.types import Model, element_count
from nnapi_shim.hints import Any, Callable
from nnapi_shim.recording.vocabulary import RUNS

IDENTIFY = "Model_identifyInputsAndOutputs"
_HALF_WAY = (
    "model.identify-inputs-and-outputs.lifetime",
    "model.identify-inputs-and-outputs.twice",
)
_PREFIX = "ANeuralNetworks"
_LOOPS = (OperationType.WHILE,)
_CONTROL_FLOW = (OperationType.IF, *_LOOPS)
_SEEDS = 2
"""Which input of a RANDOM_MULTINOMIAL has the seeds."""


def _has(model: Model, kinds: tuple[OperationType, ...]) -> bool:
    """Whether a model has an operation of one of these kinds."""
    graphs = (model.main, *model.referenced)
    return any(item.type in kinds for graph in graphs for item in graph.operations)


class UndefinedCalls:
    """Calls that are undefined, or answered otherwise, on Android.

    after: function -> what is done after a call that succeeds.
    """

    def __init__(self, report: CheckReport, named: Callable[[int], str]) -> None:
        """named: an object in a message."""
        self._report = report
        self._named = named
        self._half: set[int] = set()
        """Models whose inputs and outputs could not be identified."""
        self._limited: set[int] = set()
        """Compilations with a timeout."""
        self._no_time: set[int] = set()
        """Executions with a loop timeout of 0."""
        self._explicit: dict[int, int] = {}
        """Memory descriptor -> a compilation of its roles with control flow, for named devices."""
        self.after: dict[str, Callable[..., None]] = {
            IDENTIFY: self._identified,
            "Model_finish": self._finished,
            "Compilation_setTimeout": self._set(self._limited, is_hit=bool),
            "Compilation_finish": self._compiled,
            "Execution_setLoopTimeout": self._set(self._no_time, is_hit=lambda ns: ns == 0),
            "MemoryDesc_addInputRole": self._has_role,
            "MemoryDesc_addOutputRole": self._has_role,
            "Memory_createFromDesc": self._allocated,
            **{name.removeprefix(_PREFIX): self._ran for name in RUNS},
        }

    def _set(self, kept: set[int], is_hit: Callable[[int], bool]) -> Callable[..., None]:
        def note(handle: int, value: int) -> None:
            (kept.add if is_hit(value) else kept.discard)(handle)

        return note

    def _finding(self, about: int, text: str, deviation: str) -> None:
        self._report.finding("undefined", (about, deviation), f"{text} ({deviation})")

    def not_identified(self, model: int, rule: str) -> None:
        """The inputs and outputs of a model were refused; those before the wrong one are marked."""
        if rule in _HALF_WAY:
            self._half.add(model)

    def _identified(self, model: int, *_: Any) -> None:
        if model in self._half:
            text = f"{self._named(model)} is used although {_PREFIX}{IDENTIFY} has failed; on "
            self._finding(model, f"{text}Android it can only be freed", "identify-half-way")

    def _finished(self, model: int) -> None:
        finished = tables.models[model].hal
        if finished is None:
            return
        name = self._named(model)
        for graph in (finished.main, *finished.referenced):
            for item in graph.operations:
                if item.type is OperationType.RANDOM_MULTINOMIAL:
                    seeds = graph.operands[item.inputs[_SEEDS]]
                    if element_count(seeds.dimensions) == 1:
                        text = f"RANDOM_MULTINOMIAL of {name} has one seed; Android reads two"
                        self._finding(model, text, "one-seed")
            for operand in graph.operands:
                if operand.type is OperandType.BOOL and _is_odd(operand, finished):
                    text = f"a BOOL of {name} is neither 0 nor 1"
                    self._finding(model, text, "bool-bytes")

    def _compiled(self, compilation: int) -> None:
        if compilation in self._limited and _has(
            tables.compilations[compilation].hal, _CONTROL_FLOW
        ):
            text = f"{self._named(compilation)} has IF or WHILE and a timeout, which ends the "
            self._finding(compilation, f"{text}process on Android", "aborts")

    def _has_role(self, desc: int, compilation: int, *_: Any) -> None:
        item = tables.compilations[compilation]
        if item.explicit and _has(item.hal, _CONTROL_FLOW):
            self._explicit[desc] = compilation

    def _allocated(self, desc: int, _: int) -> None:
        compilation = self._explicit.get(desc)
        if compilation is not None:
            text = f"a memory with a role of {self._named(compilation)}, which has IF or WHILE and "
            more = "named devices, cannot be made on Android"
            self._finding(compilation, text + more, "memory-for-control-flow")

    def _ran(self, execution: int, *_: Any) -> None:
        if execution not in self._no_time:
            return
        compilation = tables.executions[execution].compilation
        if _has(compilation.hal, _LOOPS):
            text = (
                f"{self._named(execution)} has a WHILE and a loop timeout of 0, which Android may"
            )
            self._finding(execution, f"{text} answer with MISSED_DEADLINE", "loop-without-rounds")


def _is_odd(operand: Any, model: Model) -> bool:
    """Whether the value of a BOOL constant is neither 0 nor 1."""
    if operand.lifetime is not OperandLifeTime.CONSTANT_COPY:
        return False
    return model.operand_values[operand.location.offset] > 1


class Lifetimes:
    """The objects that others must outlive.

    after: function -> what is done after a call that succeeds.
    """

    def __init__(
        self, report: CheckReport, named: Callable[[int], str], is_alive: Callable[[int], bool]
    ) -> None:
        """named: an object in a message. is_alive: whether an object is not freed."""
        self._report = report
        self._named = named
        self._is_alive = is_alive
        self._users: dict[int, set[int]] = {}
        """Object -> those that it must outlive."""
        self._orphans: dict[int, tuple[int, str]] = {}
        """Object -> the first one freed that had to outlive it, and its name."""
        self.after: dict[str, Callable[..., None]] = {
            "Model_setOperandValueFromMemory": self._uses(by=0, used=2),
            "Model_setOperandValueFromModel": self._uses(by=0, used=2),
            "MemoryDesc_addInputRole": self._uses(by=0, used=1),
            "MemoryDesc_addOutputRole": self._uses(by=0, used=1),
            "Execution_setInputFromMemory": self._uses(by=0, used=3),
            "Execution_setOutputFromMemory": self._uses(by=0, used=3),
        }

    def _uses(self, by: int, used: int) -> Callable[..., None]:
        """by, used: which arguments they are."""

        def note(*arguments: Any) -> None:
            self._users.setdefault(arguments[used], set()).add(arguments[by])

        return note

    def made(self, handle: int, owner: int) -> None:
        """An object was made of another one."""
        self._users.setdefault(owner, set()).add(handle)

    def used(self, handle: int) -> None:
        """An object is about to be used or freed."""
        if handle in self._orphans:
            gone, name = self._orphans.pop(handle)
            text = f"{name} is freed before {self._named(handle)}, which it must outlive"
            self._report.finding("lifetime", gone, text)

    def freed(self, handle: int) -> None:
        """An object is about to be freed."""
        for user in self._users.pop(handle, ()):
            if self._is_alive(user):
                self._orphans.setdefault(user, (handle, self._named(handle)))
