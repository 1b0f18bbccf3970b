"""RANDOM_MULTINOMIAL: random classes, each as likely as its logit says."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.declare import BoundOperation, Operation, fixed, form
from nnapi_shim.operations.signatures import F16, F32, I32


def samples(op: BoundOperation) -> None:
    """There is no negative number of samples.

    The reference does not look at the seeds: it takes the first two, whatever their dimensions, and
    reads on behind a single one, beside which both devices take a 0.
    """
    if op.sample_count < 0:
        raise op_failed(
            f"sample_count is {op.sample_count}; it must not be negative",
            "random-multinomial.sample-count",
        )


def rows_and_classes(op: BoundOperation) -> None:
    """The logits begin with rows [batch, classes]; as in the reference, nobody reads on."""
    if len(op.logits.dimensions) < 2:
        raise op_failed(
            f"logits has dimensions {list(op.logits.dimensions)}; it must have rank 2 or more",
            "random-multinomial.logits",
        )


RANDOM_MULTINOMIAL = Operation(
    OperationType.RANDOM_MULTINOMIAL,
    doc="output[b,i] is class c with probability softmax(logits[b])[c]; equal seeds give equal "
    "numbers, two seeds of 0 others in every run.",
    columns="logits -> samples",
    types={"f16": (3, F16, I32), "f32": (3, F32, I32)},
    forms=[form("logits sample_count:INT32 seeds:TENSOR_INT32")],
    checks=[rows_and_classes, samples],
    legacy=True,
    shape=lambda op: [(op.logits.dimensions[0], op.sample_count)],
    quantization=fixed(),
    work=(2, "logits"),
)
