"""ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN, SQRT: element-wise operations."""

from collections.abc import Sequence

from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.declare import Check, Operation, Rule, form
from nnapi_shim.operations.rules import rank_at_most, rank_limit
from nnapi_shim.operations.signatures import F16, F32, I32, QS8, QU8

FLOATS = {"f32": (3, F32, F32), "f16": (3, F16, F16)}


def unary(
    type: OperationType,
    doc: str,
    types: dict[str, tuple] = FLOATS,  # type: ignore[type-arg]
    rules: Sequence[Rule] = (),
    checks: Sequence[Check] = (),
) -> Operation:
    """An element-wise operation on a tensor of any rank."""
    return Operation(
        type,
        doc=doc,
        columns="input -> output",
        types=types,
        forms=[form("input")],
        rules=rules,
        checks=checks,
        shape=lambda op: [op.input.dimensions],
        elementwise=True,
        work=1,
    )


ABS = unary(OperationType.ABS, "output = |input|.", {**FLOATS, "i32": (4, I32, I32)})
EXP = unary(OperationType.EXP, "output = e^input.")
FLOOR = unary(
    OperationType.FLOOR,
    "output = the largest integer <= input.",
    {"f32": (1, F32, F32), "f16": (3, F16, F16)},
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input")],
)
LOG = unary(OperationType.LOG, "output = ln(input).")
NEG = unary(OperationType.NEG, "output = -input.", {**FLOATS, "i32": (3, I32, I32)})
RSQRT = unary(
    OperationType.RSQRT,
    "output = 1 / sqrt(input).",
    {**FLOATS, "qu8": (7, QU8, QU8), "qs8": (7, QS8, QS8)},
)
SIN = unary(OperationType.SIN, "output = sin(input).")
SQRT = unary(OperationType.SQRT, "output = sqrt(input).")
