"""EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL as steps.

Three predicates implement all six, with operands swapped or the result negated.
"""

from nnapi_shim.drivers.cpu.lowering.broadcasting import WALK_FIELDS, pairwise
from nnapi_shim.drivers.cpu.program.record import FLOAT32, FLOAT32_MAX, INT64, Space, Step, record
from nnapi_shim.operations.declare import BoundOperand, BoundOperation

COMPARE = record(Space.PAIRS, **WALK_FIELDS, negate=INT64)
COMPARE_BYTES = record(Space.PAIRS, **WALK_FIELDS, negate=INT64, signed=INT64)
COMPARE_REALS = record(
    Space.PAIRS, **WALK_FIELDS,
    negate=INT64, signed=INT64, zero0=FLOAT32, scale0=FLOAT32, zero1=FLOAT32, scale1=FLOAT32,
)  # fmt: skip
"""negate: 1 to negate the result. signed: XOR mask that converts a stored byte to unsigned; zero0
and zero1 are unsigned, too."""


def lower_equal(op: BoundOperation) -> list[Step]:
    """Equality: x == y."""
    return _compare(op, "equal", op.input0, op.input1)


def lower_not_equal(op: BoundOperation) -> list[Step]:
    """The negation of x == y, also for NaN."""
    return _compare(op, "equal", op.input0, op.input1, negate=True)


def lower_greater(op: BoundOperation) -> list[Step]:
    """Swapped operands: y < x."""
    return _compare(op, "less", op.input1, op.input0)


def lower_greater_equal(op: BoundOperation) -> list[Step]:
    """Swapped operands: y <= x."""
    return _less_equal(op, op.input1, op.input0)


def lower_less(op: BoundOperation) -> list[Step]:
    """Order: x < y."""
    return _compare(op, "less", op.input0, op.input1)


def lower_less_equal(op: BoundOperation) -> list[Step]:
    """Order: x <= y."""
    return _less_equal(op, op.input0, op.input1)


def _less_equal(op: BoundOperation, x: BoundOperand, y: BoundOperand) -> list[Step]:
    """Without NaN, x <= y is the negation of y < x."""
    if op.variant in ("f32", "f16"):
        return _compare(op, "less_equal", x, y)
    return _compare(op, "less", y, x, negate=True)


def _compare(
    op: BoundOperation, name: str, x: BoundOperand, y: BoundOperand, negate: bool = False
) -> list[Step]:
    """Quantized operands with equal parameters are compared as stored, unless their real values
    overflow float32.
    """
    if op.variant in ("f32", "f16", "i32"):
        return pairwise(COMPARE, f"{name}_{op.variant}", x, y, op.output, negate=negate)
    signed = 0x80 if op.variant == "qs8" else 0
    same = (x.scale, x.zero_point) == (y.scale, y.zero_point) and x.scale * 255 <= FLOAT32_MAX
    if op.variant == "b8" or same:
        return pairwise(COMPARE_BYTES, f"{name}_b8", x, y, op.output, negate=negate, signed=signed)
    return pairwise(
        COMPARE_REALS,
        f"{name}_reals",
        x,
        y,
        op.output,
        negate=negate,
        signed=signed,
        zero0=x.zero_point + signed,
        scale0=x.scale,
        zero1=y.zero_point + signed,
        scale1=y.scale,
    )
