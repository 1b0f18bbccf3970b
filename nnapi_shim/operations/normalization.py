"""L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION and INSTANCE_NORMALIZATION."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.declare import BoundOperation, Operation, fixed, form
from nnapi_shim.operations.rules import axis_exists, known_rank, level_by_rank, rank_limit
from nnapi_shim.operations.signatures import rows

ONLY_RANK_4_BEFORE_LEVEL_3 = level_by_rank("input", since={1: 3, 2: 3, 3: 3, 4: 1})


def radius_not_negative(op: BoundOperation) -> None:
    """The radius is at least 0."""
    if op.radius < 0:
        raise op_failed(
            f"radius is {op.radius}; it must be at least 0", "local-response-normalization.radius"
        )


L2_NORMALIZATION = Operation(
    OperationType.L2_NORMALIZATION,
    doc="output = input / max(sqrt(sum(input^2)), 1e-6), the sum along `axis`.",
    columns="input -> output",
    types=rows("T T", f32=1, f16=3, qu8=3, qs8=4),
    forms=[form("input"), form("input axis:INT32", since=3)],
    defaults={"axis": -1},
    rules=[ONLY_RANK_4_BEFORE_LEVEL_3],
    checks=[rank_limit(4, "input"), axis_exists],
    shape=lambda op: [op.input.dimensions],
    quantization=fixed(qu8=(1 / 128, 128), qs8=(1 / 128, 0)),
    work=(3, "input"),
)

LOCAL_RESPONSE_NORMALIZATION = Operation(
    OperationType.LOCAL_RESPONSE_NORMALIZATION,
    doc="output[i] = input[i] * (bias + alpha * sum(input[j]^2))^-beta, the sum over the j with "
    "|j - i| <= radius along `axis`.",
    columns="input bias alpha beta -> output",
    types=rows("T s s s T", f32=1, f16=3),
    forms=[
        form("input radius:INT32 bias alpha beta"),
        form("input radius:INT32 bias alpha beta axis:INT32", since=3),
    ],
    defaults={"axis": -1},
    rules=[ONLY_RANK_4_BEFORE_LEVEL_3],
    checks=[rank_limit(4, "input"), axis_exists, radius_not_negative],
    shape=lambda op: [op.input.dimensions],
    work="channel_window",
)

INSTANCE_NORMALIZATION = Operation(
    OperationType.INSTANCE_NORMALIZATION,
    doc="output = (input - mean) * gamma / sqrt(variance + epsilon) + beta, mean and variance over "
    "height and width, for each batch and channel.",
    columns="input gamma beta epsilon -> output",
    types=rows("T s s s T", f16=3, f32=3),
    forms=[form("input gamma beta epsilon nchw:BOOL")],
    checks=[known_rank(4, "input")],
    shape=lambda op: [op.input.dimensions],
    work=(7, "input"),
)
