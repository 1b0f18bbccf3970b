"""ADD SUB MUL DIV MAXIMUM MINIMUM POW as steps."""

from nnapi_shim.drivers.cpu.lowering.bounds import float_bounds, quantized_bounds
from nnapi_shim.drivers.cpu.lowering.broadcasting import PLAIN, WALK_FIELDS, pairwise
from nnapi_shim.drivers.cpu.lowering.elements import (
    all_saturated,
    requantize,
    requantized,
    singles,
    stays,
)
from nnapi_shim.drivers.cpu.lowering.fixed_point import (
    SHORT,
    SUM_BITS,
    SUM_SHIFT,
    decomposed,
    halves,
    rounding,
    short_multiplier,
    vanishing,
)
from nnapi_shim.drivers.cpu.lowering.quantized_sum import CONSTANTS, RESULT, ZEROS, proven
from nnapi_shim.drivers.cpu.lowering.requantization import signed_zero
from nnapi_shim.drivers.cpu.program.record import FLOAT32, INT64, Record, Space, Step, record
from nnapi_shim.hal.quantization import QUANTIZED_RANGE
from nnapi_shim.hints import Any
from nnapi_shim.operations.declare import BoundOperand, BoundOperation
from nnapi_shim.operations.rules import float32

FLOAT = record(Space.PAIRS, **WALK_FIELDS, low=FLOAT32, high=FLOAT32)
SUM = record(Space.PAIRS, **WALK_FIELDS, flip=INT64, **CONSTANTS)
"""flip: XOR mask that converts stored bytes, as int8, to the int8 of the constants."""
PRODUCT = record(Space.PAIRS, **WALK_FIELDS, **ZEROS, **RESULT, **SHORT)
LARGEST = record(Space.PAIRS, **WALK_FIELDS, flip=INT64)
LARGEST_REQUANTIZED = record(
    Space.PAIRS, **WALK_FIELDS,
    signed=INT64, zero0=FLOAT32, scale0=FLOAT32, zero1=FLOAT32, scale1=FLOAT32,
    sign=FLOAT32, zero_point=FLOAT32, low=FLOAT32, high=FLOAT32,
)  # fmt: skip
"""signed: XOR mask that converts a stored byte to unsigned; zero0 and zero1 are unsigned, too."""


def lower_add(op: BoundOperation) -> list[Step]:
    """Quantized: fixed point, in units of 2 * max(scales) / 2^20."""
    return _sum(op, "add", +1)


def lower_sub(op: BoundOperation) -> list[Step]:
    """Quantized: the sum with a negative second multiplier."""
    return _sum(op, "sub", -1)


def lower_mul(op: BoundOperation) -> list[Step]:
    """Quantized: the integer product times input0.scale * input1.scale / output.scale."""
    if not op.variant.startswith("q"):
        return _plain(op, "mul")
    scale = float32(op.input0.scale * op.input1.scale) / op.output.scale
    zeros = {"zero0": -op.input0.zero_point, "zero1": -op.input1.zero_point}
    return _steps(op, PRODUCT, "mul", **_result(op), **zeros, **short_multiplier(scale))


def lower_div(op: BoundOperation) -> list[Step]:
    """Float and int32 only: the operation has no quantized form."""
    return _plain(op, "div")


def lower_maximum(op: BoundOperation) -> list[Step]:
    """Quantized operands with equal parameters are compared as stored."""
    return _largest(op, +1)


def lower_minimum(op: BoundOperation) -> list[Step]:
    """The maximum in reversed order."""
    return _largest(op, -1)


def lower_pow(op: BoundOperation) -> list[Step]:
    """Through the binary logarithm."""
    return pairwise(PLAIN, f"pow_{op.variant}", op.base, op.exponent, op.output)


REVERSED = {"f32": 1 << 31, "f16": 1 << 31, "i32": -1, "qu8": 0xFF, "qs8": 0xFF}
"""XOR mask that reverses the order of numbers; float16 is widened to float32 first."""


