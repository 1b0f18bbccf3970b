"""EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL."""

from collections.abc import Callable

import numpy as np

from nnapi_shim.drivers.reference.arrays import Array, broadcast, centred
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations.declare import BoundOperand, BoundOperation


def _comparison(holds: Callable[[Array, Array], Array]) -> Callable[[BoundOperation], list[Array]]:
    """1 where holds(input0, input1), else 0."""

    def formula(op: BoundOperation) -> list[Array]:
        """1 or 0 for each pair of elements."""
        return [holds(*broadcast(_numbers(op.input0), _numbers(op.input1))).astype(np.uint8)]

    return formula


equal, not_equal = _comparison(np.equal), _comparison(np.not_equal)
greater, greater_equal = _comparison(np.greater), _comparison(np.greater_equal)
less, less_equal = _comparison(np.less), _comparison(np.less_equal)


def _numbers(operand: BoundOperand) -> Array:
    """Quantized: (q - zero_point) * scale in float32, which may make neighbours equal."""
    if operand.type in QUANTIZED_RANGE:
        return centred(operand).astype(np.float32) * np.float32(operand.scale)
    return centred(operand)
