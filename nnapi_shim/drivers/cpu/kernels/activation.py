"""Activations.

Float: computed in float32, rounded once to the stored type. Quantized: in fixed point, rounded
where the reference does; functions of one number through a table of all 256 results.
"""

import numpy as np
from numba import types

from nnapi_shim.drivers.cpu.codegen.broadcasting import pairwise, without_constants
from nnapi_shim.drivers.cpu.codegen.byte_lookup import lookup_bytes_of
from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, elementwise, mapped, nothing, part
from nnapi_shim.drivers.cpu.codegen.exponential import (
    expm1_of,
    logistic,
    logistic_of,
    tanh,
    tanh_of,
)
from nnapi_shim.drivers.cpu.codegen.fixed_point import (
    logistic_32,
    product_16,
    result_constants,
    rounding_shift,
    rounding_shift_16,
    saturated,
    scaled,
    scaled_short,
    stored,
    tanh_32,
)
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import add32, bounded, clamp, multiply32, words
from nnapi_shim.drivers.cpu.codegen.simd import (
    F32,
    elementwise_kernel,
    mapping,
    scalar_function,
    vector_loop,
)
from nnapi_shim.drivers.cpu.lowering.activation import (
    CLAMP,
    CLAMP_RAW,
    ELU,
    GELU,
    HARD_SWISH,
    PRELU_QUANTIZED,
    SQUASHED,
)
from nnapi_shim.drivers.cpu.lowering.broadcasting import PLAIN
from nnapi_shim.drivers.cpu.lowering.elements import LOOKUP
from nnapi_shim.drivers.cpu.lowering.fixed_point import SHORT
from nnapi_shim.drivers.cpu.program.record import FLOAT32_MAX
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

write_b8 = WRITE["b8"]
ZERO_STEPS = np.int32(0)
ZERO, THREE, SIX, SIXTH = np.float32(0), np.float32(3), np.float32(6), np.float32(1 / 6)


bounds = helper(lambda a: (a.low, a.high))
unsigned_bounds = helper(lambda a: (np.uint8(a.low), np.uint8(a.high)))
signed_bounds = helper(lambda a: (np.int8(a.low), np.int8(a.high)))
float_within = helper(lambda x, limits: bounded(x, limits[0], limits[1]))
byte_within = helper(lambda x, limits: min(max(x, limits[0]), limits[1]))


def elu_of(x: F32, alpha: F32) -> F32:
    """max(0, x) + min(0, alpha * (e^x - 1)).

    The second term is that of positive inputs, too, where alpha is negative. NaN stays NaN.
    """
    low = alpha * expm1_of(x)
    return x.select_below(0.0, 0.0, x) + low.select_below(0.0, low, 0.0)


run_elu, elu = mapping(elu_of), scalar_function(elu_of, operands=2)


@kernel(ELU)
def elu_f32(a, tile):
    """input, output: float32[count]."""
    first, end = part(a.count, a.part, tile)
    run_elu(a.input + 4 * first, a.output + 4 * first, end - first, a.alpha)
    return 0


elementwise("elu_f16", ELU, READ["f16"], WRITE["f16"], elu, helper(lambda a: a.alpha))


@emits(types.void(*[types.int64] * 3, *[types.float32] * 4))
def run_gelu(builder, x, y, count, *parameters):
    """As a `mapping` of four parameters; every product and sum is rounded. Of the clamps of MUL and
    ADD one is left: see `is_ordinary` in passes/graph/fuse_gelu.py.
    """

    def body(position):
        cubic, inner, one, half = map(position.broadcast, parameters)
        value = position.load(x)
        cube = value * value * value
        share = tanh_of((value + cube * cubic) * inner)
        product = (value * (share + one)).clamped(-float("inf"), FLOAT32_MAX)
        position.store(y, product * half)

    vector_loop(builder, count, body)


@kernel(GELU)
def gelu_f32(a, tile):
    """input, output: float32[count]; see GELU in lowering/activation.py."""
    first, end = part(a.count, a.part, tile)
    x, y = a.input + 4 * first, a.output + 4 * first
    run_gelu(x, y, end - first, a.cubic, a.inner, a.one, a.half)
    return 0


@helper
def hard_swish(x):
    """The product x * min(max(x + 3, 0), 6) / 6, divided first because x * 6 may overflow."""
    return x * (clamp(x + THREE, ZERO, SIX) * SIXTH)


@helper
def prelu(x, alpha):
    """Where x >= 0 x, else alpha * x; NaN stays NaN."""
    return x if x >= 0 else alpha * x


