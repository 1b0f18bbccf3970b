"""EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL: two tensors, broadcast."""

from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.binary import pairwise
from nnapi_shim.operations.declare import Operation
from nnapi_shim.operations.signatures import rows


def comparison(type: OperationType, sign: str) -> Operation:
    """A comparison; quantized numbers may have different parameters."""
    return pairwise(
        type,
        f"output = input0 {sign} input1; TENSOR_BOOL8 is compared as bytes.",
        "input0 input1 -> output",
        rows("T T TENSOR_BOOL8", b8=3, f16=3, f32=3, i32=3, qu8=3, qs8=4),
    )


EQUAL = comparison(OperationType.EQUAL, "==")
NOT_EQUAL = comparison(OperationType.NOT_EQUAL, "!=")
GREATER = comparison(OperationType.GREATER, ">")
GREATER_EQUAL = comparison(OperationType.GREATER_EQUAL, ">=")
LESS = comparison(OperationType.LESS, "<")
LESS_EQUAL = comparison(OperationType.LESS_EQUAL, "<=")
