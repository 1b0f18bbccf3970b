"""ABS EXP FLOOR LOG NEG RSQRT SIN SQRT as steps."""

from math import inf, sqrt
from struct import pack

from nnapi_shim.drivers.cpu.lowering.elements import (
    ELEMENTS,
    MAP,
    byte_table,
    element_wise,
    singles,
    translated,
)
from nnapi_shim.drivers.cpu.program.record import ADDRESS, Space, Step, record
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hints import Callable
from nnapi_shim.operations.declare import BoundOperand, BoundOperation

SINE = record(Space.ELEMENTS, input=ADDRESS, output=ADDRESS, **ELEMENTS, table=ADDRESS)


def _mapped(name: str) -> Callable[[BoundOperation], list[Step]]:
    """The lowering to one element-wise step."""

    def lower(op: BoundOperation) -> list[Step]:
        """One step with the kernel of the operand type."""
        return [element_wise(MAP, f"{name}_{op.variant}", op)]

    return lower


lower_abs, lower_neg = _mapped("abs"), _mapped("neg")
lower_exp, lower_log = _mapped("exp"), _mapped("log")
lower_floor, lower_sqrt = _mapped("floor"), _mapped("sqrt")


def lower_rsqrt(op: BoundOperation) -> list[Step]:
    """Quantized: a table of all 256 results."""
    if op.variant in ("f32", "f16"):
        return _mapped("rsqrt")(op)
    table = byte_table(op.input.type, inverse_roots(op.input, op.output))
    return [translated(op, table)]


def inverse_roots(source: BoundOperand, target: BoundOperand) -> list[int]:
    """The results of RSQRT for all values of `source` in ascending order, rounded to float32 after
    every operation. Both operands have the same type.
    """
    lowest, highest = QUANTIZED_RANGE[source.type]
    numbers = singles([n * source.scale for n in range(1, highest - source.zero_point + 1)])
    roots = singles(map(sqrt, numbers))
    inverse = singles([1 / root if root else inf for root in roots])
    steps = singles([number / target.scale for number in inverse])
    zero = target.zero_point
    most = highest - zero
    results = [int(step + 0.5) + zero if step < most else highest for step in steps]
    # The reference returns infinity for 0 and for negative values.
    return [highest] * (source.zero_point - lowest + 1) + results


def lower_sin(op: BoundOperation) -> list[Step]:
    """A polynomial approximation, and a table for the reduction of large arguments."""
    return [element_wise(SINE, f"sin_{op.variant}", op, table=_powers_over_pi())]


TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561
"""2 / pi * 2^256."""


def _powers_over_pi() -> bytes:
    """uint64[128]: 2^(i - 23) / pi modulo 2, in units of 2^-63.

    A float32 with exponent i is an integer n times 2^(i - 23), so the angle is n * 2^(i - 23) / pi
    half turns; multiples of 2 half turns are periods of the sine.
    """
    return pack("<128Q", *((TWO_OVER_PI >> (217 - i)) & (2**64 - 1) for i in range(128)))
