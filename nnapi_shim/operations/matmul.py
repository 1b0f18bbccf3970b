"""FULLY_CONNECTED: a matrix product with a bias."""

from nnapi_shim.errors import bad_data, op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions, element_count
from nnapi_shim.operations.declare import BoundOperation, Operation, form
from nnapi_shim.operations.rules import (
    bias_scale,
    fused_activation,
    known_rank,
    no_empty_dimension,
)
from nnapi_shim.operations.signatures import F16, F32, I32, QS8, QU8


def flattened(op: BoundOperation) -> None:
    """Ranks, and the sizes that are known, fit (all three ranks known; semantics: NNAPI checks
    this when the operation is added).
    """
    inputs, weights, bias = op.input.dimensions, op.weights.dimensions, op.bias.dimensions
    if not (inputs and weights and bias):
        return
    if not 2 <= len(inputs) <= 4:
        raise bad_data(f"input has rank {len(inputs)}; allowed are 2 to 4")
    if len(weights) != 2:
        raise bad_data(f"weights have rank {len(weights)}; it must be 2")
    if len(bias) != 1:
        raise bad_data(f"bias has rank {len(bias)}; it must be 1")
    units, input_size = weights
    count = element_count(inputs)
    if count and input_size and count % input_size:
        raise bad_data(
            f"input {list(inputs)} has {count} elements, not a multiple of the {input_size} "
            "columns of weights"
        )
    if bias[0] and units and bias[0] != units:
        raise bad_data(f"bias has {bias[0]} values; weights have {units} rows")


def product(op: BoundOperation) -> list[Dimensions]:
    """[batch, units], the input flattened to [batch, input_size]."""
    units, input_size = op.weights.dimensions
    count = element_count(op.input.dimensions)
    if count % input_size:
        raise op_failed(
            f"input {list(op.input.dimensions)} has {count} elements, not a multiple of the "
            f"{input_size} columns of weights"
        )
    if op.bias.dimensions[0] != units:
        raise op_failed(f"bias has {op.bias.dimensions[0]} values; weights have {units} rows")
    return [(count // input_size, units)]


def input_rank(op: BoundOperation) -> None:
    """The input has rank 2 to 4."""
    if not 2 <= len(op.input.dimensions) <= 4:
        raise op_failed(f"input has rank {len(op.input.dimensions)}; allowed are 2 to 4")


FULLY_CONNECTED = Operation(
    OperationType.FULLY_CONNECTED,
    doc="output[b,u] = act(bias[u] + sum(input[b,k] * weights[u,k])), input flattened to "
    "[batch, input_size].",
    columns="input weights bias -> output",
    types={
        "f32": (1, F32, F32, F32, F32),
        "f16": (3, F16, F16, F16, F16),
        "qu8": (1, QU8, QU8, I32, QU8),
        "qs8": (4, QS8, QS8, I32, QS8),
    },
    forms=[form("input weights bias activation:INT32")],
    rules=[flattened],
    checks=[
        input_rank,
        known_rank(2, "weights"),
        known_rank(1, "bias"),
        no_empty_dimension("weights"),
        bias_scale("input", "weights"),
        fused_activation,
    ],
    allow_zero_sized=True,
    shape=product,
)
