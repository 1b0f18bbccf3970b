"""Execution: arguments of a run, its states and its results."""

from _thread import allocate_lock
from collections.abc import Callable, Sequence
from functools import wraps
from time import monotonic_ns
from typing import Any, TypeVar

from nnapi_shim.errors import NnapiError, bad_data, bad_state
from nnapi_shim.hal.enums import (
    DEFAULT_LOOP_TIMEOUT_NS,
    MAXIMUM_LOOP_TIMEOUT_NS,
    DurationCode,
    ErrorStatus,
    ResultCode,
)
from nnapi_shim.hal.interfaces import IExecution
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.hal.types import (
    NO_TIMING,
    Dimensions,
    ExecutionResult,
    Operand,
    Request,
    RequestArgument,
    byte_size,
)
from nnapi_shim.runtime.compilation import Compilation
from nnapi_shim.runtime.event import Event
from nnapi_shim.runtime.memory import Memory
from nnapi_shim.runtime.operand_type import checked_type, is_known

UNKNOWN_DURATION = 0xFFFFFFFFFFFFFFFF
MAX_LENGTH = 0xFFFFFFFF

Method = TypeVar("Method", bound=Callable[..., Any])

PREPARATION, COMPUTATION, COMPLETED = "in preparation", "in computation", "completed"


def while_preparing(method: Method) -> Method:
    """A method that is allowed until the first start; raises BAD_STATE afterwards."""

    @wraps(method)
    def checked(self: "Execution", *arguments: Any, **named: Any) -> Any:
        if self._state != PREPARATION:
            raise bad_state(f"the execution is {self._state}; it can no longer be changed")
        return method(self, *arguments, **named)

    return checked  # type: ignore[return-value]


class ArgumentType:
    """An operand type given with an argument: its rank and dimensions refine the model's."""

    __slots__ = ("dimensions",)

    def __init__(
        self,
        code: int,
        dimensions: Sequence[int] | None,
        rank: int,
        scale: float,
        zero_point: int,
    ) -> None:
        _, self.dimensions = checked_type(code, dimensions, rank, scale, zero_point)


class _Argument:
    """A bound input or output: an address, or a region of a memory object."""

    __slots__ = ("address", "dimensions", "length", "memory", "offset", "omitted")

    def __init__(
        self,
        dimensions: Dimensions,
        address: int,
        length: int,
        memory: Memory | None = None,
        offset: int = 0,
        omitted: bool = False,
    ) -> None:
        self.dimensions = dimensions
        self.address = address
        self.length = length
        self.memory = memory
        self.offset = offset
        self.omitted = omitted


