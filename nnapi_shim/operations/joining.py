"""CONCATENATION, PACK and TILE."""

from nnapi_shim.errors import bad_data, op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperation, Operation, form, same_as
from nnapi_shim.operations.rules import outputs_fit, rank_at_most, rank_limit, same_parameters
from nnapi_shim.operations.signatures import ONE_TO_ONE, movement, rows


def joined(op: BoundOperation) -> list[Dimensions]:
    """The dimensions of the inputs, summed along the axis; elsewhere they must be equal."""
    first = op.inputs[0].dimensions
    # Differs: the documentation gives the axis no lower bound; the reference refuses negatives.
    if not 0 <= op.axis < len(first):
        raise op_failed(
            f"axis is {op.axis}; allowed are 0 to {len(first) - 1}", "concatenation.axis"
        )
    total = 0
    for position, operand in enumerate(op.inputs):
        sizes = operand.dimensions
        if (
            len(sizes) != len(first)
            or sizes[: op.axis] != first[: op.axis]
            or sizes[op.axis + 1 :] != first[op.axis + 1 :]
        ):
            raise op_failed(
                f"inputs {position} has dimensions {list(sizes)}, inputs 0 {list(first)}; they may "
                f"differ along axis {op.axis} only",
                "concatenation.dimensions",
            )
        total += sizes[op.axis]
    return [first[: op.axis] + (total,) + first[op.axis + 1 :]]


def output_has_one_rank_more(op: BoundOperation) -> None:
    """The inputs have the same rank, and the output one dimension more, as far as known.

    As in the reference, an output of rank 1 is not checked here; a computation fails.
    """
    ranks = {len(operand.dimensions) for operand in op.inputs if operand.dimensions}
    if len(op.output.dimensions) > 1:
        ranks.add(len(op.output.dimensions) - 1)
    if len(ranks) > 1:
        listed = ", ".join(str(list(operand.dimensions)) for operand in op.inputs)
        raise bad_data(
            f"the inputs have dimensions {listed}, the output {list(op.output.dimensions)}; all "
            "inputs must have the same rank, and the output one more",
            "pack.rank",
        )


def can_be_stacked(op: BoundOperation) -> None:
    """The axis lies in [0, rank], and all inputs have the same dimensions."""
    first = op.inputs[0].dimensions
    if not 0 <= op.axis <= len(first):
        raise op_failed(f"axis is {op.axis}; allowed are 0 to {len(first)}", "pack.axis")
    for position, operand in enumerate(op.inputs):
        if operand.dimensions != first:
            raise op_failed(
                f"inputs {position} has dimensions {list(operand.dimensions)}, inputs 0 "
                f"{list(first)}; they must be equal",
                "pack.dimensions",
            )


def stacked(op: BoundOperation) -> list[Dimensions]:
    """The number of inputs, inserted at the axis."""
    sizes = op.inputs[0].dimensions
    return [(*sizes[: op.axis], len(op.inputs), *sizes[op.axis :])]


def multiple_per_dimension(op: BoundOperation) -> None:
    """There is a number of at least 0 for every dimension."""
    rank = len(op.input.dimensions)
    # Differs: documented is exactly one per dimension; the reference does not look at what follows.
    if len(op.multiples) < rank or min(op.multiples[:rank]) < 0:
        raise op_failed(
            f"multiples is {list(op.multiples)}; it must hold {rank} numbers from 0",
            "tile.multiples",
        )


def repeated(op: BoundOperation) -> list[Dimensions]:
    """Every size times its multiple."""
    return [tuple(n * times for n, times in zip(op.input.dimensions, op.multiples, strict=False))]


CONCATENATION = Operation(
    OperationType.CONCATENATION,
    doc="output = the inputs joined along `axis`, requantized to the output's "
    "scale and zero point.",
    columns="inputs -> output",
    types=ONE_TO_ONE,
    forms=[form("inputs... axis:INT32")],
    rules=[rank_at_most(4, "inputs")],
    checks=[rank_limit(4, "inputs")],
    allow_zero_sized=True,
    shape=joined,
    work=0,
)

PACK = movement(
    OperationType.PACK,
    doc="output = the inputs joined along a new dimension `axis`.",
    columns="inputs -> output",
    types=rows("T T", f32=6, f16=6, i32=6, qu8=6, qs8=6),
    forms=[form("axis:INT32 inputs...")],
    rules=[same_parameters("inputs", "output"), output_has_one_rank_more],
    checks=[can_be_stacked],
    shape=stacked,
    quantization=same_as("inputs", but="i32"),
)

TILE = movement(
    OperationType.TILE,
    doc="output = input repeated multiples[i] times along dimension i.",
    types=rows("T T", f32=3, f16=3, i32=3, qu8=3, qs8=4),
    forms=[form("input multiples:TENSOR_INT32")],
    values=["multiples"],
    checks=[multiple_per_dimension, outputs_fit],
    legacy=True,
    shape=repeated,
)
