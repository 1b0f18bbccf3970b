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
from nnapi_shim.drivers.cpu.lowering.elements import LINE
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


@helper
def quantize_each(x, y, first, end, values):
    """As quantize_f32_b8."""
    for i in range(first, end):
        write_b8(y, i, quantized(read_f32(x, i), values))


def _fixed(builder, source, at, factor, start):
    """A vector of numbers from the element `at` on, as quantized numbers in fixed point."""
    address = builder.add(source, builder.shl(at, long(2)))
    x = builder.load_from(address, vector(FLOAT, TILING.lanes), 4)
    return ISA.rounded(builder, ISA.multiply_add(builder, x, factor, start))


def _quantizing_kernel(target):
    """The kernel without a division for results of this type of quantized bytes."""
    lanes, is_signed = TILING.lanes, target == "qs8"
    halfwords = vector(HALFWORD, 2 * lanes)
    lowest, narrowed = (-128, ISA.narrowed) if is_signed else (0, ISA.narrowed_unsigned)

    def block_of(builder, source, target, block, factor, start):
        """Quantize the numbers from `block` on; gives the least of what is behind the points."""
        least = constant(halfwords, -1)
        for begin in range(0, BLOCK, 4 * lanes):
            first = builder.add(block, long(begin))
            groups = []
            for pair in ((0, lanes), (2 * lanes, 3 * lanes)):
                fixed = [
                    _fixed(builder, source, builder.add(first, long(at)), factor, start)
                    for at in pair
                ]
                for each in fixed:
                    # What is before a point is larger, or the result is unsure as well.
                    each = builder.bitcast(each, halfwords)
                    least = builder.call_same("llvm.umin", least, each)
                whole = ISA.upper_halves(builder, *fixed)
                moved = builder.call_same(
                    "llvm.sadd.sat", whole, constant(halfwords, lowest - FIRST)
                )
                order = ISA.upper_halves_order(*([*range(at, at + lanes)] for at in pair))
                groups.append((moved, order))
            [(narrow, order)] = narrow_pairs(builder, groups, narrowed)
            narrow = builder.pick(narrow, [order.index(at) for at in range(4 * lanes)])
            builder.store_to(narrow, builder.add(target, first), 1)
        return least

    @emits(types.int64(*[types.int64] * 3, *[types.float32] * 2))
    def quantize_blocks(builder, source, target, blocks, factor, start):
        """Quantize blocks of BLOCK numbers; returns how many there are before one with an unsure
        result. Numbers close to a half are unsure, NaN, and what lies far out of range.

        start: what is added to products with the factor, so that a half and less than ERROR above
        it end as whole numbers and less than 2 * ERROR.
        """
        factor, start = builder.splat(factor, lanes), builder.splat(start, lanes)
        sure = builder.variable(LONG, blocks)
        with builder.each_until(blocks, BLOCK) as (block, leave):
            least = block_of(builder, source, target, block, factor, start)
            unsure = builder.icmp_unsigned("<=", least, constant(halfwords, 2 * ERROR))
            unsure = builder.bitcast(unsure, ir.IntType(2 * lanes))
            with builder.if_then(builder.icmp_unsigned("!=", unsure, unsure.type(0)), likely=False):
                builder.store(builder.udiv(block, long(BLOCK)), sure)
                leave()
        return builder.load(sure)

    @kernel(QUANTIZE, f"quantize_by_reciprocal_f32_{target}")
    def body(a, tile):
        x, y, values = a.input, a.output, quantization(a)
        scale, low, _, _ = values
        factor = UNITS * (ONE / scale)
        start = UNITS * (HALF_AFTER_FIRST - low) + MOVED
        first, end = part(a.count, a.part, tile)
        begin = first
        while end - begin >= BLOCK:
            blocks = (end - begin) // BLOCK
            sure = quantize_blocks(x + begin * 4, y + begin, blocks, factor, start)
            begin += sure * BLOCK
            if sure < blocks:
                quantize_each(x, y, begin, begin + BLOCK, values)
                begin += BLOCK
        if begin < end:
            begin = max(end - BLOCK, first)  # some of the block before, if there is one
            is_block = end - begin == BLOCK
            if not is_block or not quantize_blocks(x + begin * 4, y + begin, 1, factor, start):
                quantize_each(x, y, begin, end, values)
        return 0


# As quantize_f32_b8, which divides, where a block has an unsure result.
for _target in ("qu8", "qs8"):
    _quantizing_kernel(_target)


line_of = helper(
    lambda a: (
        np.int32(a.zero_point),
        np.int32(a.shift),
        np.int32(a.multiplier),
        np.int32(a.target_zero_point),
        np.int32(a.flip),
    )
)


