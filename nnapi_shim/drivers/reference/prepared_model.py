"""IPreparedModel and IExecution of the reference device: interprets one operation at a time."""

from collections.abc import Callable
from importlib import import_module
from time import monotonic_ns
from typing import Any

import numpy as np

from nnapi_shim import address
from nnapi_shim.drivers.reference.arrays import Array, dtype_of
from nnapi_shim.errors import NnapiError, op_failed
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import ErrorStatus, OperandLifeTime, OperationType, ResultCode
from nnapi_shim.hal.quantization import SCALARS
from nnapi_shim.operations import family, operation
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.resolve import check_operands, set_output


class ReferencePreparedModel:
    """A model and its constants as arrays."""

    def __init__(self, model: hal.Model) -> None:
        self.graph = model.main
        self.constants = {
            index: _constant(model, operand)
            for index, operand in enumerate(model.main.operands)
            if operand.lifetime
            in (OperandLifeTime.CONSTANT_COPY, OperandLifeTime.CONSTANT_REFERENCE)
        }
        self._pools = model.pools  # what the constants lie in stays mapped

    def createReusableExecution(
        self, request: hal.Request, measure: bool, loop_timeout_ns: int
    ) -> "ReferenceExecution":
        """Bind a request to this model."""
        return ReferenceExecution(self, request, measure)

    def execute(
        self, request: hal.Request, measure: bool, deadline_ns: int | None, loop_timeout_ns: int
    ) -> hal.ExecutionResult:
        """Bind a request and run it once."""
        return ReferenceExecution(self, request, measure).compute(deadline_ns)


class ReferenceExecution:
    """A request bound to a prepared model; it keeps nothing from one run to the next."""

    def __init__(self, model: ReferencePreparedModel, request: hal.Request, measure: bool) -> None:
        self._model = model
        self._request = request
        self._measure = measure

    def compute(self, deadline_ns: int | None) -> hal.ExecutionResult:
        """Run all operations, then write the outputs if every buffer is large enough.

        Raises MISSED_DEADLINE_PERSISTENT before the first operation, _TRANSIENT before another.
        """
        started = monotonic_ns()
        if deadline_ns is not None and started >= deadline_ns:
            raise NnapiError(
                ResultCode.MISSED_DEADLINE_PERSISTENT, "the deadline passed before the run began"
            )
        run = _Run(self._model, self._request)
        for item in self._model.graph.operations:
            place = f"{OperationType(item.type).name} (operation {item.number})"
            if deadline_ns is not None and monotonic_ns() >= deadline_ns:
                raise NnapiError(ResultCode.MISSED_DEADLINE_TRANSIENT, "the deadline passed").at(
                    place
                )
            try:
                run.step(item)
            except NnapiError as error:
                raise error.at(place) from None
        result = run.finish()
        if self._measure:
            elapsed = monotonic_ns() - started
            result = result._replace(timing=hal.Timing(elapsed, elapsed))
        return result


class _Run:
    """The operands of one run; those of inputs and of what has been computed hold an array."""

    def __init__(self, model: ReferencePreparedModel, request: hal.Request) -> None:
        graph = self._graph = model.graph
        self._outputs = dict(zip(graph.output_indexes, request.outputs, strict=True))
        self._omitted = {i for i, argument in self._outputs.items() if argument.has_no_value}
        self._operands = [
            BoundOperand(
                index,
                operand.type,
                operand.dimensions,
                operand.scale,
                operand.zero_point,
                operand.channel_quant,
                operand.lifetime is OperandLifeTime.SUBGRAPH_OUTPUT,
            )
            for index, operand in enumerate(graph.operands)
        ]
        for index, array in model.constants.items():
            self._operands[index].value = array
        for index, argument in self._outputs.items():
            self._operands[index].dimensions = argument.dimensions
        for index, argument in zip(graph.input_indexes, request.inputs, strict=True):
            if argument.has_no_value:
                self._omitted.add(index)
                continue
            operand = self._operands[index]
            operand.dimensions = argument.dimensions
            operand.value = _array(operand, address.view(argument.address, argument.length))

    def step(self, item: hal.Operation) -> None:
        """Bind, check and compute one operation."""
        declaration = operation(OperationType(item.type))
        match = declaration.match(
            tuple([self._operands[i].type for i in item.inputs]),
            tuple([self._operands[i].type for i in item.outputs]),
        )
        inputs = [
            self._input(index, at in match.value_positions) for at, index in enumerate(item.inputs)
        ]
        outputs = [self._operands[index] for index in item.outputs]
        op = declaration.bind(match, inputs, outputs)
        check_operands(op)
        for check in declaration.checks:
            check(op)
        for index, name in zip(item.outputs, match.output_names, strict=True):
            if index in self._omitted:
                raise op_failed(f"output {name} is omitted, and it is not optional")
        parameters = declaration.quantization(op)
        # Overflow, division by zero and NaN are results, not warnings.
        with np.errstate(all="ignore"):
            arrays = formula(declaration.type)(op)
        for operand, name, array, (scale, zero_point) in zip(
            outputs, match.output_names, arrays, parameters, strict=True
        ):
            set_output(operand, name, array.shape, scale, zero_point)
            # A declared size wins over a computed 0, as in the reference; there is no data then.
            operand.value = (
                array
                if operand.dimensions == array.shape
                else np.zeros(operand.dimensions, array.dtype)
            )

    def _input(self, index: int, is_value: bool) -> Any:
        """What the name of an input is bound to: an operand, a Python value, None if omitted."""
        operand = self._operands[index]
        lifetime = self._graph.operands[index].lifetime
        if lifetime is OperandLifeTime.NO_VALUE or index in self._omitted:
            return None
        if not is_value:
            return operand
        if operand.type not in SCALARS:
            return tuple(operand.value.ravel().tolist())
        value = operand.value.item()
        return bool(value) if operand.type.name == "BOOL" else value

    def finish(self) -> hal.ExecutionResult:
        """Write the outputs; if a buffer is too small, none, and say which."""
        operands = [self._operands[index] for index in self._outputs]
        shapes = [
            hal.OutputShape(operand.dimensions, hal.byte_size(operand) <= argument.length)
            for operand, argument in zip(operands, self._outputs.values(), strict=True)
        ]
        if not all(shape.is_sufficient for shape in shapes):
            return hal.ExecutionResult(ErrorStatus.OUTPUT_INSUFFICIENT_SIZE, shapes)
        for operand, argument in zip(operands, self._outputs.values(), strict=True):
            target = address.view(argument.address, hal.byte_size(operand))
            np.copyto(_array(operand, target), operand.value)
        return hal.ExecutionResult(ErrorStatus.NONE, shapes)


def formula(type: OperationType) -> Callable[[BoundOperation], list[Array]]:
    """The function that computes an operation's outputs: `softmax` in `softmax.py`."""
    module = import_module(f"nnapi_shim.drivers.reference.{family(type)}")
    return getattr(module, type.name.lower())


def _constant(model: hal.Model, operand: hal.Operand) -> Array:
    where = operand.location
    if operand.lifetime is OperandLifeTime.CONSTANT_COPY:
        data: Any = memoryview(model.operand_values)[where.offset : where.offset + where.length]
    else:
        data = address.view(model.pools[where.pool_index].map() + where.offset, where.length)
    return _array(operand, data)


def _array(operand: hal.Operand | BoundOperand, data: Any) -> Array:
    """The contents of an operand in `data`, which may be longer; shares its memory."""
    count = hal.element_count(operand.dimensions)
    return np.frombuffer(data, dtype_of(operand.type), count).reshape(operand.dimensions)
