"""RELU RELU1 RELU6 TANH LOGISTIC ELU HARD_SWISH PRELU as steps."""

from collections.abc import Callable
from math import exp, tanh

from nnapi_shim.drivers.cpu.lowering.bounds import MAGIC, float_bounds, quantized_bounds
from nnapi_shim.drivers.cpu.lowering.broadcasting import PLAIN, WALK_FIELDS, pairwise
from nnapi_shim.drivers.cpu.lowering.elements import MAP, element_wise, lookup
from nnapi_shim.drivers.cpu.record import ADDRESS, FLOAT32, INT64, Step, record
from nnapi_shim.hal.enums import FuseCode
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations.declare import BoundOperation

CLAMP = record(input=ADDRESS, output=ADDRESS, count=INT64, low=FLOAT32, high=FLOAT32)
CLAMP_RAW = record(input=ADDRESS, output=ADDRESS, count=INT64, low=INT64, high=INT64)
ELU = record(input=ADDRESS, output=ADDRESS, count=INT64, alpha=FLOAT32)
PRELU_QUANTIZED = record(
    **WALK_FIELDS,
    signed=INT64, zero0=FLOAT32, zero1=FLOAT32, scale=FLOAT32, negative_scale=FLOAT32,
    low=FLOAT32, high=FLOAT32, zero_point=FLOAT32,
)  # fmt: skip
"""signed: bits to flip in a stored byte that make it an unsigned one, as zero0 and zero1 see it.
low, high, zero_point: of the result, with MAGIC added."""


def lower_relu(op: BoundOperation) -> list[Step]:
    """Clamp to [0, largest]."""
    return [_clamp(op, FuseCode.RELU)]


def lower_relu1(op: BoundOperation) -> list[Step]:
    """Clamp to [-1, 1]."""
    return [_clamp(op, FuseCode.RELU1)]


def lower_relu6(op: BoundOperation) -> list[Step]:
    """Clamp to [0, 6]."""
    return [_clamp(op, FuseCode.RELU6)]


def lower_tanh(op: BoundOperation) -> list[Step]:
    """Quantized: a table of all 256 results."""
    return [_mapped(op, "tanh", tanh)]


def lower_logistic(op: BoundOperation) -> list[Step]:
    """Quantized: a table of all 256 results."""
    return [_mapped(op, "logistic", _logistic)]


def lower_elu(op: BoundOperation) -> list[Step]:
    """Not quantized: the operation has no such form."""
    return [element_wise(ELU, f"elu_{op.variant}", op, alpha=op.alpha)]


def lower_hard_swish(op: BoundOperation) -> list[Step]:
    """Quantized: a table of all 256 results."""
    return [_mapped(op, "hard_swish", lambda x: x * min(6.0, max(0.0, x + 3)) / 6)]


def lower_prelu(op: BoundOperation) -> list[Step]:
    """Quantized: positive and negative inputs have a multiplier each."""
    source, alpha, target = op.input, op.alpha, op.output
    if op.variant in ("f32", "f16"):
        return pairwise(PLAIN, f"prelu_{op.variant}", source, alpha, target)
    lowest, highest = QUANTIZED_RANGE[target.type]
    return pairwise(
        PRELU_QUANTIZED,
        "prelu_b8",
        source,
        alpha,
        target,
        signed=lowest & 0xFF,
        zero0=source.zero_point - lowest,
        zero1=alpha.zero_point - lowest,
        scale=source.scale / target.scale,
        negative_scale=source.scale * alpha.scale / target.scale,
        low=MAGIC + lowest,
        high=MAGIC + highest,
        zero_point=MAGIC + target.zero_point,
    )


def _logistic(x: float) -> float:
    """1 / (1 + e^-x), in a form that does not overflow."""
    small = exp(-abs(x))
    return 1 / (1 + small) if x >= 0 else small / (1 + small)


def _clamp(op: BoundOperation, activation: FuseCode) -> Step:
    """Quantized values are clamped as they are stored: both sides have the same parameters."""
    if op.variant in ("f32", "f16"):
        low, high = float_bounds(activation)
        return element_wise(CLAMP, f"clamp_{op.variant}", op, low=low, high=high)
    lowest, highest = quantized_bounds(activation, op.input)
    return element_wise(CLAMP_RAW, f"clamp_{op.variant}", op, low=lowest, high=highest)


def _mapped(op: BoundOperation, name: str, function: Callable[[float], float]) -> Step:
    if op.variant in ("f32", "f16"):
        return element_wise(MAP, f"{name}_{op.variant}", op)
    return lookup(op, function)
