"""LOGICAL_AND LOGICAL_OR LOGICAL_NOT: any byte but 0 is true; results are 0 and 1."""

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, broadcast
from nnapi_shim.operations.declare import BoundOperation


def logical_and(op: BoundOperation) -> list[Array]:
    """input0 and input1."""
    return [np.logical_and(*broadcast(op.input0.value, op.input1.value)).astype(np.uint8)]


def logical_or(op: BoundOperation) -> list[Array]:
    """input0 or input1."""
    return [np.logical_or(*broadcast(op.input0.value, op.input1.value)).astype(np.uint8)]


def logical_not(op: BoundOperation) -> list[Array]:
    """Not input."""
    return [(op.input.value == 0).astype(np.uint8)]
