"""Activations: RELU, RELU1, RELU6, TANH, LOGISTIC, ELU, HARD_SWISH, PRELU."""

from nnapi_shim.errors import op_failed
from nnapi_shim.hal.enums import OperationType
from nnapi_shim.hints import Sequence
from nnapi_shim.operations.binary import pairwise
from nnapi_shim.operations.declare import (
    BoundOperation,
    Check,
    Operation,
    Quantization,
    fixed,
    form,
    same_as,
)
from nnapi_shim.operations.rules import float32, rank_at_most, rank_limit
from nnapi_shim.operations.signatures import ONE_TO_ONE, elementwise, rows


def fine_enough(op: BoundOperation) -> None:
    """The scale of a quantized input is above 2^-27: the reference computes in Q4.27."""
    if _is_quantized(op) and op.input.scale * 2**27 <= 1:
        raise op_failed(
            f"input has scale {op.input.scale:g}; it must be greater than 2^-27",
            "activation.input-scale",
        )


def _is_quantized(op: BoundOperation) -> bool:
    """Whether the variant is quantized."""
    return op.variant in ("qu8", "qs8") and 0 not in op.input.dimensions


def activation(
    type: OperationType,
    doc: str,
    quantization: Quantization,
    types: dict[str, tuple] = ONE_TO_ONE,  # type: ignore[type-arg]
    checks: Sequence[Check] = (),
) -> Operation:
    """An element-wise operation on a tensor of rank up to 4."""
    return elementwise(
        type,
        doc,
        types,
        rules=[rank_at_most(4, "input")],
        checks=[rank_limit(4, "input"), *checks],
        allow_zero_sized=True,
        quantization=quantization,
        work=1,
    )


RELU = activation(OperationType.RELU, "output = max(0, input).", same_as("input"))
RELU1 = activation(OperationType.RELU1, "output = min(1, max(-1, input)).", same_as("input"))
RELU6 = activation(OperationType.RELU6, "output = min(6, max(0, input)).", same_as("input"))
TANH = activation(
    OperationType.TANH,
    "output = tanh(input).",
    fixed(qu8=(1 / 128, 128), qs8=(1 / 128, 0)),
    # TANH alone got its unsigned form at level 3.
    types=rows("T T", f32=1, f16=3, qu8=3, qs8=4),
    checks=[fine_enough],
)
LOGISTIC = activation(
    OperationType.LOGISTIC,
    "output = 1 / (1 + exp(-input)).",
    fixed(qu8=(1 / 256, 0), qs8=(1 / 256, -128)),
    checks=[fine_enough],
)


def shift_not_positive(op: BoundOperation) -> None:
    """The scale of a quantized input is below 128 times that of the output: the reference shifts
    the input by 7 bits, and its multiplier must not exceed 1.
    """
    # Both quotients in float32, as in the reference.
    if _is_quantized(op) and not float32(float32(op.input.scale / 128) / op.output.scale) < 1:
        raise op_failed(
            f"input has scale {op.input.scale:g}; it must be less than 128 times the scale of the "
            f"output, {op.output.scale:g}",
            "hard-swish.input-scale",
        )


ELU = Operation(
    OperationType.ELU,
    doc="output = max(0, input) + min(0, alpha * (e^input - 1)).",
    columns="input alpha -> output",
    types=rows("T s T", f32=4, f16=4),
    forms=[form("input alpha")],
    # Differs: the documentation allows empty tensors, the reference refuses them.
    allow_zero_sized=False,
    shape=lambda op: [op.input.dimensions],
    elementwise=True,
    work=2,
)
HARD_SWISH = elementwise(
    OperationType.HARD_SWISH,
    "output = input * min(6, max(0, input + 3)) / 6.",
    rows("T T", f32=4, f16=4, qu8=4, qs8=4),
    checks=[shift_not_positive],
    allow_zero_sized=True,
    work=3,
)
PRELU = pairwise(
    OperationType.PRELU,
    "output = input for input >= 0, else alpha * input.",
    "input alpha -> output",
    rows("T T T", f32=3, f16=3, qu8=3, qs8=4),
)
