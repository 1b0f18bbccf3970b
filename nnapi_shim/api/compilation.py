"""Compilation: a model compiled for devices, and its one-call execution."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, overload

from nnapi_shim import process
from nnapi_shim.api.argument import argument_of
from nnapi_shim.api.argument_types import folder_and_token, integer, wrong_type
from nnapi_shim.api.arrays import Array
from nnapi_shim.api.base_model import WholeModel, require_model
from nnapi_shim.api.buffers import Target, Value
from nnapi_shim.api.devices import Choice, Device, chosen, described
from nnapi_shim.api.names import member, unique_names, unknown
from nnapi_shim.api.recurrent_state import Carrying
from nnapi_shim.api.running import Runner
from nnapi_shim.api.stepping import Stepping, stepping_of
from nnapi_shim.api.types import Outputs
from nnapi_shim.errors import bad_data
from nnapi_shim.hal.enums import ExecutionPreference, Priority
from nnapi_shim.runtime import compilation as runtime
from nnapi_shim.runtime.model import Model as RuntimeModel
from nnapi_shim.units import count, duration

if TYPE_CHECKING:
    from concurrent.futures import Future

    from nnapi_shim.api import pickling
    from nnapi_shim.api.drawing import Values
    from nnapi_shim.api.futures import InTurn
    from nnapi_shim.api.intermediates import Intermediates


class Compilation:
    """A compiled model.

        Compilation(model, "nnapi-cpu").run([[1, 2, 3]])

    It is compiled on construction, is immutable, and may be used by several threads at once. As a
    context manager it is closed at the end of the block.
    """

    def __init__(
        self,
        model: WholeModel,
        devices: Choice | None = None,
        *,
        preference: ExecutionPreference | str = ExecutionPreference.FAST_SINGLE_ANSWER,
        priority: Priority | str = Priority.MEDIUM,
        timeout_ns: int = 0,
        cache: tuple[str | os.PathLike[str], bytes] | None = None,
    ) -> None:
        """Compile a finished model.

        devices: a device or several, by name or as listed by `nnapi_shim.devices()`; by default
            NNAPI partitions the model among all.
        timeout_ns: the longest compilation time in ns, for a single device; 0 for no limit.
        cache: the cache folder and the token of 32 bytes that identifies the compiled model.

        Raises NnapiError: BAD_DATA for an unknown device, and for an operation that no device
            supports; BAD_STATE for an unfinished model.
        """
        source = require_model(model).runtime
        self._options: dict[str, Any] = {
            "devices": None if devices is None else [device.name for device in chosen(devices)],
            "preference": preference,
            "priority": priority,
            "timeout_ns": timeout_ns,
            "cache": cache,
        }
        self._kind = type(model)
        self._carried = model.carrying
        item = _created(source, **self._options)
        began = perf_counter()
        item.finish()
        self.compile_seconds = perf_counter() - began
        """The time that the compilation took."""
        self.profiled: tuple[float, Values] | None = None
        """The median time of a run and the times of operations in the last `profile()`."""
        self._graph = model.graph
        self._runner = Runner(
            item,
            tuple(map(argument_of, item.inputs, self._graph.input_operands)),
            tuple(map(argument_of, item.outputs, self._graph.output_operands)),
        )
        self.all_inputs, self.all_outputs = self._runner.all_inputs, self._runner.all_outputs
        """The arguments of an Execution: all inputs and outputs of the model."""
        self._exposed: tuple[Runner, Sequence[int]] | None = None
        self._in_turn: InTurn | None = None
        self._making = process.lock()
        """Guards the lazy construction of these."""
        self._states = model.carried
        self._taken = _others(len(self.all_inputs), [state.input for state in self._states])
        self._given = _others(len(self.all_outputs), [state.output for state in self._states])
        self.inputs = tuple(self.all_inputs[position] for position in self._taken)
        """The inputs of `run`: those of the model without the carried states."""
        self.outputs = tuple(self.all_outputs[position] for position in self._given)
        """The outputs of `run`: those of the model without the carried states."""
        self.input_names, self.output_names = (
            unique_names([item.name for item in self.inputs], "input"),
            unique_names([item.name for item in self.outputs], "output"),
        )
        """A name for each: its own if it is unique and no keyword of `run`, else input_0, output_1
        and so on.
        """
        self._running = process.lock()
        """Held during a run of a model with states: each run starts from the states of the last."""
        self._stepping: Stepping | None = None
        """Has the states, where it is possible; else they are in `_state`."""
        self.reset()

    @property
    def runtime(self) -> runtime.Compilation:
        """The compilation of the runtime, which is also the target of a C handle."""
        return self._runner.runtime

    @property
    def device(self) -> Device | None:
        """The device of a single-device compilation; None for several devices."""
        device = self.runtime.device
        return None if device is None else described(device)

    def __repr__(self) -> str:
        from nnapi_shim.api import display

        return f"<{self._title()}: {display.signature(self._graph)}>"

    def _title(self) -> str:
        if self._runner.is_closed:
            return "compilation, closed"
        device = self.device
        return f"compilation for {'several devices' if device is None else device.name}"

    def _repr_html_(self) -> str:
        """Devices, times and a picture of the graph as HTML, for notebooks."""
        from nnapi_shim.api import display, drawing

        title = f"{self._title()}: {display.counts(self._graph)}"
        if self._runner.is_closed:
            return display.html(title, self._graph)
        title += f"; compiled in {duration(self.compile_seconds)}"
        values = drawing.Values("device", self._devices())
        if self.profiled is not None:
            seconds, values = self.profiled
            title += f"; {duration(seconds)} in a run"
        return display.html(title, self._graph, drawing.draw(self._graph, values))

    def _devices(self) -> dict[int, str]:
        """The number of each operation -> the device that runs it."""
        steps = self.runtime.steps
        device_of = {index: step.device.name for step in steps for index in step.outputs}
        for step in steps:  # operands that stay within a step
            inner = set(step.operands).difference(step.inputs)
            device_of |= dict.fromkeys(inner, step.device.name)
        first = self.runtime.devices[0].name
        return {
            operation.number: device_of.get(operation.outputs[0].index, first)
            for operation in self._graph.operations
        }

    def reset(self) -> None:
        """Reset the carried states to their initial values."""
        with self._running:
            self._stepping = None
            self._state = [state.initial for state in self._states]

    @overload
    def run(
        self,
        *inputs: Value | None,
        out: Target | Sequence[Target | None] | None = None,
        intermediates: Literal[False] = False,
        **named: Value | None,
    ) -> Outputs: ...

    @overload
    def run(
        self,
        *inputs: Value | None,
        out: None = None,
        intermediates: Literal[True],
        **named: Value | None,
    ) -> Intermediates: ...

    def run(
        self,
        *inputs: Value | None,
        out: Target | Sequence[Target | None] | None = None,
        intermediates: bool = False,
        **named: Value | None,
    ) -> Outputs | Intermediates:
        """Compute the model: returns an array, or a tuple of arrays for several outputs.

        inputs, named: one for each of `inputs`, by position or by name (`input_names`). Arrays,
            tensors (DLPack) and buffers are read in place, or converted if necessary; a buffer
            takes the dimensions of its input. Floats for a quantized input are refused:
            `nnapi_shim.quantize` converts them. None omits an input.
        out: arrays, tensors or buffers to write the outputs to, one for each; None for a new array.
        intermediates: True to return the values of all operands, as `intermediates` does.

        Results share no memory with each other or with those of other runs. Unknown output
        dimensions are determined by a first attempt.
        Raises NnapiError.
        """
        values = self._in_order(inputs, named) if named else inputs
        if intermediates:
            return self.intermediates(*values)
        results = self._run(values, None if out is None else self._targets(out))
        return results[0] if len(results) == 1 else results

    def run_named(self, inputs: Mapping[str, Value | None]) -> dict[str, Array]:
        """As `run`, from inputs by name (`input_names`) to outputs by name (`output_names`)."""
        if not isinstance(inputs, Mapping):
            raise wrong_type("inputs", inputs, "a mapping from names to values")
        results = self._run(self._in_order((), inputs), None)
        return dict(zip(self.output_names, results, strict=True))

    def submit(
        self,
        *inputs: Value | None,
        out: Target | Sequence[Target | None] | None = None,
        **named: Value | None,
    ) -> Future[Outputs]:
        """As `run`, on a library thread; returns a future with the outputs or the exception.

        Arrays that need no conversion are read in place and must not change until the run ends.
        Runs of a model with states are executed in the order of the calls. `cancel()` of the future
        succeeds until the run starts; a started run completes.
        """
        from nnapi_shim.api import futures  # imported on first use: few programs need threads

        self.runtime  # noqa: B018 (raises if it is closed)
        work = partial(self.run, *inputs, out=out, **named)
        if not self._states:
            return futures.submit(work)
        with self._making:
            if self._in_turn is None:
                self._in_turn = futures.InTurn()
        return self._in_turn.submit(work)

    async def run_async(
        self,
        *inputs: Value | None,
        out: Target | Sequence[Target | None] | None = None,
        **named: Value | None,
    ) -> Outputs:
        """As `submit`, as a coroutine. A cancelled task does not wait for a started run; a run that
        has not started is never executed.
        """
        from asyncio import wrap_future

        return await wrap_future(self.submit(*inputs, out=out, **named))

    def intermediates(self, *inputs: Value | None, **named: Value | None) -> Intermediates:
        """The value of every operand in a run, by OperandView, index or name.

        The first call compiles the model again with all intermediate operands as outputs; a device
        may then fuse fewer operations. States are carried as by `run`. Raises NnapiError.
        """
        from nnapi_shim.api.intermediates import Intermediates, exposed

        values = self._in_order(inputs, named) if named else inputs
        with self._making:
            if self._exposed is None:
                self._exposed = exposed(self.runtime, self._graph)
        runner, indexes = self._exposed
        if self._states:
            with self._running:
                arguments, _, results = self._carrying(runner, values, None)
        else:
            arguments, results = values, runner.run(values)
        return Intermediates(self._graph, runner.as_arrays(arguments), results, indexes)

    def _in_order(
        self, inputs: Sequence[Value | None], named: Mapping[str, Value | None]
    ) -> tuple[Value | None, ...]:
        """The inputs by position; raises BAD_DATA for names that do not match the remaining
        inputs.
        """
        if not inputs and len(named) == len(self.input_names):
            try:
                return tuple([named[name] for name in self.input_names])
            except KeyError:
                pass  # refused below
        remaining = self.input_names[len(inputs) :]
        for name in named:
            if name not in remaining:
                if name in self.input_names:
                    raise bad_data(f"input {name!r} is given twice", "compilation.run.input-twice")
                self._require_unique(name)
                raise unknown("input", name, list(self.input_names))
        missing = [name for name in remaining if name not in named]
        if missing:
            message = f"nothing is given for {', '.join(map(repr, missing))}; None omits an input"
            raise bad_data(message, "compilation.run.input-missing")
        return (*inputs, *[named[name] for name in remaining])

    def _require_unique(self, name: str) -> None:
        """Raise BAD_DATA for a name of several inputs."""
        own = [at for at, argument in enumerate(self.inputs) if argument.name == name]
        if len(own) > 1:
            given = " and ".join(self.input_names[at] for at in own)
            raise bad_data(
                f"{len(own)} inputs have the name {name!r}; give each a name of its own, or pass "
                f"them as {given}",
                "compilation.run.input-name-twice",
            )

    def _run(
        self, inputs: tuple[Value | None, ...], out: tuple[Any, ...] | None
    ) -> tuple[Array, ...]:
        """The outputs of `run`."""
        if not self._states:
            return self._runner.run(inputs, out)
        with self._running:
            stepping = self._stepping
            if stepping is not None:
                results = stepping(inputs, out)
                if results is None and len(inputs) == len(self._taken):
                    inputs = self._runner.as_arrays(inputs, self._taken)
                    results = stepping(inputs, out)
                if results is not None:
                    return results
            return self._carrying(self._runner, inputs, out)[1]

    def _carrying(
        self, runner: Runner, inputs: tuple[Value | None, ...], out: tuple[Any, ...] | None
    ) -> tuple[tuple[Any, ...], tuple[Array, ...], tuple[Array, ...]]:
        """A run from the current states, which are then updated; `_running` is held. Returns all
        inputs, the outputs of `run`, and all outputs.
        """
        if len(inputs) != len(self._taken):
            message = f"{count(len(inputs), 'input')} given; the model has {len(self._taken)}"
            raise bad_data(message, "compilation.run.input-count")
        targets: list[Any] = [None] * len(self.all_outputs)
        for position, target in zip(self._given, out or (), strict=out is not None):
            targets[position] = target
        values: list[Any] = [None] * len(self.all_inputs)
        for position, value in zip(self._taken, inputs, strict=True):
            values[position] = value
        if self._stepping is not None:
            self._state, self._stepping = self._stepping.states(), None
        for state, carried in zip(self._states, self._state, strict=True):
            values[state.input] = carried
        results = runner.run(tuple(values), None if out is None else tuple(targets))
        self._state = [results[state.output] for state in self._states]
        if runner is self._runner:
            self._stepping = stepping_of(runner.recent, self._states, self._state)
        return tuple(values), tuple([results[position] for position in self._given]), results

    def _targets(self, out: Any) -> tuple[Any, ...]:
        """The destinations of the outputs, one for each."""
        targets = tuple(out) if isinstance(out, list | tuple) else (out,)
        if len(targets) != len(self.outputs):
            message = f"{len(targets)} places for outputs given; the model has {len(self.outputs)}"
            raise bad_data(message, "compilation.run.output-count")
        return targets

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickle and copy: the model and the compilation arguments. Unpickling compiles again
        or reads the cache; states are reset.
        """
        from nnapi_shim.api import pickling

        part = self.runtime.model.part
        assert part is not None
        state = pickling.state_of(part, int(protocol))
        return _compiled, (type(self), self._kind, state, self._carried, self._options)

    def close(self) -> None:
        """Release the compilation. Running executions of it complete."""
        self._runner.close()
        self._stepping = self._exposed = None

    def __enter__(self) -> Compilation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _compiled(
    kind: type[Compilation],
    model: type[WholeModel],
    state: pickling.State,
    carried: Carrying,
    options: dict[str, Any],
) -> Compilation:
    return kind(model.restored(state, carried), **options)


def _created(
    model: RuntimeModel,
    devices: list[str] | None,
    preference: ExecutionPreference | str,
    priority: Priority | str,
    timeout_ns: int,
    cache: object,
) -> runtime.Compilation:
    """A compilation of the runtime with these options, unfinished."""
    item = runtime.Compilation(model, None if devices is None else chosen(devices))
    item.set_preference(member(ExecutionPreference, preference))
    item.set_priority(member(Priority, priority))
    if timeout_ns:
        item.set_timeout(integer("timeout_ns", timeout_ns))
    if cache is not None:
        item.set_caching(*folder_and_token(cache))
    return item


def _others(count: int, positions: Sequence[int]) -> list[int]:
    """The positions below `count` that are not in `positions`."""
    return [position for position in range(count) if position not in positions]
