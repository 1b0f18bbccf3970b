"""ADD SUB MUL DIV MAXIMUM MINIMUM POW as steps."""

from math import frexp, ldexp
from typing import Any

from nnapi_shim.drivers.cpu.lowering.bounds import MAGIC, NUDGE, float_bounds, quantized_bounds
from nnapi_shim.drivers.cpu.lowering.broadcasting import PLAIN, WALK_FIELDS, pairwise
from nnapi_shim.drivers.cpu.lowering.elements import requantize, requantized, saturated
from nnapi_shim.drivers.cpu.record import FLOAT32, INT64, Record, Step, record
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.rules import float32

FLOAT = record(**WALK_FIELDS, low=FLOAT32, high=FLOAT32)
QUANTIZED_FIELDS = {**WALK_FIELDS, "low": FLOAT32, "high": FLOAT32, "zero_point": FLOAT32}
"""low, high, zero_point: of the result, with MAGIC added."""
SUM = record(**QUANTIZED_FIELDS, scale0=FLOAT32, scale1=FLOAT32, offset=FLOAT32)
LARGE_SUM = record(
    **QUANTIZED_FIELDS,
    zero0=FLOAT32, coarse0=FLOAT32, fine0=FLOAT32,
    zero1=FLOAT32, coarse1=FLOAT32, fine1=FLOAT32,
)  # fmt: skip
PRODUCT = record(**QUANTIZED_FIELDS, zero0=FLOAT32, zero1=FLOAT32, scale=FLOAT32)
LARGEST = record(**WALK_FIELDS, flip=INT64)
LARGEST_REQUANTIZED = record(
    **WALK_FIELDS,
    signed=INT64, zero0=FLOAT32, scale0=FLOAT32, zero1=FLOAT32, scale1=FLOAT32,
    sign=FLOAT32, zero_point=FLOAT32, low=FLOAT32, high=FLOAT32,
)  # fmt: skip
"""signed: bits to flip in a stored byte that make it an unsigned one, as zero0 and zero1 see it."""

LARGE = 2**8
"""Scales, over the output's, from which float32 does not keep a sum of quantized numbers apart from
its neighbours well enough when most of it cancels."""


def lower_add(op: BoundOperation) -> list[Step]:
    """Quantized: each input times its scale over the output's."""
    return _sum(op, "add", +1)


def lower_sub(op: BoundOperation) -> list[Step]:
    """Quantized: the sum with a negative second scale."""
    return _sum(op, "sub", -1)


def lower_mul(op: BoundOperation) -> list[Step]:
    """Quantized: the product of the integers times the scale of the product over the output's."""
    if not op.variant.startswith("q"):
        return _plain(op, "mul")
    scale = float32(op.input0.scale * op.input1.scale) / op.output.scale
    zeros = {"zero0": op.input0.zero_point, "zero1": op.input1.zero_point}
    return _steps(op, PRODUCT, "mul", **_quantized(op), **zeros, scale=scale * NUDGE)


def lower_div(op: BoundOperation) -> list[Step]:
    """Not quantized: the declaration refuses that."""
    return _plain(op, "div")


def lower_maximum(op: BoundOperation) -> list[Step]:
    """Quantized numbers with the same parameters are compared as they are stored."""
    return _largest(op, +1)


def lower_minimum(op: BoundOperation) -> list[Step]:
    """The largest in the opposite order."""
    return _largest(op, -1)


def lower_pow(op: BoundOperation) -> list[Step]:
    """Through the binary logarithm."""
    return pairwise(PLAIN, f"pow_{op.variant}", op.base, op.exponent, op.output)


REVERSED = {"f32": 1 << 31, "f16": 1 << 31, "i32": -1, "qu8": 0xFF, "qs8": 0xFF}
"""Bits to flip in a number so that the order is reversed; float16 is widened before."""


