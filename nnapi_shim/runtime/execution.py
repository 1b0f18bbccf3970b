"""Execution: its runs, their states and results; preparation.py has what comes before."""

from _thread import get_ident
from time import monotonic_ns

from nnapi_shim import process
from nnapi_shim.errors import NnapiError, Place, bad_data, bad_state, op_failed
from nnapi_shim.hal.enums import (
    DurationCode,
    ErrorStatus,
    ResultCode,
)
from nnapi_shim.hal.interfaces import IExecution
from nnapi_shim.hal.types import (
    NO_TIMING,
    Dimensions,
    ExecutionResult,
    OutputShape,
)
from nnapi_shim.hints import Sequence
from nnapi_shim.runtime import extension
from nnapi_shim.runtime.compilation import LONGEST_NS, Compilation
from nnapi_shim.runtime.event import ComputedEvent, Event, ExecutionEvent
from nnapi_shim.runtime.fast_path import FastRun, Publisher
from nnapi_shim.runtime.preparation import COMPLETED, COMPUTATION, Preparation

UNKNOWN_DURATION = 0xFFFFFFFFFFFFFFFF

_starting = process.lock()
"""Held while an execution changes to COMPUTATION; one short lock for all executions."""


class Execution(Preparation):
    """An execution. States: in preparation, in computation, completed."""

    def __init__(self, compilation: Compilation) -> None:
        """Raises BAD_STATE for a compilation that is not finished."""
        super().__init__(compilation)
        self._bound: IExecution | None = None
        self._result: ExecutionResult | None = None
        self._is_freed = False
        self._runner = 0

    # Running

    def compute(self) -> None:
        """Run it on this thread; raises its error."""
        failed = self._begin(get_ident())
        if failed:
            self.raise_failure(failed)
        if self._bound is None or self._arguments.device_inputs:
            self._prepare()
        self._run()

    def abandon(self) -> None:
        """End a `compute` of this thread that an exception of a signal handler has interrupted.

        Does nothing if this thread runs no `compute`.
        """
        with _starting:
            is_mine = self._state is COMPUTATION and self._runner == get_ident()
        if is_mine:
            self._end()

    def fail_run(self) -> None:
        """A run that fails without being begun, for an injected fault."""
        if not self._begin(get_ident()):
            self._end()

    def lose_result(self) -> None:
        """A run that has ended has failed after all, for an injected fault."""
        if self._state is COMPLETED:
            self._result = None

    def publish(self, publisher: Publisher) -> None:
        """Publish it for the fast path, if it has run and another run needs no checks."""
        if not self._reusable:
            return
        with _starting:
            if self._state is not COMPLETED or self._slot is not None or self._is_freed:
                return
            program: tuple[int, int] | None = getattr(self._bound, "again", None)
            if program is None or self._result is None or self._timeout_ns:
                return
            if not (self._arguments.device_inputs or self._arguments.device_outputs):
                self._slot = publisher(FastRun(program[0], program[1], id(self.compilation)))

    def freed(self) -> None:
        """The program has freed it: release its slot of the fast path."""
        with _starting:
            self._is_freed = True
            if self._slot is not None:
                self._slot.release(self)

    def raise_failure(self, code: int) -> None:
        """Raise the error of a run in C that failed."""
        try:
            raise self._bound.failure(code)  # type: ignore[union-attr]
        except NnapiError as error:
            self._fail(error)
            raise

    @property
    def rerun(self) -> bytes | None:
        """The program that native/module/rerun.c runs with other arguments of the same lengths;
        None if its device has none. No other thread may use the execution meanwhile.
        """
        program: bytes | None = getattr(self._bound, "rerun", None)
        return program

    def start_compute(self) -> Event:
        """Run it on a thread of the library; the event is signalled at the end.

        Raises BAD_STATE, missing arguments and inputs without contents at once.
        """
        self._begin()
        self._prepare()
        return ExecutionEvent(self._run)

    def start_compute_with_dependencies(
        self, dependencies: Sequence[Event], duration_ns: int
    ) -> Event:
        """Run it on this thread after other executions and fences, as the AOSP CPU does.

        duration_ns: time limit from that moment on; 0 for no limit. Errors are raised by this
        call. After a success the execution is completed by the first wait for the event.
        """
        for event in dependencies:
            if not event.has_fence:
                event.wait_for_end()
        self._begin()
        try:
            self._arguments.require_all()
            if duration_ns:
                self.compilation.require_single_explicit_device("a duration")
            self._arguments.require_known_outputs()
            deadline = monotonic_ns() + self._timeout_ns if self._timeout_ns else None
            for event in dependencies:
                if event.has_fence:
                    event.wait()
            if duration_ns:
                nearer = monotonic_ns() + min(duration_ns, LONGEST_NS)
                deadline = nearer if deadline is None else min(deadline, nearer)
            if self._bound is None:
                self._bound = self._bind()
            result = self._bound.compute(deadline)
            self._check_device_outputs(result)
            _require_room(result)
        except BaseException as error:
            self._fail(error)
            raise
        return ComputedEvent(lambda: self._end(result))

    def _begin(self, runner: int = 0) -> int:
        """Change the state to COMPUTATION; if two threads try at once, one succeeds.

        runner: the thread id, if one thread runs it from begin to end.

        Returns the code of a run in C that failed and that this thread must report, or 0.
        """
        with _starting:
            state, failed = self._state, 0
            if self._slot is not None:
                failed = self._slot.reclaim()
                if failed < 0:
                    state = COMPUTATION
                else:
                    self._slot = None
            if state is COMPUTATION or (state is COMPLETED and not self._reusable):
                why = ", and it is not reusable; setReusable must come before the first computation"
                if state is COMPUTATION:
                    why = "; its end must come first"
                raise bad_state(f"the execution is {state}{why}", "execution.compute.state")
            self._runner = runner
            self._state = COMPUTATION
            self._result = None
            return failed

    def _prepare(self) -> None:
        """Bind the arguments to the device, and check that inputs have contents.

        Raises BAD_DATA for a missing argument, OP_FAILED for an input memory without contents,
        UNMAPPABLE; the run has ended then.
        """
        try:
            self._arguments.require_all()
            if self._bound is None:
                self._bound = self._bind()
        except BaseException as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        """End a run with an error, and re-raise it with the names of its operands, and with a hint
        at lint if it follows from the model alone.
        """
        self._end()
        if isinstance(error, NnapiError):
            named = self.compilation.explained(error)
            if named is not error:
                try:
                    raise named from None
                finally:
                    del named, error  # a traceback that refers to itself keeps all arguments alive

    def _run(self) -> None:
        """Run the bound execution; raises its error."""
        try:
            assert self._bound is not None
            deadline = monotonic_ns() + self._timeout_ns if self._timeout_ns else None
            result = self._bound.compute(deadline)
            if self._arguments.device_outputs:
                self._check_device_outputs(result)
        except BaseException as error:
            self._fail(error)
            raise
        if self._reusable and not self._arguments.device_outputs:
            self._result = result  # inlined from _end: faster for programs that run in a loop
            self._state = COMPLETED
        else:
            self._end(result)
        if result.status is not ErrorStatus.NONE:
            try:
                _require_room(result)
            except NnapiError as error:
                raise self.compilation.named(error) from None

    def _check_device_outputs(self, result: ExecutionResult) -> None:
        """Raise OP_FAILED for an output whose dimensions its memory cannot hold."""
        for index, memory in self._arguments.device_outputs:
            dimensions = result.output_shapes[index].dimensions
            if not memory.can_hold(dimensions):
                raise op_failed(
                    f"output {index} has dimensions {list(dimensions)}; its memory was made for "
                    f"{list(memory.operand.dimensions)}",
                    "execution.output-memory-dimensions",
                )

    def _end(self, result: ExecutionResult | None = None) -> None:
        """End a run with the result of the device, or None after an error."""
        self._result = result
        if not self._reusable:
            self._bound = None
        if self._arguments.device_outputs:
            succeeded = result is not None and result.status is ErrorStatus.NONE
            for _, memory in self._arguments.device_outputs:
                memory.set_initialized(succeeded)
        self._state = COMPLETED

    def _bind(self) -> IExecution:
        """Bind the arguments, all of which are set, to the device; raises UNMAPPABLE."""
        prepared = self.compilation.prepared
        assert prepared is not None
        request = self._arguments.request()
        if self._attributes:
            request = request._replace(extension_attributes=extension.listed(self._attributes))
        apart = self._arguments.outputs_that_overlap(request)
        if not apart:
            return prepared.createReusableExecution(request, self._measure, self._loop_timeout_ns)
        from nnapi_shim.runtime.overlap import ExecutionApart, warn

        warn(self.compilation, apart)
        return ExecutionApart(
            lambda changed: prepared.createReusableExecution(
                changed, self._measure, self._loop_timeout_ns
            ),
            request,
            self._arguments.output_operands,
            apart,
        )

    @property
    def in_flight(self) -> bool:
        """Whether a computation is running."""
        return self._seen_state() is COMPUTATION

    # Results

    def output_dimensions(self, index: int) -> tuple[Dimensions, NnapiError | None]:
        """Dimensions of an output after a run, and OUTPUT_INSUFFICIENT_SIZE or None.

        Raises BAD_STATE unless the last run ended with one of these two.
        """
        state = self._seen_state()
        if state != COMPLETED:
            raise bad_state(
                f"the execution is {state}; outputs are known when completed",
                "execution.output-dimensions.not-completed",
            )
        if self._result is None:
            raise bad_state(
                "the execution failed; its outputs have no dimensions",
                "execution.output-dimensions.failed",
            )
        shapes = self._result.output_shapes
        if not 0 <= index < len(shapes):
            message = f"output {index} does not exist; the model has {len(shapes)}"
            raise bad_data(message, "execution.output-dimensions.index").about(
                Place("output", index)
            )
        shape = shapes[index]
        if shape.is_sufficient:
            return shape.dimensions, None
        return shape.dimensions, NnapiError(
            ResultCode.OUTPUT_INSUFFICIENT_SIZE,
            _shortage(index, shape),
            "execution.output-too-small",
        )

    def duration(self, code: int) -> int:
        """A duration of the last run in ns, or UNKNOWN_DURATION; raises BAD_STATE where there is
        none.
        """
        if code not in tuple(DurationCode):
            raise bad_data(
                f"duration code is {code}; allowed are 0 to 3", "execution.duration.code"
            )
        result = self._result
        if (
            self._seen_state() != COMPLETED
            or result is None
            or result.status is not ErrorStatus.NONE
        ):
            raise bad_state(
                "durations are known after a computation that succeeded",
                "execution.duration.not-completed",
            )
        if not self._measure:
            raise bad_state(
                "durations were not asked for with setMeasureTiming",
                "execution.duration.not-measured",
            )
        timing = result.timing or NO_TIMING
        on_hardware = code in (
            DurationCode.DURATION_ON_HARDWARE,
            DurationCode.FENCED_DURATION_ON_HARDWARE,
        )
        value = timing.time_on_device_ns if on_hardware else timing.time_in_driver_ns
        return UNKNOWN_DURATION if value is None else value


def _shortage(index: int, shape: OutputShape) -> str:
    return f"output {index} has dimensions {list(shape.dimensions)}; its buffer is too small"


def _require_room(result: ExecutionResult) -> None:
    """Raise OUTPUT_INSUFFICIENT_SIZE for outputs that were too large for their buffers."""
    short = [
        (index, shape)
        for index, shape in enumerate(result.output_shapes)
        if not shape.is_sufficient
    ]
    if short:
        message = ", ".join([_shortage(index, shape) for index, shape in short])
        outputs_short = [Place("output", index) for index, _ in short]
        raise NnapiError(
            ResultCode.OUTPUT_INSUFFICIENT_SIZE, message, "execution.output-too-small"
        ).about(*outputs_short)
