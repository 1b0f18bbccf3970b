"""RESHAPE: the same elements under other dimensions."""

from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.declare import Operation, form, same_as
from nnapi_shim.operations.rules import rank_at_most, rank_limit
from nnapi_shim.operations.shapes import reshaped
from nnapi_shim.operations.signatures import I32, ONE_TO_ONE

RESHAPE = Operation(
    OperationType.RESHAPE,
    doc="output = the elements of input, in order; one -1 in shape stands for what is left over.",
    columns="input -> output",
    types={**ONE_TO_ONE, "i32": (6, I32, I32)},
    forms=[form("input shape:TENSOR_INT32")],
    values=["shape"],
    rules=[rank_at_most(4, "input")],
    checks=[rank_limit(4, "input")],
    legacy=True,
    shape=lambda op: [reshaped(op.input.dimensions, op.shape)],
    quantization=same_as("input"),
)