def _largest(op: BoundOperation, sign: int) -> list[Step]:
    """MAXIMUM for sign 1, MINIMUM for sign -1."""
    flip = REVERSED[op.variant] if sign < 0 else 0
    if not op.variant.startswith("q"):
        return _steps(op, LARGEST, "largest", flip=flip)
    signed = op.variant == "qs8"
    operands = (op.input0, op.input1, op.output)
    if len({(operand.scale, operand.zero_point) for operand in operands}) == 1:
        # Bytes are compared as unsigned ones: signed ones are 128 lower.
        flip ^= 0x80 if signed else 0
        return pairwise(LARGEST, "largest_b8", *operands, flip=flip)
    if not all(_is_exact_in_float32(operand, op.output) for operand in operands[:2]):
        before0, source0 = requantize(op.input0, op.output)
        before1, source1 = requantize(op.input1, op.output)
        flip ^= 0x80 if signed else 0
        sources = source0, source1
        step = pairwise(LARGEST, "largest_b8", *operands, sources=sources, flip=flip)
        return [*before0, *before1, *step]
    lowest, highest = QUANTIZED_RANGE[op.output.type]
    return pairwise(
        LARGEST_REQUANTIZED,
        "largest_requantized",
        *operands,
        signed=0x80 if signed else 0,
        zero0=op.input0.zero_point - lowest,
        scale0=sign * op.input0.scale / op.output.scale,
        zero1=op.input1.zero_point - lowest,
        scale1=sign * op.input1.scale / op.output.scale,
        sign=sign,
        zero_point=op.output.zero_point,
        low=lowest,
        high=highest,
    )


def _is_exact_in_float32(operand: BoundOperand, target: BoundOperand) -> bool:
    """Whether the kernel's formula requantizes all 256 stored values as the specification does."""
    lowest, highest = QUANTIZED_RANGE[operand.type]
    scale, expected = float32(operand.scale / target.scale), requantized(operand, target)
    for stored in range(lowest, highest + 1):
        product = float32((stored - operand.zero_point) * scale)
        if saturated(float32(product + target.zero_point), target.type) != expected(stored):
            return False
    return True


def _sum(op: BoundOperation, name: str, sign: int) -> list[Step]:
    if not op.variant.startswith("q"):
        return _plain(op, name)
    zero0, zero1 = op.input0.zero_point, op.input1.zero_point
    scale0 = op.input0.scale / op.output.scale
    scale1 = sign * op.input1.scale / op.output.scale
    if max(scale0, abs(scale1)) < LARGE:
        offset = -(zero0 * scale0 + zero1 * scale1)
        scales = {"scale0": scale0, "scale1": scale1, "offset": offset}
        return _steps(op, SUM, "add", **_quantized(op), **scales)
    coarse0, fine0 = _split(scale0)
    coarse1, fine1 = _split(scale1)
    return _steps(
        op,
        LARGE_SUM,
        "add_large",
        **_quantized(op),
        zero0=zero0,
        coarse0=coarse0,
        fine0=fine0,
        zero1=zero1,
        coarse1=coarse1,
        fine1=fine1,
    )


def _split(scale: float) -> tuple[float, float]:
    """A scale as the sum of 15 bits, whose product with a quantized number is exact in float32,
    and the rest: large terms that cancel each other leave no error behind.
    """
    mantissa, exponent = frexp(scale)
    coarse = ldexp(round(mantissa * 2**15), exponent - 15)
    return coarse, scale - coarse


def _plain(op: BoundOperation, name: str) -> list[Step]:
    if op.variant == "i32":  # which takes no activation
        return _steps(op, PLAIN, name)
    low, high = float_bounds(op.activation)
    return _steps(op, FLOAT, name, low=low, high=high)


def _quantized(op: BoundOperation) -> dict[str, Any]:
    low, high = quantized_bounds(op.activation, op.output)
    zero_point = op.output.zero_point
    return {"low": MAGIC + low, "high": MAGIC + high, "zero_point": MAGIC + zero_point}


def _steps(op: BoundOperation, layout: Record, name: str, **fields: Any) -> list[Step]:
    return pairwise(layout, f"{name}_{op.variant}", op.input0, op.input1, op.output, **fields)
