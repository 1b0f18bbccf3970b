"""LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT: bytes that are false if 0, else true."""

from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.operations.binary import pairwise
from nnapi_shim.operations.declare import Operation, form

B8 = OperandType.TENSOR_BOOL8
BOTH = "input0 input1 -> output"

LOGICAL_AND = pairwise(
    OperationType.LOGICAL_AND, "output = input0 and input1.", BOTH, {"b8": (3, B8, B8, B8)}
)
LOGICAL_OR = pairwise(
    OperationType.LOGICAL_OR, "output = input0 or input1.", BOTH, {"b8": (3, B8, B8, B8)}
)
LOGICAL_NOT = Operation(
    OperationType.LOGICAL_NOT,
    doc="output = not input.",
    columns="input -> output",
    types={"b8": (3, B8, B8)},
    forms=[form("input")],
    shape=lambda op: [op.input.dimensions],
    elementwise=True,
    work=1,
)