class Execution:
    """An execution. States: in preparation, in computation, completed."""

    def __init__(self, compilation: Compilation) -> None:
        """Raises BAD_STATE for a compilation that is not finished."""
        compilation.require_finished()
        self.compilation = compilation
        self._input_operands = compilation.inputs
        self._output_operands = compilation.outputs
        self._inputs: list[_Argument | None] = [None] * len(self._input_operands)
        self._outputs: list[_Argument | None] = [None] * len(self._output_operands)
        self._state = PREPARATION
        self._lock = allocate_lock()
        self._padding = False
        self._padding_settled = False
        self._reusable = False
        self._measure = False
        self._timeout_ns = 0
        self._loop_timeout_ns = DEFAULT_LOOP_TIMEOUT_NS
        self._attributes: dict[tuple[str, int], bytes] = {}
        self._bound: IExecution | None = None
        self._result: ExecutionResult | None = None

    # Arguments

    def set_input(
        self, index: int, type: Callable[[], ArgumentType] | None, address: int, length: int
    ) -> None:
        """Input from `length` bytes at an address; address 0 with length 0 omits it."""
        self._set("input", index, type, address, length, None, 0)

    def set_input_from_memory(
        self,
        index: int,
        type: Callable[[], ArgumentType] | None,
        memory: Memory,
        offset: int,
        length: int,
    ) -> None:
        """Input from a region of a memory object."""
        self._set("input", index, type, 0, length, memory, offset)

    def set_output(
        self, index: int, type: Callable[[], ArgumentType] | None, address: int, length: int
    ) -> None:
        """Output to `length` bytes at an address; address 0 with length 0 omits it."""
        self._set("output", index, type, address, length, None, 0)

    def set_output_from_memory(
        self,
        index: int,
        type: Callable[[], ArgumentType] | None,
        memory: Memory,
        offset: int,
        length: int,
    ) -> None:
        """Output to a region of a memory object."""
        self._set("output", index, type, 0, length, memory, offset)

    @while_preparing
    def _set(
        self,
        role: str,
        index: int,
        type: Callable[[], ArgumentType] | None,
        address: int,
        length: int,
        memory: Memory | None,
        offset: int,
    ) -> None:
        """The checks in the order of the reference runtime (api-semantics.md 4)."""
        operands = self._input_operands if role == "input" else self._output_operands
        arguments = self._inputs if role == "input" else self._outputs
        if not 0 <= index < len(operands):
            raise bad_data(f"{role} {index} does not exist; the model has {len(operands)}")
        operand = operands[index]
        place = f"{role} {index}"
        given: Dimensions | None = None
        try:
            if type is not None:
                given = type().dimensions
            if length > MAX_LENGTH:
                raise bad_data(f"length is {length} bytes; allowed are {MAX_LENGTH}")
            if memory is not None:
                memory.check_region(offset, length)
            if arguments[index] is not None:
                raise bad_state("it is set already")
            dimensions = _refined(operand, given)
            omitted = memory is None and address == 0
            if not omitted:
                if role == "input" and not is_known(operand.type, dimensions):
                    raise bad_data(
                        f"{operand.type.name}{list(dimensions)} has unknown dimensions; an input "
                        "needs all of them"
                    )
                self._check_length(operand, dimensions, length)
        except NnapiError as error:
            raise error.at(place) from None
        arguments[index] = _Argument(dimensions, address, length, memory, offset, omitted)

    def _check_length(self, operand: Operand, dimensions: Dimensions, length: int) -> None:
        self._padding_settled = True
        if not is_known(operand.type, dimensions):
            if length == 0:
                raise bad_data("length is 0")
            return
        needed = byte_size(operand._replace(dimensions=dimensions))
        if length < needed or (length > needed and not self._padding):
            raise bad_data(
                f"{operand.type.name}{list(dimensions)}: length is {length} bytes; it must be "
                f"{needed}{' or more' if self._padding else ''}"
            )

    @while_preparing
    def enable_input_and_output_padding(self, enable: bool) -> None:
        """Whether lengths may exceed what an argument needs; to be said before any is set."""
        if self._padding_settled:
            raise bad_state("an argument was set before padding was enabled or disabled")
        self._padding = enable

    @while_preparing
    def set_reusable(self, reusable: bool) -> None:
        """Whether the execution may be computed more than once."""
        self._reusable = reusable

    @while_preparing
    def set_loop_timeout(self, duration_ns: int) -> None:
        """Time that each WHILE may take; above 15 s it is 15 s."""
        self._loop_timeout_ns = min(duration_ns, MAXIMUM_LOOP_TIMEOUT_NS)

    def set_timeout(self, duration_ns: int) -> None:
        """Time that a computation may take; 0 for no limit."""
        self.compilation.require_single_explicit_device("an execution timeout")
        self._require_preparation()
        self._timeout_ns = duration_ns

    def set_measure_timing(self, measure: bool) -> None:
        """Whether durations are measured."""
        self.compilation.require_single_explicit_device("measuring durations")
        self._require_preparation()
        self._measure = measure

    def add_extension_attribute(self, name: str, code: int, data: bytes) -> None:
        """Keep an attribute for the device; unknown names are accepted."""
        self.compilation.require_single_explicit_device("an extension attribute")
        self._require_preparation()
        if (name, code) in self._attributes:
            raise bad_data(f"attribute {name} {code} is set already")
        self._attributes[name, code] = data

    def _require_preparation(self) -> None:
        if self._state != PREPARATION:
            raise bad_state(f"the execution is {self._state}; it can no longer be changed")

    # Running

    def compute(self) -> None:
        """Run it on this thread; raises what goes wrong."""
        self._begin()
        self._run()

    def start_compute(self) -> Event:
        """Run it on a thread of the library; the event is signalled at the end.

        Raises BAD_STATE and missing arguments at once.
        """
        self._begin()
        try:
            self._bind()
        except BaseException:
            self._state = COMPLETED
            raise
        return Event(self._run)

    def _begin(self) -> None:
        """Take the execution for a run; of two threads that try at once, one gets it."""
        with self._lock:
            state = self._state
            if state is COMPUTATION or (state is COMPLETED and not self._reusable):
                raise bad_state(
                    f"the execution is {state}"
                    + ("" if state is COMPUTATION else ", and it is not reusable")
                )
            self._state = COMPUTATION
            self._result = None

    def _run(self) -> None:
        try:
            bound = self._bound
            if bound is None:
                bound = self._bind()
            deadline = monotonic_ns() + self._timeout_ns if self._timeout_ns else None
            result = self._result = bound.compute(deadline)
        finally:
            if not self._reusable:
                self._bound = None
            self._state = COMPLETED
        if result.status is not ErrorStatus.NONE:
            short = [i for i, shape in enumerate(result.output_shapes) if not shape.is_sufficient]
            raise NnapiError(
                ResultCode.OUTPUT_INSUFFICIENT_SIZE,
                ", ".join(
                    f"output {i} has dimensions {list(result.output_shapes[i].dimensions)}, too "
                    "large for its buffer"
                    for i in short
                ),
            )

    def _bind(self) -> IExecution:
        """Hand the arguments to the device; raises BAD_DATA for a missing one."""
        request = Request(
            tuple([self._resolved("input", i, a) for i, a in enumerate(self._inputs)]),
            tuple([self._resolved("output", i, a) for i, a in enumerate(self._outputs)]),
        )
        prepared = self.compilation.prepared
        assert prepared is not None
        self._bound = prepared.createReusableExecution(
            request, self._measure, self._loop_timeout_ns
        )
        return self._bound

    def _resolved(self, role: str, index: int, argument: _Argument | None) -> RequestArgument:
        if argument is None:
            raise bad_data(f"{role} {index} is not set")
        where = argument.address
        if argument.memory is not None:
            memory = argument.memory
            where = memory.map() if role == "input" else memory.map_for_output()
            where += argument.offset
        return RequestArgument(where, argument.length, argument.dimensions, argument.omitted)

    @property
    def in_flight(self) -> bool:
        """Whether a computation is running."""
        return self._state is COMPUTATION

    # Results

    def output_dimensions(self, index: int) -> tuple[Dimensions, ResultCode]:
        """Dimensions of an output after a run, and NO_ERROR or OUTPUT_INSUFFICIENT_SIZE.

        Raises BAD_STATE unless the last run ended with one of these two.
        """
        if self._state != COMPLETED:
            raise bad_state(f"the execution is {self._state}; outputs are known when completed")
        if self._result is None:
            raise bad_state("the execution failed; its outputs have no dimensions")
        shapes = self._result.output_shapes
        if not 0 <= index < len(shapes):
            raise bad_data(f"output {index} does not exist; the model has {len(shapes)}")
        code = (
            ResultCode.NO_ERROR
            if shapes[index].is_sufficient
            else ResultCode.OUTPUT_INSUFFICIENT_SIZE
        )
        return shapes[index].dimensions, code

    def is_scalar_output(self, index: int) -> bool:
        """Whether an output is a scalar, which has no dimensions to ask for."""
        return self._output_operands[index].type in SCALARS

    def duration(self, code: int) -> int:
        """A duration of the last run in ns, or UNKNOWN_DURATION; raises BAD_STATE where there is
        none.
        """
        if code not in tuple(DurationCode):
            raise bad_data(f"duration code is {code}; allowed are 0 to 3")
        result = self._result
        if self._state != COMPLETED or result is None or result.status is not ErrorStatus.NONE:
            raise bad_state("durations are known after a computation that succeeded")
        if not self._measure:
            raise bad_state("durations were not asked for with setMeasureTiming")
        timing = result.timing or NO_TIMING
        on_hardware = code in (
            DurationCode.DURATION_ON_HARDWARE,
            DurationCode.FENCED_DURATION_ON_HARDWARE,
        )
        value = timing.time_on_device_ns if on_hardware else timing.time_in_driver_ns
        return UNKNOWN_DURATION if value is None else value


def _refined(operand: Operand, given: Dimensions | None) -> Dimensions:
    """The model's dimensions with those of an argument's type; raises BAD_DATA if they clash."""
    known = operand.dimensions
    if given is None or (operand.type in SCALARS and not given):
        return known
    if not known and operand.type not in SCALARS:
        return given
    if len(given) != len(known):
        raise bad_data(f"the type has dimensions {list(given)}; the model has {list(known)}")
    for declared, size in zip(known, given, strict=True):
        if declared and declared != size:
            raise bad_data(f"the type has dimensions {list(given)}; the model has {list(known)}")
    return given
