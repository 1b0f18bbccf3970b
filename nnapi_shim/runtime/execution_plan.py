"""A partitioned model: its steps, and the data flow between them.

Operands that pass between steps are in memory of the run. Inputs and outputs of the model are used
in place.
"""

from time import monotonic_ns

from nnapi_shim import address, vlog
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import ErrorStatus, ResultCode
from nnapi_shim.hal.interfaces import IDevice, IExecution, IPreparedModel
from nnapi_shim.hal.quantization import ELEMENT_BYTES, MAX_BYTES, SCALARS
from nnapi_shim.hints import NamedTuple, Sequence
from nnapi_shim.runtime.naming import renumbered
from nnapi_shim.runtime.partitioning import DYNAMIC_OUTPUTS
from nnapi_shim.runtime.slicing import SPARE

_ALIGNMENT = 64
_FIRST_GUESS = 1024
"""Initial buffer size in bytes for an operand of unknown dimensions."""


class ExecutionStep(NamedTuple):
    """A partition of a model, prepared on its device.

    inputs, outputs: operands of the main graph of the model, or SPARE. operands: the operand of
    the model for each operand of the partition.
    """

    device: IDevice
    prepared: IPreparedModel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operands: tuple[int, ...] = ()


class ExecutionPlan(IPreparedModel):
    """IPreparedModel of a model in several steps."""

    def __init__(self, model: hal.Model, steps: Sequence[ExecutionStep]) -> None:
        self.main = model.main
        self.steps = steps
        arguments = {*model.main.input_indexes, *model.main.output_indexes, SPARE}
        self.intermediates = [
            index for step in steps for index in step.outputs if index not in arguments
        ]
        """Operands that pass between steps and are no arguments, or are never read."""
        self.offsets: dict[int, int] = {}
        """Offsets in the arena of a run, of operands with known size."""
        self.arena_bytes = _ALIGNMENT
        for index in self.intermediates:
            operand = model.main.operands[index]
            if hal.is_known(operand.type, operand.dimensions):
                self.offsets[index] = self.arena_bytes
                self.arena_bytes += -(-hal.byte_size(operand) // _ALIGNMENT) * _ALIGNMENT
        self.arenas: list[address.Block] = []
        """Arenas that no execution uses. SPARE reads the first bytes of an arena."""
        self.largest: dict[int, int] = {}
        """Largest size in bytes so far of each operand of unknown dimensions."""

    def devices_of(self, role: str, position: int) -> list[IDevice]:
        """The devices that read an input of the model, or write or read an output."""
        if role == "input":
            index = self.main.input_indexes[position]
            return [step.device for step in self.steps if index in step.inputs]
        index = self.main.output_indexes[position]
        return [step.device for step in self.steps if index in step.inputs + step.outputs]

    def createReusableExecution(  # noqa: N802 (the name in the HAL)
        self, request: hal.Request, measure: bool, loop_timeout_ns: int
    ) -> "PlanExecution":
        """Bind a request to this model."""
        return PlanExecution(self, request, measure, loop_timeout_ns)


class PlanExecution:
    """A request bound to an execution plan. The runtime runs it on one thread at a time."""

    def __init__(
        self, plan: ExecutionPlan, request: hal.Request, measure: bool, loop_timeout_ns: int
    ) -> None:
        self._plan = plan
        self._request = request
        self._measure = measure
        self._loop_timeout_ns = loop_timeout_ns
        self._operands = plan.main.operands
        self._bound: list[tuple[hal.Request, IExecution] | None] = [None] * len(plan.steps)
        """The last arguments of each step; a step is rebound if they change."""
        self._read: dict[int, hal.RequestArgument] = {}
        """Arguments by which the last run passed computed operands to later steps."""
        self._buffers: dict[int, address.Block] = {}
        """Memory of operands whose size is known at run time only."""
        try:
            self._arena = plan.arenas.pop()
        except IndexError:
            self._arena = address.Block(plan.arena_bytes)
        start = self._arena.address
        self._given = dict(zip(plan.main.input_indexes, request.inputs, strict=True))
        self._given[SPARE] = hal.RequestArgument(start, 4, (1,))
        self._targets: dict[int, hal.RequestArgument] = {}
        """The destination of each operand that a step computes."""
        for index in plan.intermediates:
            offset = plan.offsets.get(index)
            if offset is None:
                self._resize(index, plan.largest.get(index, _FIRST_GUESS))
            else:
                operand = self._operands[index]
                self._targets[index] = hal.RequestArgument(
                    start + offset, hal.byte_size(operand), operand.dimensions
                )

    def __del__(self) -> None:
        arena = getattr(self, "_arena", None)
        if arena is not None:
            self._plan.arenas.append(arena)

    def _resize(self, index: int, length: int) -> None:
        """Allocate uninitialized memory of this many bytes for an operand."""
        block = self._buffers[index] = address.Block(length)
        dimensions = (
            self._targets[index].dimensions
            if index in self._targets
            else self._operands[index].dimensions
        )
        self._targets[index] = hal.RequestArgument(block.address, length, dimensions)

    def compute(self, deadline_ns: int | None) -> hal.ExecutionResult:
        """Run all steps; raises the error of a device, or returns OUTPUT_INSUFFICIENT_SIZE."""
        outputs = self._plan.main.output_indexes
        self._targets.update(zip(outputs, self._request.outputs, strict=True))
        values = self._given.copy()
        short: set[int] = set()
        timings = []
        for number, step in enumerate(self._plan.steps):
            try:
                if number and deadline_ns is not None and monotonic_ns() >= deadline_ns:
                    raise NnapiError(
                        ResultCode.MISSED_DEADLINE_TRANSIENT,
                        "the deadline passed",
                        "execution.deadline.passed",
                    )
                timings.append(self._run(number, step, values, short, deadline_ns))
            except NnapiError as error:
                raise _of_step(error, number, step) from None
        status = ErrorStatus.OUTPUT_INSUFFICIENT_SIZE if short else ErrorStatus.NONE
        return hal.ExecutionResult(
            status,
            [hal.OutputShape(values[index].dimensions, index not in short) for index in outputs],
            _sum(timings) if self._measure and not short else hal.NO_TIMING,
        )

    def _run(
        self,
        number: int,
        step: ExecutionStep,
        values: dict[int, hal.RequestArgument],
        short: set[int],
        deadline_ns: int | None,
    ) -> hal.Timing:
        """Run a step; re-run it with larger buffers if buffers of the run are too small.

        values: the operands that the step reads; its outputs are added.
        short: receives outputs of the model that exceed the buffers of the program. They go to
            memory of the run, so that later steps can report the dimensions of their outputs.
        """
        inputs = tuple([values[index] for index in step.inputs])
        if step.device.feature_level < DYNAMIC_OUTPUTS:
            self._require_elements(step, inputs)
        while True:
            request = hal.Request(inputs, tuple([self._targets[index] for index in step.outputs]))
            bound = self._bound[number]
            try:
                if bound is None or bound[0] != request:
                    execution = step.prepared.createReusableExecution(
                        request, self._measure, self._loop_timeout_ns
                    )
                    bound = self._bound[number] = request, execution
                result = bound[1].compute(deadline_ns)
            except NnapiError as error:
                raise renumbered(error, step.operands) from None
            if len(result.output_shapes) != len(step.outputs):
                raise op_failed(
                    f"it tells dimensions of {len(result.output_shapes)} outputs; there are "
                    f"{len(step.outputs)}",
                    "driver.answer.output-count",
                )
            if result.status is ErrorStatus.NONE:
                break
            self._make_room(step, result, short)
        for index, shape in zip(step.outputs, result.output_shapes, strict=True):
            values[index] = self._computed(index, shape.dimensions)
        if vlog.enabled("execution"):
            shown = ", ".join(f"{i} {list(values[i].dimensions)}" for i in step.outputs)
            vlog.write("execution", f"step {number} on {step.device.name}: operands {shown}")
        return result.timing

    def _require_elements(self, step: ExecutionStep, inputs: Sequence[hal.RequestArgument]) -> None:
        """Raise OP_FAILED for an input without elements: 0 means unknown in HAL 1.0 and 1.1."""
        for index, argument in zip(step.inputs, inputs, strict=True):
            if 0 in argument.dimensions and not argument.has_no_value:
                raise op_failed(
                    f"operand {index} has dimensions {list(argument.dimensions)}; a device of "
                    f"feature level {step.device.feature_level} takes none without elements",
                    "hal.request.no-elements",
                )

    def _make_room(self, step: ExecutionStep, result: hal.ExecutionResult, short: set[int]) -> None:
        """Enlarge the buffers of outputs that were too small; OP_FAILED if none was."""
        grown = False
        for index, shape in zip(step.outputs, result.output_shapes, strict=True):
            if shape.is_sufficient:
                continue
            operand, target = self._operands[index], self._targets[index]
            if hal.is_known(operand.type, shape.dimensions):
                length = _bytes(operand, shape.dimensions)
            else:
                length = max(_FIRST_GUESS, 2 * target.length)
            if length <= target.length or length > MAX_BYTES:
                raise op_failed(
                    f"operand {index} has {target.length} bytes; the device reports too little for "
                    f"{operand.type.name}{list(shape.dimensions)}",
                    "driver.answer.operand-too-short",
                )
            vlog.write("memory", f"operand {index} gets {length} bytes, not {target.length}")
            self._resize(index, length)
            if index in self._plan.main.output_indexes:
                short.add(index)
            else:
                self._plan.largest[index] = max(self._plan.largest.get(index, 0), length)
            grown = True
        if not grown:
            raise op_failed(
                f"it ended with {result.status!r}, and no output is too small",
                "driver.answer.no-reason",
            )

    def _computed(self, index: int, dimensions: hal.Dimensions) -> hal.RequestArgument:
        """A computed operand as an input of later steps."""
        argument = self._read.get(index)
        target = self._targets[index]
        if (
            argument is None
            or argument.dimensions != dimensions
            or argument.address != target.address
            or argument.has_no_value != target.has_no_value
        ):
            operand = self._operands[index]
            length = _bytes(operand, dimensions)
            if length > target.length and not target.has_no_value:
                raise op_failed(
                    f"operand {index} is reported with dimensions {list(dimensions)}; its buffer "
                    f"has {target.length} bytes",
                    "driver.answer.operand-size",
                )
            argument = hal.RequestArgument(target.address, length, dimensions, target.has_no_value)
            self._read[index] = argument
        return argument


def _bytes(operand: hal.Operand, dimensions: hal.Dimensions) -> int:
    if operand.type in SCALARS:
        return hal.byte_size(operand)
    return ELEMENT_BYTES[operand.type] * hal.element_count(dimensions)


def _of_step(error: NnapiError, number: int, step: ExecutionStep) -> NnapiError:
    if number and error.code is ResultCode.MISSED_DEADLINE_PERSISTENT:
        # The run had begun before the deadline, but this step had not.
        error = error.with_code(ResultCode.MISSED_DEADLINE_TRANSIENT)
    return error.at(f"step {number} on {step.device.name}")


def _sum(timings: Sequence[hal.Timing]) -> hal.Timing:
    """Sums of the durations of the steps; None if a step reports none."""

    def added(values: list[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    return hal.Timing(
        added([timing.time_on_device_ns for timing in timings]),
        added([timing.time_in_driver_ns for timing in timings]),
    )
