"""IPreparedModel and IExecution of the reference device: interprets one operation at a time."""

from collections.abc import Callable, Sequence
from importlib import import_module
from time import monotonic_ns
from typing import Any

import numpy as np

from nnapi_shim import address, vlog
from nnapi_shim.drivers.reference.arrays import Array, check_dimensions, dtype_of, is_float
from nnapi_shim.drivers.reference.deadline import look, until
from nnapi_shim.drivers.reference.half import stored, sums_of
from nnapi_shim.drivers.reference.precision import Precision
from nnapi_shim.errors import NnapiError, Place, op_failed
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import ErrorStatus, OperandLifeTime, OperationType, ResultCode
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.operations import bound_operand, bound_operation, family, trampoline
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.resolve import (
    check_inputs,
    check_output_scales,
    check_size,
    merge_dimensions,
    require_outputs,
    set_output,
)
from nnapi_shim.operations.trampoline import Call

_CONTROL_FLOW = (OperationType.IF, OperationType.WHILE)


class ReferencePreparedModel:
    """A model and its constants as arrays; constants in the program's memory are copied."""

    def __init__(self, model: hal.Model, precision: Precision | None = None) -> None:
        """precision: how it computes with float16; None: as the specification says."""
        self.precision = precision
        self.main = Graph(model, model.main, precision)
        self.referenced = [Graph(model, graph, precision) for graph in model.referenced]
        """Those that IF and WHILE refer to."""
        self._pools = model.pools  # keeps the memory of the constants mapped

    def createReusableExecution(
        self, request: hal.Request, measure: bool, loop_timeout_ns: int
    ) -> "ReferenceExecution":
        """Bind a request to this model."""
        return ReferenceExecution(self, request, measure, loop_timeout_ns)

    def execute(
        self, request: hal.Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> hal.ExecutionResult:
        """Bind a request and run it once."""
        execution = ReferenceExecution(self, request, measure, loop_timeout_ns)
        return execution.compute(deadline_ns)


class Graph:
    """A graph and its constants."""

    def __init__(self, model: hal.Model, graph: hal.Subgraph, precision: Precision | None) -> None:
        self.subgraph = graph
        self.constants = {
            index: _constant(model, operand)
            for index, operand in enumerate(graph.operands)
            if operand.lifetime
            in (OperandLifeTime.CONSTANT_COPY, OperandLifeTime.CONSTANT_REFERENCE)
        }
        if precision is not None:
            self.constants = {
                index: stored(values, graph.operands[index].type, precision)
                for index, values in self.constants.items()
            }


class ReferenceExecution:
    """A request bound to a prepared model; it keeps nothing from one run to the next."""

    def __init__(
        self,
        model: ReferencePreparedModel,
        request: hal.Request,
        measure: bool,
        loop_timeout_ns: int,
    ) -> None:
        self._model = model
        self._request = request
        self._measure = measure
        self._loop_timeout_ns = loop_timeout_ns

    def compute(self, deadline_ns: int | None) -> hal.ExecutionResult:
        """Run all operations, then write the outputs if every buffer is large enough.

        Raises MISSED_DEADLINE_PERSISTENT before the first operation, _TRANSIENT before another.
        """
        started = monotonic_ns()
        if deadline_ns is not None and started >= deadline_ns:
            raise NnapiError(
                ResultCode.MISSED_DEADLINE_PERSISTENT,
                "the deadline passed before the run began",
                "execution.deadline.before-start",
            )
        request = self._request
        main = self._model.main
        require_outputs(main.subgraph, request.outputs)
        operands = main.subgraph.operands
        inputs = [
            None
            if argument.has_no_value
            else _array(
                operands[index]._replace(dimensions=argument.dimensions),
                address.view(argument.address, argument.length),
            ).copy()  # others may write to the memory between check and use
            for index, argument in zip(main.subgraph.input_indexes, request.inputs, strict=True)
        ]
        if self._model.precision is not None:
            inputs = [
                None
                if value is None
                else stored(value, operands[index].type, self._model.precision)
                for index, value in zip(main.subgraph.input_indexes, inputs, strict=True)
            ]
        run = GraphRun(self._model, main, inputs, self._loop_timeout_ns)
        for index, argument in zip(main.subgraph.output_indexes, request.outputs, strict=True):
            run.operands[index].dimensions = argument.dimensions
        with until(deadline_ns):
            run.compute()
        result = self._written(run.outputs())
        if self._measure:
            elapsed = monotonic_ns() - started
            result = result._replace(timing=hal.Timing(elapsed, elapsed))
        return result

    def _written(self, operands: list[BoundOperand]) -> hal.ExecutionResult:
        """Write the outputs; if buffers are too small, write none and report which ones."""
        pairs = list(zip(operands, self._request.outputs, strict=True))
        shapes = [
            hal.OutputShape(operand.dimensions, hal.byte_size(operand) <= argument.length)
            for operand, argument in pairs
        ]
        if not all(shape.is_sufficient for shape in shapes):
            return hal.ExecutionResult(ErrorStatus.OUTPUT_INSUFFICIENT_SIZE, shapes)
        for operand, argument in pairs:
            target = address.view(argument.address, hal.byte_size(operand))
            np.copyto(_array(operand, target), operand.value)
        return hal.ExecutionResult(ErrorStatus.NONE, shapes)


class GraphRun:
    """One run of a graph; operands hold an array once they have a value."""

    def __init__(
        self,
        model: ReferencePreparedModel,
        graph: Graph,
        inputs: Sequence[Array | None],
        loop_timeout_ns: int,
        depth: int = 0,
    ) -> None:
        """inputs: None for an omitted one. loop_timeout_ns: how long each loop may take. depth:
        number of enclosing graphs.
        """
        self._model = model
        self._graph = graph.subgraph
        self._loop_timeout_ns = loop_timeout_ns
        self._depth = depth
        self.omitted: set[int] = set()
        """Inputs that this run leaves out."""
        self.operands = [
            bound_operand(index, operand, operand.dimensions)
            for index, operand in enumerate(self._graph.operands)
        ]
        for index, array in graph.constants.items():
            self.operands[index].value = array
        for index, value in zip(self._graph.input_indexes, inputs, strict=True):
            operand = self.operands[index]
            if value is None:
                self.omitted.add(index)
            else:
                operand.value, operand.dimensions = value, value.shape

    def compute(self) -> None:
        """Run all operations."""
        trampoline.run(self._operations())

    def _operations(self) -> Call[None]:
        is_logged = vlog.enabled("cpuexe")
        for item in self._graph.operations:
            location = Place("operation", item.number, OperationType(item.type).name)
            try:
                look()
                if item.type is OperationType.IF:
                    yield self._if(item)
                elif item.type is OperationType.WHILE:
                    yield self._while(item)
                else:
                    self._step(item)
                    look()  # numpy has no such limit
            except NnapiError as error:
                around = self._depth if item.type in _CONTROL_FLOW else 0
                raise trampoline.at_depth(error, location, around) from None
            if is_logged:
                shapes = [list(self.operands[index].dimensions) for index in item.outputs]
                vlog.write("cpuexe", f"nnapi-reference computed {location}: {shapes}")

    def outputs(self) -> list[BoundOperand]:
        """The outputs of the graph, computed."""
        return [self.operands[index] for index in self._graph.output_indexes]

    def _step(self, item: hal.Operation) -> None:
        """Bind, check and compute one operation."""
        op = bound_operation(item, self.operands, self._input, self.operands.__getitem__)
        try:
            self._run(op, item)
        except NnapiError as error:
            raise op.refused(error) from None

    def _run(self, op: BoundOperation, item: hal.Operation) -> None:
        declaration, outputs = op.match.operation, op.outputs
        check_inputs(op)
        for check in declaration.checks:
            check(op)
        parameters = declaration.quantization(op)
        check_output_scales(op, parameters)
        for operand, (scale, zero_point) in zip(outputs, parameters, strict=True):
            if not operand.is_model_output:  # declared dimensions of temporaries are ignored
                operand.scale, operand.zero_point = scale, zero_point
        misfit = _check_sizes(op)
        try:
            # Overflow, division by zero and NaN are results, not warnings.
            with np.errstate(all="ignore"):
                arrays = self._computed(op, item)
        except NnapiError as error:
            if misfit is None or misfit.code != error.code:
                raise
            raise misfit from None
        for operand, name, array, (scale, zero_point) in zip(
            outputs, op.match.output_names, arrays, parameters, strict=True
        ):
            _store(operand, name, array, scale, zero_point)

    def _computed(self, op: BoundOperation, item: hal.Operation) -> Sequence[Array]:
        """The results of the formula, in the precision of the model."""
        compute, precision = formula(op.match.operation.type), self._model.precision
        if precision is None or not precision.computes(item, self._depth):
            return compute(op)
        with sums_of(precision if is_float(op.outputs[0]) else None):
            arrays = compute(op)
        return [
            stored(array, operand.type, precision)
            for operand, array in zip(op.outputs, arrays, strict=True)
        ]

    def _input(self, index: int, is_value: bool) -> Any:
        """What the name of an input is bound to: an operand, a Python value, None if omitted."""
        operand = self.operands[index]
        if self._is_omitted(index):
            return None
        if not is_value:
            return operand
        if operand.type not in SCALARS:
            return tuple(operand.value.ravel().tolist())
        value = operand.value.item()
        return bool(value) if operand.type.name == "BOOL" else value

    def _is_omitted(self, index: int) -> bool:
        no_value = self._graph.operands[index].lifetime is OperandLifeTime.NO_VALUE
        return no_value or index in self.omitted

    # IF and WHILE

    def _if(self, item: hal.Operation) -> Call[None]:
        """Run one of both graphs: outputs = graph(inputs)."""
        condition, then, otherwise, *inputs = item.inputs
        if self._is_omitted(condition):
            raise op_failed("condition is omitted; IF needs it", "operation.input.omitted")
        chosen = then if self._is_true(self.operands[condition].value) else otherwise
        word = "then" if chosen == then else "else"
        values = [self._input_value(index) for index in inputs]
        self._finish(item, (yield self._run_graph(chosen, values, word)))

    def _while(self, item: hal.Operation) -> Call[None]:
        """As long as condition_model(state): state[:k] = body_model(state); outputs = state[:m]."""
        condition, body, *inputs = item.inputs
        state = [self._input_value(index) for index in inputs]
        started = monotonic_ns()
        while True:
            (goes_on,) = yield self._run_graph(condition, state, "condition")
            if not self._is_true(goes_on):
                break
            look()
            if monotonic_ns() - started > self._loop_timeout_ns:
                raise NnapiError(
                    ResultCode.MISSED_DEADLINE_TRANSIENT,
                    "the loop took longer than it may",
                    "while.timeout",
                )
            results = yield self._run_graph(body, state, "body")
            state = [*results, *state[len(results) :]]
        self._finish(item, state[: len(item.outputs)])

    def _is_true(self, value: Array | None) -> bool:
        return value is not None and bool(value.ravel()[0])

    def _input_value(self, index: int) -> Array | None:
        return None if self._is_omitted(index) else self.operands[index].value

    def _run_graph(
        self, model_operand: int, inputs: Sequence[Array | None], word: str
    ) -> Call[list[Array | None]]:
        graph = self._model.referenced[self._graph.operands[model_operand].location.offset]
        try:
            for index, array in zip(graph.subgraph.input_indexes, inputs, strict=True):
                if array is not None:
                    merge_dimensions(graph.subgraph.operands[index].dimensions, array.shape)
            run = GraphRun(self._model, graph, inputs, self._loop_timeout_ns, self._depth + 1)
            yield run._operations()
        except NnapiError as error:
            raise trampoline.at_depth(error, word, self._depth) from None
        return [output.value for output in run.outputs()]

    def _finish(self, item: hal.Operation, arrays: Sequence[Array | None]) -> None:
        for position, (index, array) in enumerate(zip(item.outputs, arrays, strict=True)):
            if array is None:
                raise op_failed(
                    f"input {position} is omitted; no round gave it a value", "while.output-omitted"
                )
            operand = self.operands[index]
            _store(operand, f"output {position}", array, operand.scale, operand.zero_point)


def _check_sizes(op: BoundOperation) -> NnapiError | None:
    """Raise OP_FAILED for outputs that are too large or have too many dimensions, before arrays are
    allocated.

    The formulas detect other errors of shapes themselves; the returned messages are those that all
    devices use.
    """
    try:
        sizes = op.match.operation.shape(op)
    except NnapiError as error:
        return error
    for operand, name, dimensions in zip(op.outputs, op.match.output_names, sizes, strict=True):
        check_size(operand, name, dimensions)
        check_dimensions(dimensions)
    return None


def _store(operand: Any, name: str, array: Array, scale: float, zero_point: int) -> None:
    """Set an output to its result; zeros if the declared size is kept although there is no data."""
    set_output(operand, name, array.shape, scale, zero_point)
    operand.value = array if array.size else np.zeros(operand.dimensions, array.dtype)


def formula(type: OperationType) -> Callable[[BoundOperation], list[Array]]:
    """The function that computes an operation's outputs: `softmax` in `softmax.py`."""
    module = import_module(f"nnapi_shim.drivers.reference.{family(type)}")
    return getattr(module, type.name.lower())


def _constant(model: hal.Model, operand: hal.Operand) -> Array:
    where = operand.location
    if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
        data: Any = memoryview(model.operand_values)[where.offset : where.offset + where.length]
    else:
        # A copy, as of inputs.
        data = address.read(model.pools[where.pool_index].map() + where.offset, where.length)
    return _array(operand, data)


def _array(operand: hal.Operand | BoundOperand, data: Any) -> Array:
    """The contents of an operand in `data`, which may be longer; shares its memory."""
    check_dimensions(operand.dimensions)
    count = hal.element_count(operand.dimensions)
    return np.frombuffer(data, dtype_of(operand.type), count).reshape(operand.dimensions)
