"""Activations. Computed in float32, rounded once to the stored type."""

import numpy as np

from nnapi_shim.drivers.cpu.kernels.broadcasting import bare, nothing, pairwise
from nnapi_shim.drivers.cpu.kernels.elements import READ, WRITE, mapped, part
from nnapi_shim.drivers.cpu.kernels.exponential import expm1, logistic, tanh
from nnapi_shim.drivers.cpu.kernels.kernel import helper, kernel
from nnapi_shim.drivers.cpu.kernels.numeric import bits_of, bounded, clamp, quantized
from nnapi_shim.drivers.cpu.kernels.translation import translate
from nnapi_shim.drivers.cpu.lowering.activation import CLAMP, CLAMP_RAW, ELU, PRELU_QUANTIZED
from nnapi_shim.drivers.cpu.lowering.broadcasting import PLAIN
from nnapi_shim.drivers.cpu.lowering.elements import LOOKUP

u8, write_b8 = READ["u8"], WRITE["b8"]
ZERO, THREE, SIX, SIXTH = np.float32(0), np.float32(3), np.float32(6), np.float32(1 / 6)


def clamp_float(variant):
    """input, output: float[count]. output = min(max(input, low), high); NaN becomes low."""
    read, write = READ[variant], WRITE[variant]

    def body(a, tile):
        x, y, low, high = a.input, a.output, a.low, a.high
        first, end = part(a.count, tile)
        for i in range(first, end):
            write(y, i, bounded(read(x, i), low, high))
        return 0

    body.__name__ = f"clamp_{variant}"
    return kernel(CLAMP)(body)


def clamp_quantized(variant, byte, read):
    """input, output: byte[count], as they are stored. output = min(max(input, low), high)."""

    def body(a, tile):
        x, y, low, high = a.input, a.output, byte(a.low), byte(a.high)
        first, end = part(a.count, tile)
        for i in range(first, end):
            write_b8(y, i, min(max(read(x, i), low), high))
        return 0

    body.__name__ = f"clamp_{variant}"
    return kernel(CLAMP_RAW)(body)


def elu(variant):
    """input, output: float[count]. output = max(0, input) + min(0, alpha * (e^input - 1)).

    The second term is that of positive inputs, too, where alpha is negative. NaN stays NaN.
    """
    read, write = READ[variant], WRITE[variant]

    def body(a, tile):
        x, y, alpha = a.input, a.output, a.alpha
        first, end = part(a.count, tile)
        for i in range(first, end):
            value = read(x, i)
            low = alpha * expm1(value)
            write(y, i, (ZERO if value < ZERO else value) + (low if low < ZERO else ZERO))
        return 0

    body.__name__ = f"elu_{variant}"
    return kernel(ELU)(body)


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
    """Steps of the output: x * scale for x >= 0, else alpha * x * negative_scale, both without
    their zero points. Signed bytes are flipped to be 128 higher.
    """
    signed, zero0, zero1, scale, negative_scale, low, high, zero_point = values
    x = np.float32(x ^ signed) - zero0
    negative = (np.float32(alpha ^ signed) - zero1) * negative_scale
    return quantized(x * (negative if bits_of(x) < 0 else scale), low, high, zero_point)


for _variant, _size in (("f32", 4), ("f16", 2)):
    clamp_float(_variant)
    elu(_variant)
    mapped("tanh", tanh, _variant)
    mapped("logistic", logistic, _variant)
    mapped("hard_swish", hard_swish, _variant)
    pairwise(
        f"prelu_{_variant}", PLAIN, READ[_variant], WRITE[_variant], (_size, _size), nothing,
        bare(prelu),
    )  # fmt: skip

prelu_constants = helper(
    lambda a: (
        np.uint8(a.signed),
        a.zero0,
        a.zero1,
        a.scale,
        a.negative_scale,
        a.low,
        a.high,
        a.zero_point,
    )
)
pairwise("prelu_b8", PRELU_QUANTIZED, u8, write_b8, (1, 1), prelu_constants, prelu_quantized)

clamp_quantized("qu8", np.uint8, READ["u8"])
clamp_quantized("qs8", np.int8, READ["s8"])


@kernel(LOOKUP)
def lookup_b8(a, tile):
    """input, output: byte[count], table: byte[256]. output = table[input]."""
    x, y, table = a.input, a.output, a.table
    first, end = part(a.count, tile)
    translate(y + first, x + first, end - first, table)
    return 0
