"""SOFTMAX and LOG_SOFTMAX: exponentials normalised along one axis."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.operations.declare import BoundOperation, Operation, form
from nnapi_shim.operations.rules import axis_exists, level_by_rank, positive, rank_limit
from nnapi_shim.operations.signatures import rows

OUTPUT_QUANTIZATION = {"qu8": (1 / 256, 0), "qs8": (1 / 256, -128)}


def output_quantization(op: BoundOperation) -> None:
    """The declared output parameters are the fixed ones, also for temporaries (only here among the
    operations with fixed parameters), unless the tensor is empty.
    """
    expected = OUTPUT_QUANTIZATION.get(op.variant)
    parameters = (op.output.scale, op.output.zero_point)
    if expected and parameters != expected and 0 not in op.input.dimensions:
        raise op_failed(
            f"output has scale and zero point {parameters}; they must be {expected}",
            "softmax.output-quantization",
        )


def fine_enough(op: BoundOperation) -> None:
    """Beta * input scale is above 2^-26: the reference computes in Q5.26."""
    is_quantized = op.variant in OUTPUT_QUANTIZATION and 0 not in op.input.dimensions
    if is_quantized and op.beta * op.input.scale * 2**26 <= 1:
        raise op_failed(
            f"beta times the scale of input is {op.beta * op.input.scale:g}; it must be greater "
            "than 2^-26",
            "softmax.beta",
        )


SOFTMAX = Operation(
    OperationType.SOFTMAX,
    doc="output = exp((input - max) * beta) / sum(exp((input - max) * beta)), along `axis`.",
    columns="input beta -> output",
    types=rows("T s T", f32=1, f16=3, qu8=1, qs8=4),
    forms=[form("input beta"), form("input beta axis:INT32", since=3)],
    defaults={"axis": -1},
    rules=[level_by_rank("input", since={1: 3, 2: 1, 3: 3, 4: 1})],
    checks=[
        rank_limit(4, "input"),
        positive("beta"),
        axis_exists,
        output_quantization,
        fine_enough,
    ],
    allow_zero_sized=True,
    shape=lambda op: [op.input.dimensions],
    work=(5, "input"),
)

LOG_SOFTMAX = Operation(
    OperationType.LOG_SOFTMAX,
    doc="output = (input - max) * beta - log(sum(exp((input - max) * beta))), along `axis`.",
    columns="input beta -> output",
    types=rows("T s T", f16=3, f32=3),
    forms=[form("input beta axis:INT32")],
    checks=[axis_exists],
    shape=lambda op: [op.input.dimensions],
    work=(5, "input"),
)
