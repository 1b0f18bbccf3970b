"""RANDOM_MULTINOMIAL: samples classes with probabilities softmax(logits)."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.declare import BoundOperation, Operation, fixed, form
from nnapi_shim.operations.signatures import rows


def samples(op: BoundOperation) -> None:
    """The number of samples is not negative.

    The reference uses the first two seeds without a check of their dimensions, and reads out of
    bounds for a single one; both devices here use 0 as the missing seed.
    """
    if op.sample_count < 0:
        raise op_failed(
            f"sample_count is {op.sample_count}; it must not be negative",
            "random-multinomial.sample-count",
        )


def rows_and_classes(op: BoundOperation) -> None:
    """The logits begin with rows [batch, classes]; as in the reference, the rest is ignored."""
    if len(op.logits.dimensions) < 2:
        raise op_failed(
            f"logits has dimensions {list(op.logits.dimensions)}; it must have rank 2 or more",
            "random-multinomial.logits",
        )


RANDOM_MULTINOMIAL = Operation(
    OperationType.RANDOM_MULTINOMIAL,
    doc="output[b,i] is class c with probability softmax(logits[b])[c]; equal seeds give equal "
    "numbers, two seeds of 0 different ones in every run.",
    columns="logits -> samples",
    types=rows("T TENSOR_INT32", f16=3, f32=3),
    forms=[form("logits sample_count:INT32 seeds:TENSOR_INT32")],
    checks=[rows_and_classes, samples],
    legacy=True,
    shape=lambda op: [(op.logits.dimensions[0], op.sample_count)],
    quantization=fixed(),
    work=(2, "logits"),
)
