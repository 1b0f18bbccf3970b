"""Lower and upper bounds of fused activations (semantics.md 5.1)."""

from math import copysign, floor, inf

from nnapi_shim.drivers.cpu.program.record import FLOAT32_MAX
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations.declare import BoundOperand
from nnapi_shim.operations.rules import float32

MOVED = b"moved"
"""Extension data of an activation that a pass fused from a RELU, RELU1 or RELU6 operation."""


class MovedActivation(int):
    """The FuseCode of an activation that a pass fused. A declared fused activation propagates NaN;
    the operation replaces NaN by the lower bound, and gives a zero the sign of that bound.
    """


def marked(value: int, extension_data: bytes) -> int:
    """The FuseCode of an operand; a MovedActivation if its extension data is MOVED."""
    return MovedActivation(value) if extension_data == MOVED else value


_REALS = {
    FuseCode.NONE: (-FLOAT32_MAX, FLOAT32_MAX),
    FuseCode.RELU: (0.0, FLOAT32_MAX),
    FuseCode.RELU1: (-1.0, 1.0),
    FuseCode.RELU6: (0.0, 6.0),
}


def float_bounds(activation: int | None) -> tuple[float, float]:
    """(low, high) of real results; FuseCode.NONE has the finite range of float32. The bounds of a
    MovedActivation are swapped, which kernels detect (codegen/bounds.py).

    activation: None for an operation without a fused activation.
    """
    if activation is None:
        return -inf, inf
    low, high = _REALS[FuseCode(activation)]
    return (high, low) if isinstance(activation, MovedActivation) else (low, high)


def quantized_bounds(activation: int | None, operand: BoundOperand) -> tuple[int, int]:
    """(low, high) of stored results: zero_point + round(bound / scale), clamped to the type.

    Scale and zero point are those of `operand`; the quotient is float32, and halves are rounded
    away from zero.
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
