"""Compilation: preferences of the program, and the prepared model that finish makes."""

from time import monotonic_ns

from nnapi_shim import log, vlog
from nnapi_shim.drivers import is_built_in
from nnapi_shim.errors import NnapiError, bad_data, bad_state, op_failed
from nnapi_shim.hal.enums import (
    BYTE_SIZE_OF_CACHE_TOKEN,
    ExecutionPreference,
    Priority,
    ResultCode,
)
from nnapi_shim.hal.interfaces import IDevice, IPreparedModel
from nnapi_shim.hal.types import CacheHandles, Operand, byte_size, is_known
from nnapi_shim.hal.types import Model as HalModel
from nnapi_shim.hints import TYPE_CHECKING, Any, Callable, Sequence, TypeVar
from nnapi_shim.limits import TooLate, until
from nnapi_shim.runtime import device_manager, extension
from nnapi_shim.runtime.model import Model
from nnapi_shim.runtime.naming import renumbered
from nnapi_shim.runtime.partitioning import Step, partitioned, supported_by, whole
from nnapi_shim.settings import LINT, PARTITION

if TYPE_CHECKING:
    from nnapi_shim.runtime.execution_plan import ExecutionPlan, ExecutionStep

NEVER, NO_FALLBACK = "0", "2"
"""Values of DEBUG_NN_PARTITION."""

PREFERRED_ALIGNMENT = 64

LONGEST_NS = 1 << 62
"""Upper bound for durations in ns; deadlines computed with it fit into int64."""

Method = TypeVar("Method", bound=Callable[..., Any])


def while_open(method: Method) -> Method:
    """Decorator of a method that raises BAD_STATE after finish."""

    def checked(self: "Compilation", *arguments: Any) -> Any:
        if self.state != "open":
            raise bad_state(
                f"the compilation is {self.state}; it can no longer be changed",
                "compilation.sealed",
            )
        return method(self, *arguments)

    return checked  # type: ignore[return-value]


