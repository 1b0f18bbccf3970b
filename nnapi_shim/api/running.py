"""Runs of a compilation: arrays in, new arrays out.

Binding arguments takes longer than running a small model. A runner therefore keeps finished
executions, and the next run with the same input dimensions only sets new addresses.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nnapi_shim.address import address_of
from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.execution import Execution, input_contents
from nnapi_shim.errors import NnapiError, bad_data, bad_state
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Dimensions, is_known
from nnapi_shim.runtime import compilation as runtime
from nnapi_shim.runtime.execution import Execution as RuntimeExecution

_MOST_SHAPES = 8
"""The most combinations of input dimensions with kept executions."""


class _Kept(NamedTuple):
    """Executions for one combination of input dimensions."""

    outputs: tuple[tuple[Dimensions, np.dtype[Any]], ...]
    free: list[RuntimeExecution]
    """Executions that no run is using."""


class Runner:
    """Runs a compilation; thread-safe."""

    def __init__(
        self,
        item: runtime.Compilation,
        inputs: tuple[Argument, ...],
        outputs: tuple[Argument, ...],
    ) -> None:
        self._runtime: runtime.Compilation | None = item
        self.all_inputs = inputs
        self.all_outputs = outputs
        self._input_types = tuple(DTYPES.get(argument.type) for argument in inputs)
        self._output_types = tuple(DTYPES.get(argument.type) for argument in outputs)
        self._largest = [math.prod(output.dimensions) or 1 for output in outputs]
        """Buffer elements per output: the largest count of any run so far."""
        self._kept: dict[tuple[Dimensions | None, ...], _Kept] = {}

    @property
    def runtime(self) -> runtime.Compilation:
        """The compilation of the runtime; raises BAD_STATE for a closed one."""
        if self._runtime is None:
            raise bad_state("the compilation is closed", "compilation.closed")
        return self._runtime

    @property
    def is_closed(self) -> bool:
        """Whether the compilation is closed."""
        return self._runtime is None

    def close(self) -> None:
        """Release the compilation."""
        self._runtime = None
        self._kept = {}

    def run(
        self, values: Sequence[Any], out: Sequence[Any] | None = None
    ) -> tuple[Array, ...] | list[Array]:
        """All outputs of a run, from all inputs.

        out: the destinations of outputs; None for a new array.
        """
        if len(values) != len(self._input_types):
            message = f"{len(values)} inputs given; the model has {len(self._input_types)}"
            raise bad_data(message, "compilation.run.input-count")
        for value, expected in zip(values, self._input_types, strict=True):
            if type(value) is not np.ndarray or value.dtype != expected:
                values = self.as_arrays(values)
                break
            flags = value.flags
            if not (flags.c_contiguous and flags.aligned):
                values = self.as_arrays(values)
                break
        kept = self._kept.get(tuple([None if v is None else v.shape for v in values]))
        if kept is not None and kept.free:
            results = _run_again(kept, values, out)
            if results is not None:
                return results
        attempt = None
        while attempt is None:
            attempt = self._attempt(values, out)
        return attempt

    def as_arrays(self, values: Sequence[Any]) -> list[Array | None]:
        """The inputs as arrays that can be read in place."""
        return [
            None if value is None else input_contents(index, value, argument)
            for index, (value, argument) in enumerate(zip(values, self.all_inputs, strict=True))
        ]

    def _attempt(
        self, inputs: Sequence[Array | None], out: Sequence[Any] | None
    ) -> tuple[Array, ...] | None:
        """The outputs; None if their buffers were too small; later attempts use larger ones."""
        execution = Execution(self, reusable=True)
        # A scalar is accepted for a tensor of one element.
        inputs = [
            value.reshape(1)
            if value is not None and not value.ndim and argument.dimensions == (1,)
            else value
            for value, argument in zip(inputs, self.all_inputs, strict=True)
        ]
        for index, value in enumerate(inputs):
            execution.set_input(index, value)
        buffers: list[Any] = []
        for index, output in enumerate(self.all_outputs):
            buffer = None if out is None else out[index]
            if buffer is None:
                known = is_known(output.type, output.dimensions)
                shape = output.dimensions if known else self._largest[index]
                buffer = np.empty(shape, self._output_types[index])
            buffers.append(execution.set_output(index, buffer))
        try:
            execution.compute()
        except NnapiError as error:
            if (
                error.code is not ResultCode.OUTPUT_INSUFFICIENT_SIZE
                or out is not None
                or not self._grow(execution, buffers)
            ):
                raise
            return None
        shapes = tuple(execution.output_dimensions(index) for index in range(len(buffers)))
        if out is None:
            self._keep(inputs, shapes, execution.released())
        return tuple(map(_trimmed, buffers, shapes))

    def _keep(
        self,
        inputs: Sequence[Array | None],
        shapes: tuple[Dimensions, ...],
        execution: RuntimeExecution,
    ) -> None:
        """Keep a finished execution for other runs, if its device can set new addresses."""
        if not execution.can_recompute or self._runtime is None:
            return
        arrays = [array for array in inputs if array is not None]
        if len(arrays) < len(inputs):
            return
        key = tuple([array.shape for array in arrays])
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= _MOST_SHAPES:
                self._kept = {}
            types = (type for type in self._output_types if type is not None)
            kept = _Kept(tuple(zip(shapes, types, strict=True)), [])
            self._kept[key] = kept
        kept.free.append(execution)

    def _grow(self, execution: Execution, buffers: Sequence[Array]) -> bool:
        """Increase the buffer sizes to those that a run needed; returns whether any changed."""
        changed = False
        for index, buffer in enumerate(buffers):
            needed = math.prod(execution.output_dimensions(index))
            if needed > buffer.size:
                self._largest[index] = max(self._largest[index], needed)
                changed = True
        return changed


def _run_again(
    kept: _Kept, inputs: Sequence[Array], out: Sequence[Any] | None
) -> list[Array] | None:
    """A run by a kept execution; None without a run if no execution is free or the arguments need
    the full path.
    """
    if out is None:
        results = [np.empty(shape, dtype) for shape, dtype in kept.outputs]
        addresses = [address_of(array)[0] for array in (*inputs, *results)]
    else:
        targets = _targets(kept, out)
        if targets is None:
            return None
        results = targets
        addresses = [address_of(array)[0] for array in (*inputs, *results)]
        if _share_bytes((*inputs, *results), addresses, len(inputs)):
            return None
    try:
        execution = kept.free.pop()
    except IndexError:
        return None
    execution.recompute(addresses)
    kept.free.append(execution)  # a failed execution is dropped
    return results


def _targets(kept: _Kept, out: Sequence[Any]) -> list[Array] | None:
    """The destinations of outputs; None if one does not match exactly."""
    results = []
    for target, (shape, dtype) in zip(out, kept.outputs, strict=True):
        array = np.empty(shape, dtype) if target is None else target
        if type(array) is not np.ndarray or array.dtype != dtype or array.shape != shape:
            return None
        if not array.flags.carray:
            return None
        results.append(array)
    return results


def _share_bytes(arrays: Sequence[Array], addresses: Sequence[int], first_output: int) -> bool:
    """Whether an output overlaps an input or another output."""
    ends = [start + array.nbytes for start, array in zip(addresses, arrays, strict=True)]
    return any(
        addresses[at] < ends[other] and addresses[other] < ends[at]
        for at in range(first_output, len(arrays))
        for other in range(at)
    )


def _trimmed(buffer: Array, dimensions: Dimensions) -> Array:
    """The written part of a buffer; a copy if it is smaller than the buffer."""
    if buffer.shape == dimensions:
        return buffer
    count = math.prod(dimensions)
    used = buffer.reshape(-1)[:count]
    return (used if count == buffer.size else used.copy()).reshape(dimensions)
