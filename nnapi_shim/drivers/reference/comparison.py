"""EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL."""

from collections.abc import Callable

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, broadcast, centred
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations.declare import BoundOperand, BoundOperation


def equal(op: BoundOperation) -> list[Array]:
    """input0 == input1."""
    return _compared(op, np.equal)


def not_equal(op: BoundOperation) -> list[Array]:
    """input0 != input1."""
    return _compared(op, np.not_equal)


def greater(op: BoundOperation) -> list[Array]:
    """input0 > input1."""
    return _compared(op, np.greater)


def greater_equal(op: BoundOperation) -> list[Array]:
    """input0 >= input1."""
    return _compared(op, np.greater_equal)


def less(op: BoundOperation) -> list[Array]:
    """input0 < input1."""
    return _compared(op, np.less)


def less_equal(op: BoundOperation) -> list[Array]:
    """input0 <= input1."""
    return _compared(op, np.less_equal)


def _compared(op: BoundOperation, function: Callable[[Array, Array], Array]) -> list[Array]:
    """1 where the comparison holds, else 0."""
    return [function(*broadcast(_numbers(op.input0), _numbers(op.input1))).astype(np.uint8)]


def _numbers(operand: BoundOperand) -> Array:
    """Quantized: (q - zero_point) * scale in float32, which may make neighbours equal."""
    if operand.type in QUANTIZED_RANGE:
        return centred(operand).astype(np.float32) * np.float32(operand.scale)
    return centred(operand)
