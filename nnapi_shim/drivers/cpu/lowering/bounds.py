"""Smallest and largest result of each fused activation (semantics.md 5.1)."""

from math import copysign, floor, inf

from nnapi_shim.drivers.cpu.program.record import FLOAT32_MAX
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.operations.rules import float32

MOVED = b"moved"
"""Extension data of an activation that a pass made of an operation RELU, RELU1 or RELU6."""


class MovedActivation(int):
    """The FuseCode of such an activation. A fused activation keeps NaN; the operation makes the
    lower bound of it, and gives a zero the sign of that bound.
    """


def marked(value: int, extension_data: bytes) -> int:
    """The value of an operand, as its extension data says."""
    return MovedActivation(value) if extension_data == MOVED else value


_REALS = {
    FuseCode.NONE: (-FLOAT32_MAX, FLOAT32_MAX),
    FuseCode.RELU: (0.0, FLOAT32_MAX),
    FuseCode.RELU1: (-1.0, 1.0),
    FuseCode.RELU6: (0.0, 6.0),
}


def float_bounds(activation: int | None) -> tuple[float, float]:
    """Bounds of real results: with FuseCode.NONE the largest numbers of float32. Those of a
    MovedActivation are in the other order, which tells kernels of it (codegen/bounds.py).

    activation: None for the results of an operation that has no fused activation.
    """
    if activation is None:
        return -inf, inf
    low, high = _REALS[FuseCode(activation)]
    return (high, low) if isinstance(activation, MovedActivation) else (low, high)


def quantized_bounds(activation: int | None, operand: BoundOperand) -> tuple[int, int]:
    """Bounds of stored results: zero_point + round(bound / scale) within the range of the type.

    The parameters are those of `operand`; the quotient is in float32, halves away from zero.
    """
    lowest, highest = QUANTIZED_RANGE[operand.type]
    low, high = (-inf, inf) if activation is None else _REALS[FuseCode(activation)]
    if low > -FLOAT32_MAX:
        lowest = max(lowest, operand.zero_point + _steps(low, operand.scale))
    if high < FLOAT32_MAX:
        highest = min(highest, operand.zero_point + _steps(high, operand.scale))
    return lowest, highest


def _steps(bound: float, scale: float) -> int:
    quotient = bound / scale
    if abs(quotient) > 2**31:  # beyond every type; may not fit a float32
        return int(copysign(2**31, quotient))
    return int(copysign(floor(abs(float32(quotient)) + 0.5), quotient))
