"""RANDOM_MULTINOMIAL: random classes, each as likely as its logit says."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hal.types import element_count
from nnapi_shim.operations.declare import BoundOperation, Operation, form
from nnapi_shim.operations.rules import known_rank, read_as
from nnapi_shim.operations.signatures import F16, F32, I32


def samples(op: BoundOperation) -> None:
    """There is no negative number of samples, and there are two seeds, or one: the other is 0.

    The reference does not look at their dimensions, and reads on behind a single seed.
    """
    if op.sample_count < 0:
        raise op_failed(f"sample_count is {op.sample_count}; it must not be negative", "count")
    count = element_count(op.seeds.dimensions)
    if count not in (1, 2):
        raise op_failed(
            f"seeds have dimensions {list(op.seeds.dimensions)}; there must be 1 or 2 of them",
            "seeds",
        )
    read_as(op, "seeds", (count,))


RANDOM_MULTINOMIAL = Operation(
    OperationType.RANDOM_MULTINOMIAL,
    doc="output[b,i] is class c with probability softmax(logits[b])[c]; equal seeds give equal "
    "numbers, two seeds of 0 others in every run.",
    columns="logits -> samples",
    types={"f16": (3, F16, I32), "f32": (3, F32, I32)},
    forms=[form("logits sample_count:INT32 seeds:TENSOR_INT32")],
    checks=[known_rank(2, "logits"), samples],
    legacy=True,
    shape=lambda op: [(op.logits.dimensions[0], op.sample_count)],
)
