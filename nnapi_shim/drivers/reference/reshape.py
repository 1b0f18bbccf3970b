"""RESHAPE."""

from math import prod

from nnapi_shim.drivers.reference.arrays import Array
from nnapi_shim.errors import op_failed
from nnapi_shim.operations.declare import BoundOperation


def reshape(op: BoundOperation) -> list[Array]:
    """The elements of input in row-major order; a -1 in shape stands for what is left over."""
    values = op.input.value
    shape = list(op.shape)
    if -1 in shape:
        left_over = shape.index(-1)
        shape[left_over] = 1
        shape[left_over] = values.size // max(1, prod(shape))
    if min(shape, default=1) < 0 or prod(shape) != values.size:
        raise op_failed(f"shape {list(op.shape)} does not fit input {list(values.shape)}")
    return [values.reshape(shape)]
