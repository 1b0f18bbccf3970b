"""CONCATENATION: tensors one behind the other along an axis."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import Dimensions
from nnapi_shim.operations.declare import BoundOperation, Operation, form
from nnapi_shim.operations.rules import rank_at_most, rank_limit
from nnapi_shim.operations.signatures import ONE_TO_ONE


def joined(op: BoundOperation) -> list[Dimensions]:
    """The dimensions of the inputs, summed along the axis; elsewhere they must be equal."""
    first = op.inputs[0].dimensions
    # Differs: the documentation gives the axis no lower bound; the reference refuses negatives.
    if not 0 <= op.axis < len(first):
        raise op_failed(f"axis is {op.axis}; allowed are 0 to {len(first) - 1}")
    total = 0
    for position, operand in enumerate(op.inputs):
        sizes = operand.dimensions
        if (
            len(sizes) != len(first)
            or sizes[: op.axis] != first[: op.axis]
            or sizes[op.axis + 1 :] != first[op.axis + 1 :]
        ):
            raise op_failed(
                f"input {position} has dimensions {list(sizes)}, input 0 {list(first)}; they may "
                f"differ along axis {op.axis} only"
            )
        total += sizes[op.axis]
    return [first[: op.axis] + (total,) + first[op.axis + 1 :]]


CONCATENATION = Operation(
    OperationType.CONCATENATION,
    doc="output = the inputs one behind the other along `axis`, requantized to the output's "
    "scale and zero point.",
    columns="inputs -> output",
    types=ONE_TO_ONE,
    forms=[form("inputs... axis:INT32")],
    rules=[rank_at_most(4, "inputs")],
    checks=[rank_limit(4, "inputs")],
    allow_zero_sized=True,
    shape=joined,
)
