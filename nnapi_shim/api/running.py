"""Runs of a compilation: arrays in, new arrays out.

Binding arguments takes longer than running a small model. A runner therefore keeps finished
executions, and the next run with the same input dimensions only sets new addresses (rerun.py).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi_shim.api.argument import Argument
from nnapi_shim.api.arrays import DTYPES, Array
from nnapi_shim.api.execution import Execution, input_contents
from nnapi_shim.api.rerun import Kept, Rerun, kept_of
from nnapi_shim.errors import NnapiError, bad_data, bad_state
from nnapi_shim.hal.enums import ResultCode
from nnapi_shim.hal.types import Dimensions, is_known
from nnapi_shim.runtime import compilation as runtime
from nnapi_shim.runtime.execution import Execution as RuntimeExecution
from nnapi_shim.units import count

_MOST_SHAPES = 8
"""The most combinations of input dimensions with kept executions."""


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
        self._output_types = tuple(DTYPES.get(argument.type) for argument in outputs)
        self._largest = [math.prod(output.dimensions) or 1 for output in outputs]
        """Buffer elements per output: the largest count of any run so far."""
        self._kept: dict[tuple[Dimensions | None, ...], Kept] = {}
        self._rerun: Rerun | None = None
        """Runs a kept execution with the dimensions of the last run."""
        self.recent: Kept | None = None
        """The executions that it takes."""

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
        self._rerun = self.recent = None

    def run(self, values: tuple[Any, ...], out: tuple[Any, ...] | None = None) -> tuple[Array, ...]:
        """All outputs of a run, from all inputs.

        out: the destinations of outputs; None for a new array.
        """
        rerun = self._rerun
        if rerun is not None:
            results = rerun(values, out)
            if results is not None:
                return results
        return self._run(values, out)

    def _run(self, values: tuple[Any, ...], out: tuple[Any, ...] | None) -> tuple[Array, ...]:
        """As `run`, where the execution of the last run is of no use."""
        if len(values) != len(self.all_inputs):
            message = f"{count(len(values), 'input')} given; the model has {len(self.all_inputs)}"
            raise bad_data(message, "compilation.run.input-count")
        results = self._run_kept(values, out)
        if results is None:
            arrays = self.as_arrays(values)
            results = self._run_kept(arrays, out)
        while results is None:
            results = self._attempt(arrays, out)
        return results

    def _run_kept(
        self, values: tuple[Any, ...], out: tuple[Any, ...] | None
    ) -> tuple[Array, ...] | None:
        """A run by an execution that is kept for the dimensions of these arrays, or None."""
        kept = self._kept.get(
            tuple([value.shape if type(value) is np.ndarray else None for value in values])
        )
        if kept is None:
            return None
        self.recent, self._rerun = kept, kept.rerun
        return self._rerun(values, out)

    def as_arrays(
        self, values: Sequence[Any], positions: Sequence[int] | None = None
    ) -> tuple[Array | None, ...]:
        """The inputs at these positions, by default all, as arrays that can be read in place."""
        if positions is None:
            positions = range(len(self.all_inputs))
        return tuple(
            [
                None if value is None else input_contents(at, value, self.all_inputs[at])
                for at, value in zip(positions, values, strict=True)
            ]
        )

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
        program = execution.rerun
        if program is None or self._runtime is None:
            return
        arrays = [array for array in inputs if array is not None]
        if len(arrays) < len(inputs):
            return
        key = tuple([array.shape for array in arrays])
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= _MOST_SHAPES:
                self._kept = {}
            types = [type for type in self._output_types if type is not None]
            kept = self._kept[key] = kept_of(arrays, list(zip(shapes, types, strict=True)))
        kept.free.append((program, execution))
        self.recent, self._rerun = kept, kept.rerun

    def _grow(self, execution: Execution, buffers: Sequence[Array]) -> bool:
        """Increase the buffer sizes to those that a run needed; returns whether any changed."""
        changed = False
        for index, buffer in enumerate(buffers):
            needed = math.prod(execution.output_dimensions(index))
            if needed > buffer.size:
                self._largest[index] = max(self._largest[index], needed)
                changed = True
        return changed


def _trimmed(buffer: Array, dimensions: Dimensions) -> Array:
    """The written part of a buffer; a copy if it is smaller than the buffer."""
    if buffer.shape == dimensions:
        return buffer
    count = math.prod(dimensions)
    used = buffer.reshape(-1)[:count]
    return (used if count == buffer.size else used.copy()).reshape(dimensions)
