"""Execution: the arguments and results of a run, call by call as in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.argument_types import integer, wrong_type
from nnapi_shim.api.arrays import DTYPES, Array, address
from nnapi_shim.api.buffers import Target, Value, contents, target
from nnapi_shim.api.names import member
from nnapi_shim.errors import NnapiError, Place, bad_data, bad_state
from nnapi_shim.hal.enums import DurationCode
from nnapi_shim.hal.types import Dimensions, is_known
from nnapi_shim.runtime import execution as runtime
from nnapi_shim.runtime.compilation import Compilation as RuntimeCompilation
from nnapi_shim.runtime.event import Event
from nnapi_shim.runtime.operand_type import checked_type


class Executable(Protocol):
    """An object that can be executed: a Compilation."""

    @property
    def runtime(self) -> RuntimeCompilation:
        """The compilation of the runtime."""

    all_inputs: tuple[Argument, ...]
    all_outputs: tuple[Argument, ...]


class _Execution(runtime.Execution):
    """An execution that keeps its arrays alive, even if only a running thread refers to it."""

    arrays: dict[tuple[str, int], Array]


class Execution:
    """One run of a compilation; if it is reusable, several runs with the same arguments.

        execution = Execution(compilation)
        execution.set_input(0, x)
        execution.set_output(0, y)
        execution.compute()  # or start_compute().wait()

    `Compilation.run` does all this in one call. As a context manager it is closed at the end of the
    block. Methods raise NnapiError with the result codes of the C functions.
    """

    def __init__(self, compilation: Executable, *, reusable: bool = False) -> None:
        item = getattr(compilation, "runtime", None)
        if not isinstance(item, RuntimeCompilation):
            raise wrong_type("compilation", compilation, "a nnapi_shim.Compilation")
        self._execution: _Execution | None = _Execution(item)
        self._execution.arrays = {}
        self._inputs = compilation.all_inputs
        self._outputs = compilation.all_outputs
        if reusable:
            self.set_reusable(True)

    @property
    def runtime(self) -> runtime.Execution:
        """The execution of the runtime, which is also the target of a C handle."""
        return self._open()

    def _open(self) -> _Execution:
        if self._execution is None:
            raise bad_state("the execution is closed", "execution.closed")
        return self._execution

    # Arguments

    def set_input(self, index: int, value: Value | None) -> None:
        """Set an input, or omit it (None). The value determines dimensions that are unknown in the
        model.

        An array or tensor (DLPack) of the input's element type in row-major order is read in place
        by every computation, as is a buffer (bytes, array.array, mmap), which takes the input's
        dimensions; any other value is converted once, now.
        """
        execution, argument = self._open(), _at("input", self._inputs, index)
        if value is None:
            execution.set_argument("input", index, None, 0, 0)
            return
        array = input_contents(index, value, argument)
        execution.set_argument(
            "input",
            index,
            lambda: checked_type(
                argument.type,
                array.shape or None,
                array.ndim,
                argument.scale,
                argument.zero_point,
            )[1],
            address(array),
            array.nbytes,
        )
        execution.arrays["input", index] = array

    def set_output(self, index: int, value: Target | None) -> Array | None:
        """Set the array, tensor (DLPack) or buffer that an output is written to; None omits it.

        It must have the output's element type, be writable and in row-major order, and have the
        output's dimensions if the model knows them; else it need only be large enough. Returns an
        array that shares its memory.
        """
        execution, argument = self._open(), _at("output", self._outputs, index)
        if value is None:
            execution.set_argument("output", index, None, 0, 0)
            return None
        array = target(f"output {index}", value, argument.type, argument.dimensions)
        _require_writable(index, argument, array)
        execution.set_argument("output", index, None, address(array), array.nbytes)
        execution.arrays["output", index] = array
        return array

    def set_reusable(self, reusable: bool) -> None:
        """Whether the execution may be computed several times, one after another."""
        self._open().set_reusable(reusable)

    def set_timeout(self, duration_ns: int) -> None:
        """The longest computation time in ns; for single-device compilations."""
        self._open().set_timeout(integer("duration_ns", duration_ns))

    def set_loop_timeout(self, duration_ns: int) -> None:
        """The longest time of a WHILE in ns."""
        self._open().set_loop_timeout(integer("duration_ns", duration_ns))

    def set_measure_timing(self, measure: bool) -> None:
        """Whether durations are measured; for single-device compilations."""
        self._open().set_measure_timing(measure)

    # Running

    def compute(self) -> None:
        """Compute on this thread, without holding the GIL."""
        execution = self._open()
        try:
            execution.compute()
        except NnapiError:
            raise
        except BaseException:  # raised by a signal handler, such as KeyboardInterrupt
            execution.abandon()
            raise

    def start_compute(self) -> Event:
        """Compute on a library thread; `wait()` of the event returns, or raises, at the end.

        The arrays are kept alive until then, independently of this object and the event.
        """
        return self._open().start_compute()

    # Results

    def output_dimensions(self, index: int) -> Dimensions:
        """The dimensions of an output in the last run, also if its array was too small."""
        return self._open().output_dimensions(integer("index", index))[0]

    def duration(self, code: DurationCode | str) -> int | None:
        """A duration of the last run in ns; None if the device does not report it."""
        value = self._open().duration(member(DurationCode, code))
        return None if value == runtime.UNKNOWN_DURATION else value

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Raises TypeError: arguments refer to memory of this process."""
        raise TypeError("an Execution cannot be pickled or copied; a Compilation can")

    def released(self) -> _Execution:
        """The execution of the runtime without its arrays, for a caller that sets new ones."""
        execution = self._open()
        execution.arrays = {}
        return execution

    def close(self) -> None:
        """Release the execution and its arrays; a running computation completes."""
        self._execution = None

    def __enter__(self) -> Execution:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _at(role: str, arguments: Sequence[Argument], index: int) -> Argument:
    index = integer(f"the index of an {role}", index, "an integer", None)
    if not 0 <= index < len(arguments):
        raise bad_data(
            f"{role} {index} does not exist; the model has {len(arguments)}",
            "execution.argument.index",
        )
    return arguments[index]


def input_contents(index: int, value: Any, argument: Argument) -> Array:
    """The value of an input as an array that can be read in place."""
    try:
        return contents(value, argument.type, argument.dimensions, argument.scale)
    except NnapiError as error:
        raise error.at(Place("input", index, argument.name)) from None


def _require_writable(index: int, argument: Argument, array: Array) -> None:
    """Raise BAD_DATA unless the output can be written to the array directly."""
    dtype = DTYPES[argument.type]
    if array.dtype != dtype:
        raise bad_data(
            f"output {index} is given as {array.dtype}; {argument.type.name} needs {dtype}",
            "execution.set-output.array-type",
        )
    if not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
        raise bad_data(
            f"output {index}: the array cannot be written to as it is; it must be writable, "
            "aligned and in row-major order",
            "execution.set-output.array-memory",
        )
    known = is_known(argument.type, argument.dimensions)
    if known and array.shape != argument.dimensions:
        raise bad_data(
            f"output {index} is given as {list(array.shape)}; its dimensions are "
            f"{list(argument.dimensions)}",
            "execution.set-output.array-dimensions",
        )
