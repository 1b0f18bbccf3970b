"""Inference of output dimensions before a run, from the declarations.

A device of HAL 1.0 or 1.1 cannot report dimensions and needs those of every output. If a program
leaves them unknown, they follow from the inputs of the run in almost all cases.
"""

from collections.abc import Sequence
from typing import Any

from nnapi_shim import address
from nnapi_shim.errors import NnapiError, operation_place
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperandLifeTime, OperationType
from nnapi_shim.hal.quantization import decoded
from nnapi_shim.operations import bound_operand, bound_operation
from nnapi_shim.operations.resolve import resolve

L = OperandLifeTime


class OutputDimensions:
    """Infers and caches the output dimensions of runs of a model."""

    def __init__(self, model: hal.Model) -> None:
        self._model = model
        self._known: dict[Any, list[hal.Dimensions]] = {}

    def of(
        self,
        inputs: Sequence[hal.RequestArgument],
        outputs: Sequence[hal.RequestArgument],
    ) -> list[hal.Dimensions]:
        """Dimensions of every output in a run with these arguments; unknown ones as 0 or ().

        Raises the operations' errors for invalid dimensions, scales and values, so that the device
        need not check them.
        """
        arguments = (*inputs, *outputs)
        key = tuple([(argument.dimensions, argument.has_no_value) for argument in arguments])
        output_dimensions = self._known.get(key)
        if output_dimensions is None:
            resolution = _Resolution(self._model, inputs, outputs)
            output_dimensions = resolution.run()
            if not resolution.has_read_inputs:
                if len(self._known) >= _MOST_KEPT:
                    self._known.clear()
                self._known[key] = output_dimensions
        return output_dimensions


_MOST_KEPT = 64


class _UnknownError(Exception):
    """An operation needs a value that is unknown before the run."""


class _Resolution:
    """Infers the dimensions of all operands of a graph."""

    def __init__(
        self,
        model: hal.Model,
        inputs: Sequence[hal.RequestArgument],
        outputs: Sequence[hal.RequestArgument],
    ) -> None:
        graph = model.main
        self._model = model
        self._operands = [
            bound_operand(index, operand, operand.dimensions)
            for index, operand in enumerate(graph.operands)
        ]
        self._given: dict[int, hal.RequestArgument] = {}
        self.has_read_inputs = False
        for index, argument in zip(graph.input_indexes, inputs, strict=True):
            if not argument.has_no_value:
                self._operands[index].dimensions = argument.dimensions
            self._given[index] = argument
        for index, argument in zip(graph.output_indexes, outputs, strict=True):
            self._operands[index].dimensions = argument.dimensions
            self._operands[index].is_model_output = True

    def run(self) -> list[hal.Dimensions]:
        """Dimensions of the outputs."""
        for item in self._model.main.operations:
            if item.type is OperationType.OEM_OPERATION:
                continue
            try:
                self._step(item)
            except NnapiError as error:
                raise error.at(operation_place(item.type, item.number)) from None
        return [self._operands[index].dimensions for index in self._model.main.output_indexes]

    def _step(self, item: hal.Operation) -> None:
        try:
            op = bound_operation(item, self._operands, self._input, self._operands.__getitem__)
        except _UnknownError:
            return
        resolve(op)

    def _input(self, index: int, is_value: bool) -> Any:
        operand = self._operands[index]
        if self._is_omitted(index):
            return None
        if is_value:
            data = self._bytes(index)
            if data is None:  # computed by the model, so unknown before the run
                raise _UnknownError
            return decoded(operand.type, data)
        if not hal.is_known(operand.type, operand.dimensions):
            raise _UnknownError
        return operand

    def _is_omitted(self, index: int) -> bool:
        if self._model.main.operands[index].lifetime is L.NO_VALUE:
            return True
        return index in self._given and self._given[index].has_no_value

    def _bytes(self, index: int) -> bytes | None:
        """Contents of a constant or an input; None for a computed operand."""
        operand = self._model.main.operands[index]
        where = operand.location
        if operand.lifetime is L.CONSTANT_COPY:
            return self._model.operand_values[where.offset : where.offset + where.length]
        if operand.lifetime is L.CONSTANT_REFERENCE:
            pool = self._model.pools[where.pool_index]
            return address.read(pool.map() + where.offset, where.length)
        if index not in self._given:
            return None
        self.has_read_inputs = True
        argument = self._given[index]
        bound_operand = operand._replace(dimensions=argument.dimensions)
        return address.read(argument.address, hal.byte_size(bound_operand))