def _largest(op: BoundOperation, sign: int) -> list[Step]:
    """MAXIMUM for sign 1, MINIMUM for sign -1."""
    flip = REVERSED[op.variant] if sign < 0 else 0
    if not op.variant.startswith("q"):
        return _steps(op, LARGEST, "largest", flip=flip)
    signed = op.variant == "qs8"
    operands = (op.input0, op.input1, op.output)
    if stays(op.input0, op.output) and stays(op.input1, op.output):
        # The kernel compares unsigned bytes; signed bytes are 128 lower.
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
    """Whether the kernel's float32 formula requantizes all 256 values as specified."""
    from nnapi_shim.drivers.cpu.lowering.byte_tables import near

    _, unclear = near(operand, target)
    if not unclear:
        return True
    lowest, _ = QUANTIZED_RANGE[operand.type]
    values = [n + lowest for n in unclear]
    scale = float32(operand.scale / target.scale)
    products = singles([(q - operand.zero_point) * scale for q in values])
    sums = singles([product + target.zero_point for product in products])
    return all_saturated(sums, target.type) == requantized(operand, target)(values)


def _sum(op: BoundOperation, name: str, sign: int) -> list[Step]:
    """ADD for sign 1, SUB for sign -1.

    Constants are as of int8. The unit is twice the larger scale, so the multiplier of that input is
    a left shift by 19. Both roundings of the other input are combined (see `rounded_twice` in the
    kernels).
    """
    if not op.variant.startswith("q"):
        return _plain(op, name)
    coarse, fine, coarse_sign, fine_sign = op.input0, op.input1, 1, sign
    if fine.scale > coarse.scale:
        coarse, fine, coarse_sign, fine_sign = fine, coarse, sign, 1
    unit = float32(2 * coarse.scale)
    mantissa, exponent = vanishing(*decomposed(fine.scale / unit), SUM_BITS)
    if exponent == 0:  # 1/2: doubled and divided by 2, like the others
        mantissa, exponent = 2 * mantissa, -1
    fine_high, fine_low = halves(fine_sign * mantissa)
    fine_rounding = rounding(exponent)
    share = fine_sign * mantissa * 2.0 ** (exponent - 30)
    flip, zero_point = signed_zero(op.output)
    low, high = quantized_bounds(op.activation, op.output)
    multiplier = unit / float32(2**SUM_SHIFT * op.output.scale)
    mantissa, exponent = vanishing(*decomposed(multiplier), SUM_BITS)
    steps = mantissa * 2.0 ** (exponent - 31 + SUM_SHIFT - 1)
    scales = coarse_sign * steps, share * steps
    zeros = [-signed_zero(operand)[1] for operand in (coarse, fine)]
    constants = {
        "zero0": zeros[0],
        "zero1": zeros[1],
        "zero_point": zero_point,
        "lowest": low - flip,
        "highest": high - flip,
        "scale0": scales[0],
        "scale1": scales[1],
        "offset": zero_point + zeros[0] * scales[0] + zeros[1] * scales[1],
        "coarse": coarse_sign << (SUM_SHIFT - 1),
        "fine_high": 64 * fine_high,
        "fine_low": fine_low,
        "fine_nudge": fine_rounding["nudge"],
        "fine_down": fine_rounding["down"],
        "mantissa": mantissa,
        **rounding(exponent),
    }
    found = proven(constants)
    kernel = "add_float_b8" if found else "add_b8"
    constants |= found or {}
    return pairwise(SUM, kernel, coarse, fine, op.output, flip=-flip, **constants)


def _plain(op: BoundOperation, name: str) -> list[Step]:
    if op.variant == "i32":  # has no activation
        return _steps(op, PLAIN, name)
    low, high = float_bounds(op.activation)
    if low > high:  # MovedActivation, only of ADD
        name += "_bounded"
    return _steps(op, FLOAT, name, low=low, high=high)


def _result(op: BoundOperation) -> dict[str, Any]:
    low, high = quantized_bounds(op.activation, op.output)
    return {"zero_point": op.output.zero_point, "lowest": low, "highest": high}


def _steps(op: BoundOperation, layout: Record, name: str, **fields: Any) -> list[Step]:
    return pairwise(layout, f"{name}_{op.variant}", op.input0, op.input1, op.output, **fields)
