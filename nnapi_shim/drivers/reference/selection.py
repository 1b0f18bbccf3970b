"""SELECT ARGMAX ARGMIN TOPK_V2."""

from collections.abc import Callable
from math import prod

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, requantized
from nnapi_shim.drivers.reference.deadline import watched
from nnapi_shim.operations.declare import BoundOperation


def select(op: BoundOperation) -> list[Array]:
    """input1 where condition is not 0, input2 elsewhere, both requantized to the output."""
    chosen = [requantized(operand, op.output) for operand in (op.input1, op.input2)]
    return [np.where(op.condition.value, *chosen)]


def argmax(op: BoundOperation) -> list[Array]:
    """The index along axis of the first element that no other exceeds."""
    return _first(op, np.greater)


def argmin(op: BoundOperation) -> list[Array]:
    """The index along axis of the first element that exceeds no other."""
    return _first(op, np.less)


def topk_v2(op: BoundOperation) -> list[Array]:
    """The k largest of each row in descending order, of equal ones the one with the larger index
    first, and their indices. NaN counts as the largest number.
    """
    # Ascending, equal ones by ascending index, and all of that from the end.
    shape = op.input.value.shape
    rows = op.input.value.reshape(prod(shape[:-1]), shape[-1])  # sorting knows few dimensions
    order = np.argsort(rows, axis=-1, kind="stable")[:, ::-1][:, : op.k]
    results = [np.take_along_axis(rows, order, axis=-1), order.astype(np.int32)]
    return [array.reshape(*shape[:-1], order.shape[-1]) for array in results]


def _first(op: BoundOperation, exceeds: Callable[[Array, Array], Array]) -> list[Array]:
    """Scan upward along axis and keep what exceeds everything before it."""
    values = np.moveaxis(op.input.value, op.axis, 0)
    best, index = values[0].copy(), np.zeros(values[0].shape, np.int32)
    for i, candidates in enumerate(watched(values)):
        better = exceeds(candidates, best)
        best = np.where(better, candidates, best)
        index[better] = i
    return [np.atleast_1d(index)]
