"""ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN, SQRT: element-wise operations."""

from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import Operation
from nnapi_shim.operations.rules import rank_at_most, rank_limit
from nnapi_shim.operations.signatures import elementwise, rows

FLOATS = rows("T T", f32=3, f16=3)


def unary(
    type: OperationType,
    doc: str,
    types: dict[str, tuple] = FLOATS,  # type: ignore[type-arg]
    **parts: Any,
) -> Operation:
    """An element-wise operation on a tensor of any rank."""
    return elementwise(type, doc, types, work=1, **parts)


ABS = unary(OperationType.ABS, "output = |input|.", rows("T T", f32=3, f16=3, i32=4))
EXP = unary(OperationType.EXP, "output = e^input.")
FLOOR = unary(
    OperationType.FLOOR,
    "output = the largest integer <= input.",
    rows("T T", f32=1, f16=3),
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input")],
)
LOG = unary(OperationType.LOG, "output = ln(input).")
NEG = unary(OperationType.NEG, "output = -input.", rows("T T", f32=3, f16=3, i32=3))
RSQRT = unary(
    OperationType.RSQRT,
    "output = 1 / sqrt(input).",
    rows("T T", f32=3, f16=3, qu8=7, qs8=7),
)
SIN = unary(OperationType.SIN, "output = sin(input).")
SQRT = unary(OperationType.SQRT, "output = sqrt(input).")
