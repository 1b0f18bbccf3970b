"""IPreparedModel and IExecution of the devices of engines."""

from collections.abc import Callable, Sequence
from enum import Enum
from time import monotonic_ns
from typing import Any

import numpy as np

from nnapi_shim import address, process, savers
from nnapi_shim.drivers.engines.device_buffer import DeviceBuffer, require_generation
from nnapi_shim.drivers.engines.engine import Buffer, Engine, File, Network, Run, Target, Wishes
from nnapi_shim.drivers.engines.limited import attempted, end_of, limited, require_time
from nnapi_shim.drivers.engines.rules import Resolved, computed, resolved
from nnapi_shim.drivers.time_limit import time_limit_ns
from nnapi_shim.errors import op_failed
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import ErrorStatus, OperandLifeTime, OperationType
from nnapi_shim.hal.quantization import ELEMENT_BYTES
from nnapi_shim.operations.resolve import require_outputs
from nnapi_shim.settings import DRIVER_TIMEOUT

_MOST_SHAPES = 64
"""How many combinations of dimensions a model keeps resolved."""

_MOST_SETTLED = 4
"""For how many of them a model is compiled once more, if it has unknown dimensions."""

_Key = tuple[tuple[int, ...], tuple[hal.Dimensions, ...]]
"""The positions of omitted inputs, and the dimensions of the others."""


class _State(Enum):
    """Of dimensions that have no network of their own."""

    NEW, ONCE, COMPILING = range(3)


_NEW, _ONCE, _COMPILING = _State


