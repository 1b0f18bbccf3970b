"""QUANTIZE and DEQUANTIZE: between real and quantized numbers, in float32; and CAST."""

from itertools import product

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.elements import READ, WRITE, elementwise, mapped, part
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.numeric import add32, bounded, rounded, truncated
from nnapi_shim.drivers.cpu.codegen.requantization import in_order, narrow_pairs
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    FLOAT,
    HALFWORD,
    LONG,
    WORD,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.lowering.conversion import DEQUANTIZE, DEQUANTIZE_CHANNELS, QUANTIZE
from nnapi_shim.drivers.cpu.lowering.dequantize import STORE
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel


@helper
def limited(x, low, high):
    """max(min(x, high), low); NaN becomes `high`."""
    x = x if x < high else high
    return x if x > low else low


@helper
def quantized(x, values):
    """The zero point + round(max(min(x / scale, high), low)), halves away from zero; NaN becomes
    the largest number.
    """
    scale, low, high, zero_point = values
    return add32(rounded(limited(x / scale, low, high)), zero_point)


@helper
def dequantized(x, values):
    """The real number (x - zero_point) * scale."""
    scale, zero_point = values
    return (x - zero_point) * scale


@helper
def stored(x, values):
    """round(min(max(x / scale + zero_point, low), high)), halves away from zero, for numbers of
    boxes and scores; NaN becomes the smallest number.
    """
    scale, zero_point, low, high = values
    return rounded(bounded(x / scale + zero_point, low, high))


quantization = helper(lambda a: (a.scale, a.low, a.high, np.int32(a.zero_point)))
dequantization = helper(lambda a: (a.scale, a.zero_point))
storing = helper(lambda a: (a.scale, a.zero_point, a.low, a.high))


def dequantize_channels(target):
    """input: int8[rows, channels, length], output: float of the same shape, scales:
    float32[channels]. output[r, c, l] = input[r, c, l] * scales[c].
    """
    read, write, scale_of = READ["qs8"], WRITE[target], READ["f32"]

    @kernel(DEQUANTIZE_CHANNELS, f"dequantize_qc8_{target}")
    def body(a, tile):
        x, y, scales, channels, length = a.input, a.output, a.scales, a.channels, a.length
        first = tile * a.tile_rows
        end = min(first + a.tile_rows, a.rows)
        if length == 1:  # the loop over the channels is the long one
            for row in range(first, end):
                for c in range(channels):
                    at = row * channels + c
                    write(y, at, read(x, at) * scale_of(scales, c))
        else:
            for row in range(first * channels, end * channels):
                scale = scale_of(scales, row % channels)
                for i in range(row * length, (row + 1) * length):
                    write(y, i, read(x, i) * scale)
        return 0


ONE = np.float32(1)
UNITS = np.float32(2.0**16)
"""Of a fixed-point number: 16 bits before the point, 16 behind it."""
FIRST = 256
"""What stands for the smallest quantized number: float32 hold the 255 that follow it to 2 units.
"""
ERROR = 6
"""Units that a product with the reciprocal, as a fixed-point number, may differ from the quotient
by: 1 each for the roundings of the reciprocal, the product, the quotient and the sum, 2 where
conversions are rounded (ISA.rounded).
"""
HALF_AFTER_FIRST, MOVED = np.float32(FIRST + 0.5), np.float32(ERROR)
BLOCK = 64
read_f32, write_b8 = READ["f32"], WRITE["b8"]


