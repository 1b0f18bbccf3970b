"""Compilation: a model made ready for devices, and the short way to run it."""

import math
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim import process
from nnapi_shim.api.arrays import DTYPES, Array, elements
from nnapi_shim.api.devices import Choice, Device, chosen, described
from nnapi_shim.api.execution import Execution
from nnapi_shim.api.given import integer, wrong_type
from nnapi_shim.api.model import Model, require_model
from nnapi_shim.api.names import member, unknown
from nnapi_shim.api.view import OperandView
from nnapi_shim.errors import NnapiError, bad_data, bad_state
from nnapi_shim.hal.enums import ExecutionPreference, OperandType, Priority, ResultCode
from nnapi_shim.hal.types import Dimensions, Operand, is_known
from nnapi_shim.runtime import compilation as runtime


class Argument(NamedTuple):
    """An input or output of a compiled model; a 0 in `dimensions` is an unknown one.

    name: what the model calls it, or "".
    """

    type: OperandType
    dimensions: Dimensions
    scale: float
    zero_point: int
    name: str = ""


class Compilation:
    """A finished model, compiled.

        Compilation(model, "nnapi-cpu").run([[1, 2, 3]])

    Compiled when it is made, it never changes and may be used by several threads at once. As a
    context manager it is closed at the end of the block.
    """

    def __init__(
        self,
        model: Model,
        devices: Choice | None = None,
        *,
        preference: ExecutionPreference | str = ExecutionPreference.FAST_SINGLE_ANSWER,
        priority: Priority | str = Priority.MEDIUM,
        timeout_ns: int = 0,
        cache: tuple[str | os.PathLike[str], bytes] | None = None,
    ) -> None:
        """Compile a model.

        devices: a device or several, by name or as `nnapi_shim.devices()` lists them; by default
            NNAPI chooses among all.
        timeout_ns: longest time that compiling may take, with one device given; 0 for no limit.
        cache: folder for the compiled model, and the token of 32 bytes that names it there.

        Raises NnapiError: BAD_DATA for an unknown device, and for an operation that no device
        runs; BAD_STATE for a model that is not finished.
        """
        source = require_model(model).runtime
        drivers = None if devices is None else chosen(devices)
        item = runtime.Compilation(source, drivers)
        item.set_preference(member(ExecutionPreference, preference))
        item.set_priority(member(Priority, priority))
        if timeout_ns:
            item.set_timeout(integer("timeout_ns", timeout_ns))
        if cache is not None:
            item.set_caching(*_folder_and_token(cache))
        item.finish()
        self._compilation: runtime.Compilation | None = item
        self.all_inputs, self.all_outputs = (
            tuple(map(_argument, operands, views))
            for operands, views in (
                (item.inputs, model.input_operands),
                (item.outputs, model.output_operands),
            )
        )
        """What an Execution takes and gives: all that the model has."""
        self._states = model.carried
        self._taken = _others(len(self.all_inputs), [state.input for state in self._states])
        self._given = _others(len(self.all_outputs), [state.output for state in self._states])
        self.inputs = tuple(self.all_inputs[position] for position in self._taken)
        """What `run` takes: what the model takes, without the states that it carries."""
        self.outputs = tuple(self.all_outputs[position] for position in self._given)
        """What `run` gives, without the states."""
        self.input_names, self.output_names = (
            _unique(self.inputs, "input"),
            _unique(self.outputs, "output"),
        )
        """A name for each: its own where no other has it, else input_0, output_1 and the like."""
        self._largest = [math.prod(output.dimensions) or 1 for output in self.all_outputs]
        """Elements to make room for, per output: what the largest run so far needed."""
        self._running = process.lock()
        """Held by a run of a model with states: each begins with what the one before has left."""
        self.reset()

    @property
    def runtime(self) -> runtime.Compilation:
        """The compilation of the runtime, the same object that a handle stands for in C."""
        if self._compilation is None:
            raise bad_state("the compilation is closed")
        return self._compilation

    @property
    def device(self) -> Device | None:
        """The device that runs the model; None if several share it."""
        device = self.runtime.device
        return None if device is None else described(device)

    def reset(self) -> None:
        """Let the states that are carried from run to run begin anew."""
        self._state = [state.initial for state in self._states]

    def run(self, *inputs: ArrayLike | None, **named: ArrayLike | None) -> Any:
        """Compute the model: an array, or a tuple of arrays if it has several outputs.

        inputs, named: one for each of `inputs`, by position or by its name (`input_names`),
            converted where necessary; None omits one.

        Output dimensions need not be known: a first attempt asks the device where they are not.
        Raises NnapiError.
        """
        results = self._run(self._in_order(inputs, named) if named else inputs)
        return results[0] if len(results) == 1 else results

    def run_named(self, inputs: Mapping[str, ArrayLike | None]) -> dict[str, Array]:
        """As `run`, from inputs by name (`input_names`) to outputs by name (`output_names`)."""
        results = self._run(self._in_order((), inputs))
        return dict(zip(self.output_names, results, strict=True))

    def _in_order(
        self, inputs: Sequence[ArrayLike | None], named: Mapping[str, ArrayLike | None]
    ) -> list[ArrayLike | None]:
        """The inputs by position; raises BAD_DATA for names that do not stand for the others."""
        wanted = self.input_names[len(inputs) :]
        for name in named:
            if name not in wanted:
                if name in self.input_names:
                    raise bad_data(f"input {name!r} is given twice", "twice")
                raise unknown("input", name, list(self.input_names))
        missing = [name for name in wanted if name not in named]
        if missing:
            told = f"nothing is given for {', '.join(map(repr, missing))}; None omits an input"
            raise bad_data(told, "missing")
        return [*inputs, *(named[name] for name in wanted)]

    def _run(self, inputs: Sequence[ArrayLike | None]) -> tuple[Array, ...]:
        if len(inputs) != len(self.inputs):
            raise bad_data(f"{len(inputs)} inputs given; the model has {len(self.inputs)}")
        arrays = [
            None if value is None else elements(value, argument.type)
            for value, argument in zip(inputs, self.inputs, strict=True)
        ]
        if not self._states:
            return self._results(arrays)
        with self._running:
            given: list[Array | None] = [None] * len(self.all_inputs)
            for position, array in zip(self._taken, arrays, strict=True):
                given[position] = array
            for state, value in zip(self._states, self._state, strict=True):
                given[state.input] = value
            results = self._results(given)
            self._state = [results[state.output] for state in self._states]
        return tuple(results[position] for position in self._given)

    def _results(self, inputs: Sequence[Array | None]) -> tuple[Array, ...]:
        """All outputs of a run."""
        results = None
        while results is None:
            results = self._attempt(inputs)
        return results

    def _attempt(self, inputs: Sequence[Array | None]) -> tuple[Array, ...] | None:
        """The outputs; None when their buffers were too small, and are larger from now on."""
        execution = Execution(self)
        for index, value in enumerate(inputs):
            execution.set_input(index, value)
        buffers = []
        for index, output in enumerate(self.all_outputs):
            known = is_known(output.type, output.dimensions)
            shape = output.dimensions if known else self._largest[index]
            buffers.append(np.empty(shape, DTYPES[output.type]))
            execution.set_output(index, buffers[-1])
        try:
            execution.compute()
        except NnapiError as error:
            if error.code is not ResultCode.OUTPUT_INSUFFICIENT_SIZE or not self._grow(
                execution, buffers
            ):
                raise
            return None
        return tuple(
            _trimmed(buffer, execution.output_dimensions(index))
            for index, buffer in enumerate(buffers)
        )

    def _grow(self, execution: Execution, buffers: Sequence[Array]) -> bool:
        """Make room for what a run turned out to need; whether that changes anything."""
        grown = False
        for index, buffer in enumerate(buffers):
            needed = math.prod(execution.output_dimensions(index))
            if needed > buffer.size:
                self._largest[index] = max(self._largest[index], needed)
                grown = True
        return grown

    def close(self) -> None:
        """Let the compilation go. Executions of it that are under way come to their end."""
        self._compilation = None

    def __enter__(self) -> "Compilation":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _folder_and_token(cache: object) -> tuple[str, bytes]:
    if isinstance(cache, tuple | list) and len(cache) == 2:
        folder, token = cache
        if isinstance(folder, str | os.PathLike) and isinstance(token, bytes):
            return os.fspath(folder), token
    raise wrong_type("cache", cache, "a folder and a token of 32 bytes, such as ('folder', token)")


def _argument(operand: Operand, view: OperandView) -> Argument:
    return Argument(operand.type, operand.dimensions, operand.scale, operand.zero_point, view.name)


def _others(count: int, positions: Sequence[int]) -> list[int]:
    """The positions below `count` that are not among these."""
    return [position for position in range(count) if position not in positions]


def _unique(arguments: Sequence[Argument], role: str) -> tuple[str, ...]:
    """A name for each argument that no other one has."""
    names = [argument.name for argument in arguments]
    return tuple(
        name if name and names.count(name) == 1 else f"{role}_{position}"
        for position, name in enumerate(names)
    )


def _trimmed(buffer: Array, dimensions: Dimensions) -> Array:
    """The part of a buffer that a run has written; a copy if that is less than the whole."""
    if buffer.shape == dimensions:
        return buffer
    count = math.prod(dimensions)
    used = buffer.reshape(-1)[:count]
    return (used if count == buffer.size else used.copy()).reshape(dimensions)
