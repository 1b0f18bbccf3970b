"""EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL: two tensors, broadcast."""

from nnapi_shim.hal.enums import OperandType, OperationType
from nnapi_shim.operations.binary import pairwise
from nnapi_shim.operations.declare import Operation
from nnapi_shim.operations.signatures import F16, F32, I32, QS8, QU8

B8 = OperandType.TENSOR_BOOL8


def comparison(type: OperationType, sign: str) -> Operation:
    """A comparison; quantized numbers may have different parameters."""
    return pairwise(
        type,
        f"output = input0 {sign} input1; TENSOR_BOOL8 is compared as bytes.",
        "input0 input1 -> output",
        {
            "b8": (3, B8, B8, B8),
            "f16": (3, F16, F16, B8),
            "f32": (3, F32, F32, B8),
            "i32": (3, I32, I32, B8),
            "qu8": (3, QU8, QU8, B8),
            "qs8": (4, QS8, QS8, B8),
        },
    )


EQUAL = comparison(OperationType.EQUAL, "==")
NOT_EQUAL = comparison(OperationType.NOT_EQUAL, "!=")
GREATER = comparison(OperationType.GREATER, ">")
GREATER_EQUAL = comparison(OperationType.GREATER_EQUAL, ">=")
LESS = comparison(OperationType.LESS, "<")
LESS_EQUAL = comparison(OperationType.LESS_EQUAL, "<=")
