"""MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN REDUCE_PROD REDUCE_SUM.

Axes may be counted from the end and named more than once; a result without dimensions is [1].
"""

from typing import Any

import numpy as np

from nnapi_shim.drivers.reference.arrays import (
    Array,
    dtype_of,
    is_float,
    within_float32,
    without_nan,
)
from nnapi_shim.operations.declare import BoundOperation


def mean(op: BoundOperation) -> list[Array]:
    """The sum / count along axes, infinite where the sum exceeds float32; quantized: of stored
    values, rounded toward zero.
    """
    axes = _along_axes(op)
    total = within_float32(op.input.value.sum(**axes, dtype=np.float64))
    means = total / np.prod([op.input.value.shape[axis] for axis in axes["axis"]])
    return _stored(op, means if is_float(op.input) else np.trunc(means))


def reduce_sum(op: BoundOperation) -> list[Array]:
    """The sum along axes."""
    return _stored(op, op.input.value.sum(**_along_axes(op), dtype=np.float64))


def reduce_prod(op: BoundOperation) -> list[Array]:
    """The product along axes; 0 if any factor is 0, whatever the others are."""
    axes = _along_axes(op)
    product = op.input.value.prod(**axes, dtype=np.float64)
    return _stored(op, np.where((op.input.value == 0).any(**axes), 0, product))


def reduce_max(op: BoundOperation) -> list[Array]:
    """The maximum along axes, not counting NaN; at least the lowest finite number of the type."""
    lowest, _ = _finite_range(op)
    numbers = without_nan(op.input.value, lowest)
    return _stored(op, np.max(numbers, **_along_axes(op), initial=lowest))


def reduce_min(op: BoundOperation) -> list[Array]:
    """The minimum along axes, not counting NaN; at most the largest finite number of the type."""
    _, largest = _finite_range(op)
    numbers = without_nan(op.input.value, largest)
    return _stored(op, np.min(numbers, **_along_axes(op), initial=largest))


def reduce_all(op: BoundOperation) -> list[Array]:
    """1 if all elements along axes are not 0, otherwise 0."""
    return _stored(op, op.input.value.all(**_along_axes(op)))


def reduce_any(op: BoundOperation) -> list[Array]:
    """1 if any element along axes is not 0, otherwise 0."""
    return _stored(op, op.input.value.any(**_along_axes(op)))


def _along_axes(op: BoundOperation) -> dict[str, Any]:
    """Arguments of numpy for the axes of a reduction."""
    rank = op.input.value.ndim
    return {"axis": tuple({axis % rank for axis in op.axes}), "keepdims": op.keep_dims > 0}


def _finite_range(op: BoundOperation) -> tuple[Any, Any]:
    """The lowest and the largest finite number of the type."""
    limits: Any = np.finfo if is_float(op.input) else np.iinfo
    bounds = limits(op.input.value.dtype)
    return bounds.min, bounds.max


def _stored(op: BoundOperation, results: Any) -> list[Array]:
    return [np.atleast_1d(results).astype(dtype_of(op.output.type))]