class Compilation:
    """A compilation. States: open, then finished, or failed after a finish that failed."""

    def __init__(self, model: Model, devices: Sequence[IDevice] | None = None) -> None:
        """devices: those that the program named, or None for all; raises BAD_STATE for an
        unfinished model.
        """
        model.require_finished()
        assert model.hal is not None
        self.state = "open"
        self.model = model
        self.hal: HalModel = model.hal
        self.explicit = devices is not None
        self._devices = list(devices) if devices is not None else device_manager.devices()
        self._preference = ExecutionPreference.FAST_SINGLE_ANSWER
        self._negative_preference = 0
        self._priority = Priority.MEDIUM
        self._timeout_ns = 0
        self._cache: CacheHandles | None = None
        self._attributes: dict[tuple[str, int], bytes] = {}
        self._refused: set[tuple[object, str]] | None = None
        """Operation and rule of the errors that all computations have; None: not computed yet."""
        main = model.hal.main
        self.inputs: list[Operand] = [main.operands[index] for index in main.input_indexes]
        self.outputs: list[Operand] = [main.operands[index] for index in main.output_indexes]
        self.argument_bytes = [
            [byte_size(o) if is_known(o.type, o.dimensions) else None for o in operands]
            for operands in (self.inputs, self.outputs)
        ]
        """Of inputs and outputs; None for one with unknown dimensions."""
        self.prepared: IPreparedModel | None = None
        self.device: IDevice | None = None
        """The device that runs the whole model; None if it is partitioned."""
        self._plan: ExecutionPlan | None = None
        self._has_fallback = False

    def require_single_explicit_device(self, what: str) -> None:
        """Raise BAD_DATA unless the program named exactly one device."""
        if not (self.explicit and len(self._devices) == 1):
            raise bad_data(
                f"{what} needs a compilation created for exactly one device",
                "compilation.one-device",
            )

    def require_finished(self) -> None:
        """Raise BAD_STATE unless finish has succeeded."""
        if self.state != "finished":
            raise bad_state(
                f"the compilation is {self.state}; {self.what_to_do}", "compilation.not-finished"
            )

    @property
    def what_to_do(self) -> str:
        """The call that is missing, for messages."""
        if self.state == "failed":
            return "its finish has failed, so another one must be made"
        return "it must be finished first, by ANeuralNetworksCompilation_finish"

    @while_open
    def set_preference(self, preference: int) -> None:
        """0 low power, 1 fast single answer, 2 sustained speed. Raises BAD_DATA above that."""
        if preference > 2:
            raise bad_data(
                f"preference is {preference}; allowed are 0 to 2", "compilation.set-preference"
            )
        # As in the reference, finish rejects a negative one.
        self._negative_preference = min(preference, 0)
        self._preference = ExecutionPreference(max(preference, 0))

    @while_open
    def set_priority(self, priority: int) -> None:
        """90 low, 100 medium, 110 high."""
        if priority not in (90, 100, 110):
            raise bad_data(
                f"priority is {priority}; allowed are 90, 100 and 110", "compilation.set-priority"
            )
        self._priority = Priority(priority)

    @while_open
    def set_timeout(self, duration_ns: int) -> None:
        """Time limit of finish in ns; 0 for none."""
        self.require_single_explicit_device("a compilation timeout")
        self._timeout_ns = min(duration_ns, LONGEST_NS)

    @while_open
    def set_caching(self, directory: str, token: bytes) -> None:
        """Folder and token for caching the compiled model. The folder is not checked."""
        if len(token) != BYTE_SIZE_OF_CACHE_TOKEN:
            raise bad_data(
                f"the token has {len(token)} bytes; it must have 32",
                "compilation.set-caching.token",
            )
        self._cache = CacheHandles(directory, token)

    @while_open
    def add_extension_attribute(self, name: str, code: int, data: bytes | None) -> None:
        """Keep an attribute for the device; unknown names are accepted."""
        self.require_single_explicit_device("an extension attribute")
        extension.add_attribute(self._attributes, name, code, data)

    @while_open
    def finish(self) -> None:
        """Choose devices and prepare the model on them. A failure is final."""
        deadline = monotonic_ns() + self._timeout_ns if self._timeout_ns else None
        try:
            with until(deadline or 0):
                self._finish(deadline)
        except NnapiError as error:
            raise self.named(error) from None
        except TooLate:
            raise self._too_late() from None

    def named(self, error: NnapiError) -> NnapiError:
        """An error with the names of the operands in its message."""
        return self.model.named(error)

    def explained(self, error: NnapiError) -> NnapiError:
        """The error of a computation; if every computation ends with it, it names the setting that
        reports it while the model is built.
        """
        result = self.named(error)
        place = error.place("operation")
        if place is None or self.model.goes_on:
            return result
        if self._refused is None:
            self._refused = self._refused_values()
        if (place, error.rule) not in self._refused:
            return result
        return result.worded(f"{result.message}; {LINT.name}=1 reports it when the model is built")

    def _refused_values(self) -> set[tuple[object, str]]:
        """Operation and rule of the errors that all computations have; none if they cannot be
        found now, because the error to be explained goes first.
        """
        try:
            from nnapi_shim.runtime.lint import refused_values

            return {(each.place("operation"), each.rule) for each in refused_values(self.hal)}
        except (NnapiError, ImportError, OSError, MemoryError):
            return set()

    def again(self, model: Model) -> "Compilation":
        """Compile another finished model with the same preferences, without a cache."""
        other = Compilation(model, self._devices if self.explicit else None)
        other._preference, other._priority = self._preference, self._priority
        other._attributes = dict(self._attributes)
        other.finish()
        return other

    def _finish(self, deadline: int | None) -> None:
        self.state = "failed"
        if any(pool.is_immutable for pool in self.hal.pools):
            from nnapi_shim.runtime.program_constants import unchanged

            self.hal = unchanged(self.hal)
        how = NO_FALLBACK if self.explicit else PARTITION.get()
        find = whole if how == NEVER else partitioned
        steps = find(self.hal, self._devices, self._preference)
        if self._negative_preference:
            raise op_failed(
                f"preference is {self._negative_preference}; allowed are 0 to 2",
                "compilation.set-preference",
            )
        try:
            self._prepare(steps, deadline)
        except NnapiError as error:
            fallback = None if how == NO_FALLBACK else self._fallback(steps, error)
            if fallback is None:
                raise
            instead = fallback.device.name
            log.warning(
                f"{_names(steps)} is passed over, {instead} runs the model: {error.message}"
            )
            steps = [fallback]
            self._prepare(steps, deadline)
        assert self.prepared is not None
        self.prepared = _logged(self.prepared, steps)
        if how != NO_FALLBACK and not all(is_built_in(step.device.name) for step in steps):
            self._add_fallback(steps)
        self.state = "finished"

    def _prepare(self, steps: Sequence[Step], deadline: int | None) -> None:
        """Prepare the model in these steps."""
        if len(steps) == 1:
            self.prepared = self._prepared_on(steps[0].device, self.hal, deadline)
            self.device = steps[0].device
            return
        # Few programs have several devices.
        from nnapi_shim.runtime.execution_plan import ExecutionPlan, ExecutionStep
        from nnapi_shim.runtime.slicing import sliced

        prepared = []
        for step, part in zip(
            steps, sliced(self.hal, [step.operations for step in steps]), strict=True
        ):
            try:
                model = self._prepared_on(step.device, part.model, deadline)
            except NnapiError as error:
                raise renumbered(error, part.operands).at(step.device.name) from None
            prepared.append(
                ExecutionStep(step.device, model, part.inputs, part.outputs, part.operands)
            )
        self.prepared = self._plan = ExecutionPlan(self.hal, prepared)

    def _prepared_on(
        self, device: IDevice, model: HalModel, deadline: int | None
    ) -> IPreparedModel:
        """Prepare the model, or a partition of it, on a device."""
        if deadline is not None and monotonic_ns() >= deadline:
            raise self._too_late()
        if self._attributes:
            model = model._replace(extension_attributes=extension.listed(self._attributes))
        began = monotonic_ns()
        prepared = device.prepareModel(
            model, self._preference, self._priority, deadline, self._cache
        )
        if vlog.enabled("driver"):
            took = (monotonic_ns() - began) / 1e6
            count = len(model.main.operations)
            vlog.write("driver", f"{device.name} prepared {count} operations in {took:.1f} ms")
        return prepared

    def _too_late(self) -> NnapiError:
        code = ResultCode.MISSED_DEADLINE_PERSISTENT
        return NnapiError(
            code,
            f"the compilation took longer than its {self._timeout_ns} ns",
            "compilation.timeout",
        )

    def _fallback(self, steps: Sequence[Step], error: NnapiError) -> Step | None:
        """The fallback for these steps; None if there is none or the program caused the error."""
        from nnapi_shim.runtime.fallback import fallback_step, is_of_the_device

        return fallback_step(self.hal, self._devices, steps) if is_of_the_device(error) else None

    def _add_fallback(self, steps: Sequence[Step]) -> None:
        """Add a fallback for computations that fail on a third-party device."""
        from nnapi_shim.runtime.fallback import FallbackPreparedModel, fallback_step

        fallback = fallback_step(self.hal, self._devices, steps)
        if fallback is not None:
            self._has_fallback = True
            assert self.prepared is not None
            # The function gets them without self, which the prepared model must not keep alive.
            chosen = fallback, self.hal, self._preference, self._priority
            self.prepared = FallbackPreparedModel(
                self.prepared,
                _names(steps),
                fallback.device.name,
                lambda deadline_ns: _prepared_whole(*chosen, deadline_ns),
            )

    @property
    def steps(self) -> "Sequence[ExecutionStep]":
        """The steps of a plan of several; empty for a single device."""
        return () if self._plan is None else self._plan.steps

    @property
    def devices(self) -> list[IDevice]:
        """The device of each step of the finished compilation, in the order in which they run."""
        if self._plan is not None:
            return [step.device for step in self._plan.steps]
        return [] if self.device is None else [self.device]

    @property
    def only_device(self) -> IDevice | None:
        """The device that computes every run from begin to end; None if another one takes part,
        be it after a failure.
        """
        return None if self._has_fallback else self.device

    def devices_of(self, role: str, index: int) -> list[IDevice]:
        """The devices that use an input or output of the finished compilation."""
        if self._plan is not None:
            return self._plan.devices_of(role, index)
        return [] if self.device is None else [self.device]

    def preferred_memory(self, role: str, index: int) -> int:
        """Preferred alignment and padding in bytes of an argument, the same for all."""
        self.require_finished()
        operands = self.inputs if role == "input" else self.outputs
        if not 0 <= index < len(operands):
            raise bad_data(
                f"{role} {index} does not exist; the model has {len(operands)}",
                "compilation.preferred-memory.index",
            )
        return PREFERRED_ALIGNMENT


