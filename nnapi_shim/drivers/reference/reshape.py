"""RESHAPE SQUEEZE EXPAND_DIMS RANK FILL."""

from math import prod

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, dtype_of
from nnapi_shim.errors import op_failed
from nnapi_shim.operations.declare import BoundOperation


def reshape(op: BoundOperation) -> list[Array]:
    """The elements of input in row-major order; a -1 in shape is the remaining size."""
    values = op.input.value
    shape = list(op.shape)
    if -1 in shape:
        left_over = shape.index(-1)
        shape[left_over] = 1
        shape[left_over] = values.size // max(1, prod(shape))
    if min(shape, default=1) < 0 or prod(shape) != values.size:
        raise op_failed(
            f"shape {list(op.shape)} does not fit input {list(values.shape)}",
            "reshape.shape.element-count",
        )
    return [values.reshape(shape)]


def squeeze(op: BoundOperation) -> list[Array]:
    """Input without the dimensions of size 1 that axes names (all of them if it names none); [1]
    if none is left.
    """
    values = op.input.value
    axes = {axis % values.ndim for axis in op.axes} if op.axes else None
    result = values.squeeze(None if axes is None else tuple(axes))
    return [result if result.ndim else result.reshape(1)]


def expand_dims(op: BoundOperation) -> list[Array]:
    """Input with a dimension of size 1 at axis."""
    return [np.expand_dims(op.input.value, op.axis)]


def rank(op: BoundOperation) -> list[Array]:
    """The number of dimensions."""
    return [np.array(op.input.value.ndim, np.int32)]


def fill(op: BoundOperation) -> list[Array]:
    """A tensor of dimensions dims; every element is value."""
    return [np.full(op.dims, op.value, dtype_of(op.output.type))]
