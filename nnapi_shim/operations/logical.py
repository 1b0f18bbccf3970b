"""LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT: bytes that are false if 0, else true."""

from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.binary import pairwise
from nnapi_shim.operations.signatures import elementwise, rows

BOTH = "input0 input1 -> output"

LOGICAL_AND = pairwise(
    OperationType.LOGICAL_AND, "output = input0 and input1.", BOTH, rows("T T T", b8=3)
)
LOGICAL_OR = pairwise(
    OperationType.LOGICAL_OR, "output = input0 or input1.", BOTH, rows("T T T", b8=3)
)
LOGICAL_NOT = elementwise(
    OperationType.LOGICAL_NOT, "output = not input.", rows("T T", b8=3), work=1
)
