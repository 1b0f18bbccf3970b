"""FULLY_CONNECTED and BATCH_MATMUL: matrix products."""

from nnapi_shim.errors import NnapiError, bad_data, op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions, element_count
from nnapi_shim.hints import Callable, NamedTuple
from nnapi_shim.operations.declare import BoundOperation, Operation, form
from nnapi_shim.operations.rules import (
    bias_scale,
    fused_activation,
    known_rank,
    no_empty_dimension,
)
from nnapi_shim.operations.signatures import F16, F32, I32, QS8, QU8, rows


def flattened(op: BoundOperation) -> None:
    """Ranks, and the sizes that are known, fit (all three ranks known; semantics: NNAPI checks
    this when the operation is added).
    """
    inputs, weights, bias = op.input.dimensions, op.weights.dimensions, op.bias.dimensions
    if not (inputs and weights and bias):
        return
    _require_rank(op, bad_data)
    if len(weights) != 2:
        raise bad_data(
            f"weights have rank {len(weights)}; it must be 2", "fully-connected.weights-rank"
        )
    if len(bias) != 1:
        raise bad_data(f"bias has rank {len(bias)}; it must be 1", "fully-connected.bias-rank")
    units, input_size = weights
    if input_size:
        _require_rows(op, bad_data)
    if bias[0] and units and bias[0] != units:
        raise bad_data(
            f"bias has {bias[0]} values; weights have {units} rows", "fully-connected.bias-size"
        )


def product(op: BoundOperation) -> list[Dimensions]:
    """[batch, units], the input flattened to [batch, input_size]."""
    units, input_size = op.weights.dimensions
    _require_rows(op, op_failed)
    if op.bias.dimensions[0] != units:
        raise op_failed(
            f"bias has {op.bias.dimensions[0]} values; weights have {units} rows",
            "fully-connected.bias-size",
        )
    return [(element_count(op.input.dimensions) // input_size, units)]


def input_rank(op: BoundOperation) -> None:
    """The input has rank 2 to 4."""
    _require_rank(op, op_failed)


def _require_rank(op: BoundOperation, refuse: Callable[[str, str], NnapiError]) -> None:
    if not 2 <= len(op.input.dimensions) <= 4:
        raise refuse(
            f"input has rank {len(op.input.dimensions)}; allowed are 2 to 4",
            "fully-connected.input-rank",
        )


def _require_rows(op: BoundOperation, refuse: Callable[[str, str], NnapiError]) -> None:
    """The elements of the input, as far as they are known, fill rows of the weights' length."""
    dimensions, input_size = op.input.dimensions, op.weights.dimensions[1]
    count = element_count(dimensions)
    if count % input_size:
        raise refuse(
            f"input {list(dimensions)} has {count} elements; they must be a multiple of the "
            f"{input_size} columns of weights",
            "fully-connected.input-size",
        )


BIAS_FACTORS = ("input", "weights")

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
        bias_scale(*BIAS_FACTORS),
        fused_activation,
    ],
    allow_zero_sized=True,
    shape=product,
    work="fully_connected",
    products={"bias": BIAS_FACTORS},
)


# BATCH_MATMUL


class Matrices(NamedTuple):
    """The sizes of a product of matrices [rows, depth] x [depth, columns].

    batch: sizes of the dimensions in front of the matrices; lhs and output have all of them, in
    rhs some may be 1.
    """

    batch: Dimensions
    rows: int
    depth: int
    columns: int


def matrices(op: BoundOperation) -> Matrices:
    """The sizes of a BATCH_MATMUL; raises OP_FAILED where they do not fit."""
    lhs, rhs = op.lhs.dimensions, op.rhs.dimensions
    if len(lhs) != len(rhs) or not 2 <= len(lhs) <= 4:
        raise op_failed(
            f"lhs and rhs have dimensions {list(lhs)} and {list(rhs)}; they must have the same "
            "rank, 2 to 4",
            "batch-matmul.rank",
        )
    # Differs: the documentation asks for equal batches. The reference takes those of lhs for the
    # output without a look at rhs, and repeats a batch of 1; what else it accepts, it reads or
    # writes outside of its operands with.
    if any(size not in (1, lhs_size) for size, lhs_size in zip(rhs[:-2], lhs[:-2], strict=True)):
        raise op_failed(
            f"lhs and rhs have dimensions {list(lhs)} and {list(rhs)}; all but "
            "the last two of rhs must be the same as those of lhs, or 1",
            "batch-matmul.batch",
        )
    rows, depth = lhs[-2:] if not op.adj_x else lhs[:-3:-1]
    depth_of_rhs, columns = rhs[-2:] if not op.adj_y else rhs[:-3:-1]
    if depth != depth_of_rhs:
        raise op_failed(
            f"lhs and rhs have dimensions {list(lhs)} and {list(rhs)}; rows of {depth} elements "
            f"cannot be multiplied by columns of {depth_of_rhs}",
            "batch-matmul.depth",
        )
    return Matrices(lhs[:-2], rows, depth, columns)


def matrices_fit(op: BoundOperation) -> None:
    """The sizes of lhs and rhs go together."""
    matrices(op)


def product_of_each(op: BoundOperation) -> list[Dimensions]:
    """[..., rows, columns]."""
    operands = matrices(op)
    return [(*operands.batch, operands.rows, operands.columns)]


BATCH_MATMUL = Operation(
    OperationType.BATCH_MATMUL,
    doc="output[..., r, c] = sum(lhs[..., r, k] * rhs[..., k, c]); adj_x and adj_y say that the "
    "matrices of lhs and rhs are stored transposed.",
    columns="lhs rhs -> output",
    types=rows("T T T", f16=6, f32=6, i32=6, qs8=6),
    forms=[form("lhs rhs adj_x:BOOL adj_y:BOOL")],
    checks=[matrices_fit],
    shape=product_of_each,
    work="matrices",
)