class EnginePreparedModel:
    """A model compiled by an engine; a request that omits inputs takes a network of its own."""

    def __init__(
        self,
        engine: Engine,
        target: Target,
        model: hal.Model,
        wishes: Wishes,
        deadline_ns: int | None,
    ) -> None:
        self.name = target.name
        self.model = model
        self.has_loops = any(
            item.type is OperationType.WHILE
            for graph in (model.main, *model.referenced)
            for item in graph.operations
        )
        self._engine = engine
        self._target = target
        self._wishes = wishes
        self._generation = process.generation[0]
        self._lock = process.lock()
        self._networks: dict[tuple[int, ...], Network] = {}
        self._settled: dict[_Key, Network | _State] = {}
        """Networks for dimensions that came twice."""
        self._shapes: dict[Any, list[Resolved]] = {}
        require_time(deadline_ns, f"{self.name} compiles the model")
        self._networks[()] = self._in_time(model, deadline_ns)

    def _in_time(self, model: hal.Model, deadline_ns: int | None) -> Network:
        wishes = self._wishes._replace(end_ns=end_of(deadline_ns, time_limit_ns()))
        return self._limited(lambda: self._compiled(model, wishes), deadline_ns)

    def _limited(self, compile: Callable[[], Network], deadline_ns: int | None) -> Network:
        what = f"{self.name} compiles the model"
        return limited(what, compile, deadline_ns, setting=DRIVER_TIMEOUT)

    def _compiled(self, model: hal.Model, wishes: Wishes) -> Network:
        engine = self._engine
        external: dict[str, Any] | None = {} if engine.takes_external else None
        written = savers.exchange(engine.format).written(model, external)
        return engine.compiled(self._target, File(*written, external or {}), wishes)

    def network(self, key: _Key, model: hal.Model, counts: bool) -> tuple[Network, bool]:
        """The network for inputs, and whether the next one for them is the same; `model` lacks the
        omitted ones, too. counts: whether this is a run that is not short of time.
        """
        omitted, inputs = key
        with self._lock:
            network = self._networks.get(omitted)
            if network is None:
                network = self._networks[omitted] = self._in_time(model, None)
            settle = getattr(network, "settled", None)
            state = self._settled.get(key, _NEW)
            if settle is None or (state is _NEW and len(self._settled) == _MOST_SETTLED):
                return network, True
            if not isinstance(state, _State):
                return state, True
            if not counts or state is _COMPILING:
                return network, False
            self._settled[key] = _ONCE if state is _NEW else _COMPILING
            if state is _NEW:
                return network, False
        settled = network  # it computes the same, and does so meanwhile on other threads
        try:
            settled = attempted(lambda: self._limited(lambda: settle(inputs), None)) or network
        finally:
            self._settled[key] = settled
        return settled, True

    def shapes(
        self, model: hal.Model, omitted: tuple[int, ...], request: hal.Request
    ) -> list[Resolved]:
        """The dimensions of the outputs of a request; raises the error of a broken rule."""
        inputs = [item.dimensions for item in request.inputs if not item.has_no_value]
        outputs = [item.dimensions for item in request.outputs]
        key = (omitted, *inputs, *outputs)
        found = self._shapes.get(key)
        if found is None:
            found = resolved(model, inputs, outputs)
            if len(self._shapes) < _MOST_SHAPES:
                self._shapes[key] = found
        return found

    def require_same_process(self) -> None:
        """Raise DEAD_OBJECT in a forked child: the engine's threads are in the parent alone."""
        require_generation(
            self._generation,
            f"the model was compiled for {self.name}",
            f"compile it again, for nnapi-cpu if {self.name} is refused there",
        )

    def createReusableExecution(
        self, request: hal.Request, measure: bool, loop_timeout_ns: int
    ) -> "EngineExecution":
        """Bind a request to this model."""
        return EngineExecution(self, request, measure, loop_timeout_ns)

    def execute(
        self, request: hal.Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> hal.ExecutionResult:
        """Bind a request and run it once."""
        return EngineExecution(self, request, measure, loop_timeout_ns).compute(deadline_ns)


class EngineExecution:
    """A request bound to a network. Its first run resolves dimensions and binds the memory."""

    def __init__(
        self,
        prepared: EnginePreparedModel,
        request: hal.Request,
        measure: bool,
        loop_timeout_ns: int,
    ) -> None:
        self._prepared = prepared
        self._request = request
        self._measure = measure
        self._loop_timeout_ns = loop_timeout_ns if prepared.has_loops else None
        main = prepared.model.main
        self._operands = [main.operands[index] for index in main.output_indexes]
        self._run: Run | None = None
        self._bound: list[Buffer | None] = []
        self._resolved: list[Resolved] = []
        self._kept: list[Any] = []
        """Copies of inputs that the engine does not read in place."""
        self._result: hal.ExecutionResult | None = None
        """The result, if no run can change it."""

    def compute(self, deadline_ns: int | None) -> hal.ExecutionResult:
        """Compute it in the engine.

        Raises MISSED_DEADLINE_PERSISTENT before the engine has begun, _TRANSIENT later; errors of
        broken rules; DEAD_OBJECT in a forked child.
        """
        started = monotonic_ns()
        prepared = self._prepared
        what = f"{prepared.name} computes"
        require_time(deadline_ns, what)
        prepared.require_same_process()
        if self._loop_timeout_ns is not None:
            end = started + self._loop_timeout_ns
            deadline_ns = end if deadline_ns is None else min(end, deadline_ns)
        if deadline_ns is None:
            run = self._run or self._prepare(direct=True)
            if run is not None:
                run.compute()
        else:  # what comes too late must not be written to the program's memory
            self._run = None
            run = self._prepare(direct=False)
            if run is not None:
                kept = self._kept  # a run that comes too late still reads them
                limited(what, lambda: _compute(run, kept), deadline_ns, run.stop)
        result = self._result if run is None else self._written(run)
        assert result is not None
        if self._measure:
            elapsed = monotonic_ns() - started
            result = result._replace(timing=hal.Timing(elapsed, elapsed))
        return result

    def _prepare(self, direct: bool) -> Run | None:
        """Bind the request. direct: whether the engine may work on the program's memory. None if
        there is nothing to compute, and `_result` is the result.
        """
        request, prepared = self._request, self._prepared
        require_outputs(prepared.model.main, request.outputs)
        omitted = tuple(at for at, item in enumerate(request.inputs) if item.has_no_value)
        model = _without(prepared.model, omitted) if omitted else prepared.model
        self._resolved = prepared.shapes(model, omitted, request)
        self._result = self._known_result()
        if self._result is not None and self._result.status is not ErrorStatus.NONE:
            return None
        kept: list[Any] = []
        given = [item for item in request.inputs if not item.has_no_value]
        inputs = [
            _buffer(model.main.operands[index].type, argument, direct, kept)
            for index, argument in zip(model.main.input_indexes, given, strict=True)
        ]
        self._bound = [
            self._output_buffer(at) if direct else None for at in range(len(request.outputs))
        ]
        key = omitted, tuple(item.dimensions for item in given)
        network, is_settled = prepared.network(key, model, direct)
        run = network.bound(inputs, self._bound)
        self._kept = kept
        if direct and is_settled and not kept:
            self._run = run
        return run

    def _known_result(self) -> hal.ExecutionResult | None:
        """The result if all dimensions are known before a run."""
        if not all(item.is_known for item in self._resolved):
            return None
        return self._sized([item.dimensions for item in self._resolved])

    def _sized(self, dimensions: Sequence[hal.Dimensions]) -> hal.ExecutionResult:
        """A result with these dimensions of the outputs, and whether their buffers are enough."""
        shapes = tuple(
            hal.OutputShape(each, _bytes(operand.type, each) <= argument.length)
            for each, operand, argument in zip(
                dimensions, self._operands, self._request.outputs, strict=True
            )
        )
        is_enough = all(shape.is_sufficient for shape in shapes)
        status = ErrorStatus.NONE if is_enough else ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
        return hal.ExecutionResult(status, shapes)

    def _output_buffer(self, at: int) -> Buffer | None:
        """The memory for an output, if the engine can write there."""
        resolved, argument, operand = (
            self._resolved[at],
            self._request.outputs[at],
            self._operands[at],
        )
        is_aligned = argument.address % ELEMENT_BYTES[operand.type] == 0
        if not (resolved.is_known and is_aligned and 0 not in resolved.dimensions):
            return None
        if argument.buffer is not None and not _holds(argument.buffer, resolved.dimensions):
            return None
        return Buffer(operand.type, resolved.dimensions, argument.address, _memory(argument))

    def _written(self, run: Run) -> hal.ExecutionResult:
        """The result of a run; writes the outputs that the engine kept in its memory."""
        if self._result is not None and None not in self._bound:
            return self._result
        arrays = {at: run.output(at) for at, to in enumerate(self._bound) if to is None}
        dimensions = [
            computed(known, operand, arrays[at].shape) if at in arrays else known.dimensions
            for at, (known, operand) in enumerate(zip(self._resolved, self._operands, strict=True))
        ]
        result = self._sized(dimensions)
        if result.status is ErrorStatus.NONE:
            for at, array in arrays.items():
                _write(array, self._operands[at], dimensions[at], self._request.outputs[at])
        return result


def _compute(run: Run, kept: list[Any]) -> None:
    """Compute while `kept` lives."""
    run.compute()


def _memory(argument: hal.RequestArgument) -> Any:
    """The engine's memory of an argument; None if it is in the program's."""
    return argument.buffer.memory if isinstance(argument.buffer, DeviceBuffer) else None


def _holds(buffer: Any, dimensions: hal.Dimensions) -> bool:
    """Whether memory of the device is for these dimensions; the run fails if it is not."""
    return bool(buffer.dimensions == dimensions)


def _write(
    array: Any, operand: hal.Operand, dimensions: hal.Dimensions, to: hal.RequestArgument
) -> None:
    """Copy an array of the engine to an argument; raises OP_FAILED for a wrong size."""
    size = _bytes(operand.type, dimensions)
    if array.nbytes != size:
        raise op_failed(
            f"the engine gave {array.nbytes} bytes for dimensions {list(dimensions)}, which have "
            f"{size}",
            "engine.output.size",
        )
    if not size:
        return
    contiguous = np.ascontiguousarray(array)
    if to.buffer is None:
        address.copy(to.address, contiguous.ctypes.data, size)
    elif _holds(to.buffer, dimensions):
        to.buffer.copyFrom(contiguous.ctypes.data, size)


def _bytes(type: Any, dimensions: hal.Dimensions) -> int:
    return ELEMENT_BYTES[type] * hal.element_count(dimensions)


def _buffer(type: Any, argument: hal.RequestArgument, direct: bool, kept: list[Any]) -> Buffer:
    """An input for the engine; a copy, added to `kept`, if it cannot be read in place."""
    where, dimensions = argument.address, argument.dimensions
    if direct and where % ELEMENT_BYTES[type] == 0:
        return Buffer(type, dimensions, where, _memory(argument))
    size = _bytes(type, dimensions)
    copy = np.empty(max(size, 1), np.uint8)
    if argument.buffer is not None:
        argument.buffer.copyTo(copy.ctypes.data, size)
    elif size:
        address.copy(copy.ctypes.data, where, size)
    kept.append(copy)
    return Buffer(type, dimensions, copy.ctypes.data)


def _without(model: hal.Model, omitted: Sequence[int]) -> hal.Model:
    """The model without some inputs, which are omitted."""
    main = model.main
    gone = {main.input_indexes[at] for at in omitted}
    operands = [
        item._replace(lifetime=OperandLifeTime.NO_VALUE) if index in gone else item
        for index, item in enumerate(main.operands)
    ]
    kept = tuple(index for index in main.input_indexes if index not in gone)
    return model._replace(main=main._replace(operands=tuple(operands), input_indexes=kept))