@helper
def prelu_quantized(x, alpha, values):
    """Steps of the output: x times its multiplier for x >= 0, else x * alpha times another."""
    (zero0, zero1), positive, negative, result = values
    x, alpha = add32(np.int32(x), zero0), add32(np.int32(alpha), zero1)
    above = scaled_short(x, positive)
    below = scaled_short(multiply32(x, alpha), negative)
    return stored(above if x >= ZERO_STEPS else below, result)


for _variant, _size in (("f32", 4), ("f16", 2)):
    elementwise(f"clamp_{_variant}", CLAMP, READ[_variant], WRITE[_variant], float_within, bounds)
    mapped("hard_swish", hard_swish, _variant)
    pairwise(
        f"prelu_{_variant}", PLAIN, READ[_variant], WRITE[_variant], (_size, _size), nothing,
        without_constants(prelu),
    )  # fmt: skip

elementwise_kernel("logistic_f32", mapping(lambda x, _: logistic_of(x)))
elementwise_kernel("tanh_f32", mapping(lambda x, _: tanh_of(x)))
mapped("logistic", logistic, "f16")
mapped("tanh", tanh, "f16")

zeros = words("zero0", "zero1")
positive, negative = (
    words(*(f"{side}_{name}" for name in SHORT)) for side in ("positive", "negative")
)
prelu_constants = helper(lambda a: (zeros(a), positive(a), negative(a), result_constants(a)))
for _type in ("qu8", "qs8"):
    _io = READ[_type[1:]], write_b8, (1, 1)
    pairwise(f"prelu_{_type}", PRELU_QUANTIZED, *_io, prelu_constants, prelu_quantized)

for _type, _bounds in (("qu8", unsigned_bounds), ("qs8", signed_bounds)):
    elementwise(f"clamp_{_type}", CLAMP_RAW, READ[_type[1:]], write_b8, byte_within, _bounds)


@kernel(LOOKUP)
def lookup_b8(a, tile):
    """input, output: byte[count], table: byte[256]. output = table[input]."""
    x, y, table = a.input, a.output, a.table
    first, end = part(a.count, a.part, tile)
    lookup_bytes_of(y + first, x + first, end - first, table)
    return 0


@helper
def number_of(byte, zero, lowest):
    """The stored number of a byte of a quantized type minus its zero point."""
    return ((byte - lowest) & 255) + lowest - zero


@helper
def within(steps, lowest):
    """The nearest number of an 8-bit type."""
    return min(max(steps, lowest), lowest + 255)


def squashing_table(name, function, whole, bits):
    """The kernel that fills a table of a function of numbers in Q4.27 (semantics.md 6.9, 6.10).

    For -x the result is `whole` less the one for x; results are divided by 2^bits.
    """

    @kernel(SQUASHED, name)
    def body(a, tile):
        lowest, radius = a.lowest, a.radius
        for byte in range(256):
            x = number_of(byte, a.zero, lowest)
            if x <= -radius:
                steps = lowest
            elif x >= radius:
                steps = lowest + 255
            else:
                exponent = scaled(x, a.mantissa, a.exponent)
                result = function(abs(exponent), 4)
                result = whole - result if exponent < 0 else result
                steps = within(rounding_shift(result, bits) + a.zero_point, lowest)
            write_b8(a.output, byte, np.int32(steps))
        return 0


squashing_table("logistic_bytes", logistic_32, 2**31 - 1, 23)
squashing_table("tanh_bytes", tanh_32, 0, 24)


@kernel(HARD_SWISH)
def hard_swish_table(a, tile):
    """output: byte[256]. All numbers have 16 bits (semantics.md 6.11), the last sum included."""
    lowest, up, down = a.lowest, a.share_up, a.share_down
    for byte in range(256):
        x = number_of(byte, a.zero, lowest) * 128
        product = product_16(x, a.product)
        # The last bit to the left waits until the end, and so does every bit to the right.
        share = product_16(saturated(x << max(up - 1, 0), 16), a.share)
        share = saturated(share << min(up, 1), 16)
        share = (rounding_shift_16(share, down) + (1 << 15)) >> 1
        result = share * product
        result = result >> 15 if result >= 0 else -(-result >> 15)
        steps = rounding_shift_16(result, a.product_down) + a.zero_point
        steps = np.int64(np.int16(steps))
        write_b8(a.output, byte, np.int32(within(steps, lowest)))
    return 0
