"""The rules of operations for the dimensions of a request, before an engine computes it.

Engines check less than NNAPI, or otherwise. So the dimensions of all operands are resolved here as
on the other devices, and a computation that breaks a rule fails with the same error.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from nnapi_shim import address
from nnapi_shim.errors import NnapiError, op_failed, operation_place
from nnapi_shim.hal import types as hal
from nnapi_shim.hal.enums import OperandLifeTime as L
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.quantization import SCALARS, decoded
from nnapi_shim.limits import watched
from nnapi_shim.operations import bound_operand, bound_operation
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.operations.resolve import merge_dimensions, resolve

_INNER = (OperationType.IF, OperationType.WHILE)


class Resolved(NamedTuple):
    """The outputs of a request. dimensions: as computed, or as far as they are declared where
    is_known is False: then only the run tells them.
    """

    dimensions: hal.Dimensions
    is_known: bool


class _UnknownError(Exception):
    """An input has a value or dimensions that only a run knows."""


def resolved(
    model: hal.Model, inputs: Sequence[hal.Dimensions], outputs: Sequence[hal.Dimensions]
) -> list[Resolved]:
    """The dimensions of the outputs of a request.

    inputs: dimensions of the inputs of the model. outputs: those that the request declares.
    Raises OP_FAILED or BAD_DATA, with the place of the operation, if a rule is broken.
    """
    rules = _Rules(model)
    main = model.main
    for index, dimensions in zip(main.input_indexes, inputs, strict=True):
        rules.operands[index].dimensions = dimensions
        rules.unknown.discard(index)
    for index, dimensions in zip(main.output_indexes, outputs, strict=True):
        rules.operands[index].dimensions = dimensions or rules.operands[index].dimensions
    for item in watched(main.operations):
        try:
            rules.check(item)
        except _UnknownError:
            rules.unknown.update(item.outputs)
        except NnapiError as error:
            raise error.at(operation_place(item.type, item.number)) from None
    return [
        Resolved(rules.operands[index].dimensions, index not in rules.unknown)
        for index in main.output_indexes
    ]


def inferred(model: hal.Model) -> hal.Model:
    """The model with the dimensions of operands of its main graph that follow from its inputs,
    where it does not declare them. An unknown size of an input, most often that of a batch, is
    taken for 1. A broken rule leaves what is declared.
    """
    main = model.main
    if all(hal.is_known(item.type, item.dimensions) for item in main.operands):
        return model
    rules = _Rules(model)
    for index in main.input_indexes:
        operand = rules.operands[index]
        operand.dimensions = tuple([size or 1 for size in operand.dimensions])
        if not hal.is_known(operand.type, operand.dimensions):
            rules.unknown.add(index)
    for item in watched(main.operations):
        try:
            rules.check(item)
        except (_UnknownError, NnapiError):
            rules.unknown.update(item.outputs)
    operands = [
        item._replace(dimensions=rules.operands[index].dimensions)
        for index, item in enumerate(main.operands)
    ]
    return model._replace(main=main._replace(operands=tuple(operands)))


class _Rules:
    """The operands of a model, whose dimensions become known one operation after the other."""

    def __init__(self, model: hal.Model) -> None:
        self._model = model
        self.operands = [
            bound_operand(at, item, item.dimensions) for at, item in enumerate(model.main.operands)
        ]
        self.unknown: set[int] = set()
        self._values, self._kept = address.address_of(model.operand_values)

    def check(self, item: hal.Operation) -> None:
        """Check an operation and set the dimensions of its outputs; raises _UnknownError."""
        if item.type in _INNER:
            if self._model.main.operands[item.inputs[0]].lifetime is L.NO_VALUE:
                raise op_failed("condition is omitted; IF needs it", "operation.input.omitted")
            raise _UnknownError
        get = self.operands.__getitem__
        op = bound_operation(item, self._model.main.operands, self._input, get)
        empty = resolve(op)
        if empty:
            raise op_failed(
                "an output has no elements, and a declared size says otherwise; engines do not "
                "compute that",
                "engine.output.empty",
            )
        if op.match.operation.data_dependent:
            raise _UnknownError

    def _input(self, index: int, is_value: bool) -> Any:
        operand = self._model.main.operands[index]
        if operand.lifetime is L.NO_VALUE:
            return None
        if index in self.unknown:
            raise _UnknownError
        return self._value(operand) if is_value else self.operands[index]

    def _value(self, operand: hal.Operand) -> Any:
        where = operand.location
        if operand.lifetime is L.CONSTANT_COPY:
            start = self._values
        elif operand.lifetime is L.CONSTANT_REFERENCE:
            start = self._model.pools[where.pool_index].map()
        else:
            raise _UnknownError
        return decoded(operand.type, address.read(start + where.offset, where.length))


def computed(declared: Resolved, operand: BoundOperand | hal.Operand, shape: Sequence[int]) -> Any:
    """The dimensions of an output that a run has told; raises OP_FAILED for contradictions."""
    if operand.type in SCALARS:
        return ()
    return merge_dimensions(declared.dimensions, tuple(shape))
