"""Compilation: a model made ready for devices, and the short way to run it."""

import math
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nnapi_shim.api.arrays import DTYPES, Array, elements
from nnapi_shim.api.devices import Choice, Device, chosen, described
from nnapi_shim.api.execution import Execution
from nnapi_shim.api.given import integer, wrong_type
from nnapi_shim.api.model import Model, require_model
from nnapi_shim.api.names import member
from nnapi_shim.errors import NnapiError, bad_data, bad_state
from nnapi_shim.hal.enums import ExecutionPreference, OperandType, Priority, ResultCode
from nnapi_shim.hal.types import Dimensions, Operand, is_known
from nnapi_shim.runtime import compilation as runtime


class Argument(NamedTuple):
    """An input or output of a compiled model; a 0 in `dimensions` is an unknown one."""

    type: OperandType
    dimensions: Dimensions
    scale: float
    zero_point: int


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
        self.inputs = tuple(map(_argument, item.inputs))
        """What the model takes."""
        self.outputs = tuple(map(_argument, item.outputs))
        """What the model gives."""
        self._largest = [math.prod(output.dimensions) or 1 for output in self.outputs]
        """Elements to make room for, per output: what the largest run so far needed."""

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

    def run(self, *inputs: ArrayLike | None) -> Any:
        """Compute the model: an array, or a tuple of arrays if it has several outputs.

        inputs: one for each of the model's, converted where necessary; None omits one.

        Output dimensions need not be known: a first attempt asks the device where they are not.
        Raises NnapiError.
        """
        if len(inputs) != len(self.inputs):
            raise bad_data(f"{len(inputs)} inputs given; the model has {len(self.inputs)}")
        arrays = [
            None if value is None else elements(value, argument.type)
            for value, argument in zip(inputs, self.inputs, strict=True)
        ]
        results = None
        while results is None:
            results = self._attempt(arrays)
        return results[0] if len(results) == 1 else results

    def _attempt(self, inputs: Sequence[Array | None]) -> tuple[Array, ...] | None:
        """The outputs; None when their buffers were too small, and are larger from now on."""
        execution = Execution(self)
        for index, value in enumerate(inputs):
            execution.set_input(index, value)
        buffers = []
        for index, output in enumerate(self.outputs):
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


def _argument(operand: Operand) -> Argument:
    return Argument(operand.type, operand.dimensions, operand.scale, operand.zero_point)


def _trimmed(buffer: Array, dimensions: Dimensions) -> Array:
    """The part of a buffer that a run has written; a copy if that is less than the whole."""
    if buffer.shape == dimensions:
        return buffer
    count = math.prod(dimensions)
    used = buffer.reshape(-1)[:count]
    return (used if count == buffer.size else used.copy()).reshape(dimensions)