def _line_kernel(source):
    """A kernel for bytes of a type of READ."""
    is_signed, read = source == "qs8", READ[source[1:]]
    lanes = 2 * TILING.lanes
    halfwords, values = vector(HALFWORD, lanes), types.int64

    @emits(types.void(*[values] * 3, *[types.int32] * 5))
    def line_blocks(
        builder, x, y, blocks, zero_point, shift, multiplier, target_zero_point, flip
    ):  # fmt: skip
        """Blocks of two vectors of bytes."""
        widened = builder.sext if is_signed else builder.zext
        shift, multiplier, target_zero_point, zero_point = (
            builder.splat(builder.trunc(each, HALFWORD), lanes)
            for each in (shift, multiplier, target_zero_point, builder.shl(zero_point, shift))
        )
        flip = builder.splat(builder.trunc(flip, BYTE), 2 * lanes)
        with builder.each(blocks, 2 * lanes) as begin:
            groups = []
            for first in (0, lanes):
                at = builder.add(x, builder.add(begin, long(first)))
                value = widened(builder.load_from(at, vector(BYTE, lanes), 1), halfwords)
                value = builder.sub(builder.shl(value, shift), zero_point)
                value = ISA.rounded_product(builder, value, multiplier)
                value = builder.call_same("llvm.sadd.sat", value, target_zero_point)
                groups.append((value, [*range(first, first + lanes)]))
            [(narrow, order)] = narrow_pairs(builder, groups)
            narrow = in_order(builder, builder.xor(narrow, flip), order, 2 * lanes)
            builder.store_to(narrow, builder.add(y, begin), 1)

    @emits(types.int32(*[types.int32] * 6))
    def on_line(builder, q, zero_point, shift, multiplier, target_zero_point, flip):
        """A byte."""
        value = builder.mul(builder.shl(builder.sub(q, zero_point), shift), multiplier)
        value = builder.ashr(builder.add(value, WORD(1 << 14)), WORD(15))
        value = builder.add(value, target_zero_point)
        return builder.xor(builder.clamp_integers(value, WORD(-128), WORD(127)), flip)

    @kernel(LINE, f"line_{source}")
    def body(a, tile):
        x, y = a.input, a.output
        line = line_of(a)
        first, end = part(a.count, a.part, tile)
        blocks = (end - first) // (2 * lanes)
        line_blocks(x + first, y + first, blocks, *line)
        for i in range(first + blocks * 2 * lanes, end):
            write_b8(y, i, on_line(np.int32(read(x, i)), *line))
        return 0


for _source in ("qu8", "qs8"):
    _line_kernel(_source)

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


def _dequantizing_kernel(source):
    """The kernel of whole vectors from bytes to float32."""
    read, write, lanes = READ[source], WRITE["f32"], TILING.lanes

    @emits(types.void(*[types.int64] * 3, *[types.float32] * 2))
    def dequantize_vectors(builder, x, y, count, scale, zero_point):
        """Dequantize `count` vectors of bytes."""
        widened = builder.sext if source == "qs8" else builder.zext
        scale, zero_point = builder.splat(scale, lanes), builder.splat(zero_point, lanes)
        with builder.each(count, lanes) as first:
            value = builder.load_from(builder.add(x, first), vector(BYTE, lanes), 1)
            value = builder.sitofp(widened(value, vector(WORD, lanes)), zero_point.type)
            value = builder.fmul(builder.fsub(value, zero_point), scale)
            builder.store_to(value, builder.add(y, builder.shl(first, long(2))), 4)

    @kernel(DEQUANTIZE, f"dequantize_{source}_f32")
    def body(a, tile):
        x, y, values = a.input, a.output, dequantization(a)
        first, end = part(a.count, a.part, tile)
        vectors = (end - first) // lanes
        dequantize_vectors(x + first, y + first * 4, vectors, *values)
        for i in range(first + vectors * lanes, end):
            write(y, i, dequantized(read(x, i), values))
        return 0


for _source in ("qu8", "qs8"):
    _dequantizing_kernel(_source)
for _float in ("f32", "f16"):
    elementwise(
        f"quantize_{_float}_b8", QUANTIZE, READ[_float], WRITE["b8"], quantized, quantization
    )
    dequantize_channels(_float)
for _source, _target in (
    ("qu8", "f16"),
    ("qs8", "f16"),
    *product(("qu16", "qs16"), ("f32",)),
):
    _name = f"dequantize_{_source}_{_target}"
    elementwise(_name, DEQUANTIZE, READ[_source], WRITE[_target], dequantized, dequantization)
for _bits in (8, 16):
    elementwise(f"store_{_bits}", STORE, READ["f32"], WRITE[f"b{_bits}"], stored, storing)