def _names(steps: Sequence[Step]) -> str:
    """The devices of steps, each once."""
    return ", ".join(dict.fromkeys([step.device.name for step in steps]))


def _prepared_whole(
    step: Step,
    model: HalModel,
    preference: ExecutionPreference,
    priority: Priority,
    deadline_ns: int | None,
) -> IPreparedModel:
    """A model on the device of its only step."""
    prepared = step.device.prepareModel(model, preference, priority, deadline_ns, None)
    return _logged(prepared, [step])


def _logged(prepared: IPreparedModel, steps: Sequence[Step]) -> IPreparedModel:
    """The prepared model of these steps, with logging if DEBUG_NN_VLOG enables it."""
    if not vlog.enabled("execution"):
        return prepared
    from nnapi_shim.runtime.vlog_wrapper import LoggingPreparedModel

    return LoggingPreparedModel(prepared, _names(steps))


def supported_operations(model: Model, devices: Sequence[IDevice]) -> list[bool]:
    """Per operation, in the order of addition: whether one of the devices supports it."""
    model.require_finished()
    assert model.hal is not None
    operations = model.hal.main.operations
    result = [False] * len(operations)
    for device in devices:
        for item, supported in zip(operations, supported_by(device, model.hal), strict=True):
            result[item.number] = result[item.number] or supported
    return result