@emits(types.int64(*[types.int64] * 2, *[types.float32] * 2, types.int64))
def quantize_block(builder, source, target, factor, start, lowest):
    """Quantize BLOCK numbers; returns whether the result of one of them is unsure, which is so for
    numbers close to a half, NaN, and what lies far out of range.

    start: what is added to products with the factor, so that a half and less than ERROR above it
    end as whole numbers and less than 2 * ERROR. lowest: the smallest quantized number.
    """
    lanes = TILING.lanes
    floats, words, halfwords = (
        vector(FLOAT, lanes),
        vector(WORD, lanes),
        vector(HALFWORD, 2 * lanes),
    )
    factor, start = builder.splat(factor, lanes), builder.splat(start, lanes)
    least = constant(halfwords, -1)  # of what is behind the points, unsigned
    signed = constant(halfwords, -128 - FIRST)
    back = builder.splat(builder.trunc(builder.add(lowest, long(128)), BYTE), 4 * lanes)
    for begin in range(0, BLOCK, 4 * lanes):
        groups = []
        for first in range(0, 4 * lanes, lanes):
            x = builder.load_from(builder.add(source, long(4 * (begin + first))), floats, 4)
            fixed = ISA.rounded(builder, ISA.multiply_add(builder, x, factor, start))
            # What is before a point is larger, or the result is unsure as well.
            least = builder.call_same("llvm.umin", least, builder.bitcast(fixed, halfwords))
            whole = builder.ashr(fixed, constant(words, 16))
            groups.append((whole, [*range(first, first + lanes)]))
        groups = narrow_pairs(builder, groups)
        groups = [(builder.call_same("llvm.sadd.sat", x, signed), at) for x, at in groups]
        [(narrow, order)] = narrow_pairs(builder, groups)
        narrow = in_order(builder, builder.add(narrow, back), order, 4 * lanes)
        builder.store_to(narrow, builder.add(target, long(begin)), 1)
    unsure = builder.icmp_unsigned("<=", least, constant(halfwords, 2 * ERROR))
    return builder.zext(builder.bitcast(unsure, ir.IntType(2 * lanes)), LONG)


@kernel(QUANTIZE)
def quantize_by_reciprocal_f32_b8(a, tile):
    """As quantize_f32_b8, without a division, except in blocks with an unsure result."""
    x, y, values = a.input, a.output, quantization(a)
    scale, low, _, zero_point = values
    factor = UNITS * (ONE / scale)
    start = UNITS * (HALF_AFTER_FIRST - low) + MOVED
    lowest = np.int64(low) + zero_point
    first, end = part(a.count, a.part, tile)
    if end - first < BLOCK:
        for i in range(first, end):
            write_b8(y, i, quantized(read_f32(x, i), values))
        return 0
    for begin in range(first, end, BLOCK):
        at = min(begin, end - BLOCK)  # the last block may have some of the one before
        if quantize_block(x + at * 4, y + at, factor, start, lowest) != 0:
            for i in range(at, at + BLOCK):
                write_b8(y, i, quantized(read_f32(x, i), values))
    return 0


ZERO, BYTE_LIMIT = np.float32(0), np.float32(255)
WORD_LOW, WORD_LIMIT = np.float32(-(2.0**31)), np.float32(2.0**31)
BELOW_WORD_LIMIT = np.nextafter(WORD_LIMIT, ZERO)


@helper
def float_to_byte(x):
    """Toward zero, within 0 to 255; NaN becomes 0."""
    x = x if x == x else ZERO  # an AArch64 maximum of a number and a signaling NaN is NaN
    return truncated(bounded(x, ZERO, BYTE_LIMIT))


@helper
def float_to_word(x):
    """Toward zero, within the range of int32; NaN becomes 0."""
    x = x if x == x else ZERO
    within = truncated(bounded(x, WORD_LOW, BELOW_WORD_LIMIT))
    return np.int64(within if x < WORD_LIMIT else np.int32(2**31 - 1))


@helper
def word_to_byte(x):
    """Within 0 to 255."""
    return np.int32(min(max(x, 0), 255))


for _source in ("f32", "f16"):
    mapped("cast", float_to_byte, _source, "b8")
    mapped("cast", float_to_word, _source, "i32")
    mapped("cast", np.float32, "i32", _source)
mapped("cast", word_to_byte, "i32", "b8")
mapped("cast", np.int64, "u8", "i32")

for _float in ("f32", "f16"):
    elementwise(
        f"quantize_{_float}_b8", QUANTIZE, READ[_float], WRITE["b8"], quantized, quantization
    )
    dequantize_channels(_float)
for _source, _target in (
    *product(("qu8", "qs8"), ("f32", "f16")),
    *product(("qu16", "qs16"), ("f32",)),
):
    _name = f"dequantize_{_source}_{_target}"
    elementwise(_name, DEQUANTIZE, READ[_source], WRITE[_target], dequantized, dequantization)
for _bits in (8, 16):
    elementwise(f"store_{_bits}", STORE, READ["f32"], WRITE[f"b{_bits}"], stored, storing)
