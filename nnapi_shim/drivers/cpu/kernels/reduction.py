"""MEAN and the REDUCE operations, as the loops of codegen/reduction_loops.py.

Sums and products are float64, rounded once. Their order depends on the tier, never on the number of
threads.
"""

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.byte_extremes import ROWS, largest_of_rows
from nnapi_shim.drivers.cpu.codegen.byte_lanes import sum_lanes
from nnapi_shim.drivers.cpu.codegen.byte_rows import sum_rows
from nnapi_shim.drivers.cpu.codegen.clock import LONG, late
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.numeric import (
    add32,
    add_any_order_f64,
    bits_of,
    clamp,
    float_of,
    i32,
    multiply_any_order_f64,
    rounded,
    truncated,
    xor32,
)
from nnapi_shim.drivers.cpu.codegen.reduction_loops import Reduction, reduce_lanes, reduce_rows
from nnapi_shim.drivers.cpu.codegen.row_sums import sum_indexed_rows
from nnapi_shim.drivers.cpu.codegen.row_sums import sum_rows as sum_float_rows
from nnapi_shim.drivers.cpu.codegen.simd import largest_of, sum_of
from nnapi_shim.drivers.cpu.codegen.single_fetch import fetch_block, private_block
from nnapi_shim.drivers.cpu.codegen.vector import BIT, BYTE, DOUBLE, FLOAT, constant, long, vector
from nnapi_shim.drivers.cpu.codegen.vector import LONG as LONG_WORD
from nnapi_shim.drivers.cpu.kernels.conversion import quantized
from nnapi_shim.drivers.cpu.kernels.lookup import OP_FAILED, are_inside
from nnapi_shim.drivers.cpu.lowering.gathered_sum import GATHERED_SUM
from nnapi_shim.drivers.cpu.lowering.reduction import (
    EXTREME,
    EXTREME_BYTES,
    MEAN_BYTES,
    PRODUCT,
    SUM,
    SUM_BYTES,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

ZERO, ONE = np.float32(0), np.float32(1)


# Sums


sum_constants = helper(lambda a: a.divisor)
no_sum = helper(lambda constants: 0.0)
add = helper(lambda total, x: total + x)
add_four = helper(lambda total, x: total + ((x[0] + x[1]) + (x[2] + x[3])))

read_f32, write_f32 = READ["f32"], WRITE["f32"]
exact_float = helper(lambda x, i, constants: np.float64(read_f32(x, i)))

sum_floats = helper(lambda x, length, constants: sum_of(x, length))
"""The sum of a row."""


@helper
def write_quotient(y, at, total, divisor):
    """The sum or the mean; of a sum that exceeds float32 infinity."""
    write_f32(y, at, np.float32(total) / np.float32(divisor))


_sum = Reduction("reduce_sum", SUM, "f32", sum_constants, no_sum, write_quotient)
reduce_rows(_sum, sum_floats, add)
reduce_lanes(_sum, exact_float, "f64", add, add_four)


@kernel(SUM)
def reduce_sum_vectors_f32(a, tile):
    """Chosen where a row, of which there are not many, is a few whole vectors."""
    length, inner, divisor, output = a.length, a.inner, a.divisor, a.output
    for block in range(*part(a.outer * a.rows, a.tile_blocks, tile)):
        x = a.input + block * length * inner * 4
        sum_float_rows(x, inner * 4, length, inner, 0, output + block * inner * 4, divisor)
    return 0


@kernel(GATHERED_SUM)
def gathered_sum_f32(a, tile):
    """As reduce_sum_vectors_f32, of the rows that indices choose."""
    size, length, inner, divisor, output = a.size, a.length, a.inner, a.divisor, a.output
    indices = private_block()
    for group in range(*part(a.groups, a.tile_blocks, tile)):
        fetch_block(indices, a.indices + group * length * 4, length * 4)
        if not are_inside(i32(indices), length, size):
            return OP_FAILED
        y = output + group * inner * 4
        sum_indexed_rows(a.input, inner * 4, length, inner, indices, y, divisor)
    return 0


read_u8, write_b8, read_total = READ["u8"], WRITE["b8"], READ_BACK["f64"]

mean_constants = helper(lambda a: a.factor)


@helper
def write_means(totals, y, count, x, view, factor, deadline):
    """The means, rounded toward zero."""
    for c in range(count):
        write_b8(y, c, np.int32(read_total(totals, c) * factor))
    return True


sum_rows("mean", MEAN_BYTES, mean_constants, write_means)
sum_lanes("mean", MEAN_BYTES, mean_constants, write_means)

read_qu8, read_qs8 = READ["qu8"], READ["qs8"]


@helper
def real_sum(x, pitch, length, is_signed, zero_point, scale):
    """The sum of dequantized bytes, `pitch` bytes apart, in float64: exact in any order."""
    total = 0.0
    if is_signed:
        for i in range(length):
            real = (read_qs8(x, i * pitch) - zero_point) * scale
            total = add_any_order_f64(total, np.float64(real))
    else:
        for i in range(length):
            real = (read_qu8(x, i * pitch) - zero_point) * scale
            total = add_any_order_f64(total, np.float64(real))
    return total


@helper
def real_sums(x, view, dequantization, deadline):
    """(whether the deadline is met, the sum of the dequantized bytes of a result)."""
    repeats, repeat_pitch, length, pitch, _ = view
    total = 0.0
    for repeat in range(repeats):
        if late(deadline):
            return False, total
        at = x + repeat * repeat_pitch
        if pitch == 1:  # in vectors
            total += real_sum(at, 1, length, *dequantization)
        else:
            total += real_sum(at, pitch, length, *dequantization)
    return True, total


@helper
def nearly(total, shift, factor, quantization):
    """The quotient of a sum, within a whole step of the range of results."""
    return clamp(np.float32(total - shift) * factor, quantization[1] - ONE, quantization[2] + ONE)


@helper
def is_unsure(quotient, sure):
    """Whether a quotient is close to a half."""
    return abs(quotient - np.float32(rounded(quotient))) > sure


@emits(types.int64(*[types.int64] * 3, types.float64, *[types.float32] * 4, types.int32))
def quantize_totals(
    builder, totals, target, vectors, shift, factor, sure, low, high, zero_point
):  # fmt: skip
    """Quantize `vectors` vectors of totals; returns whether a quotient is close to a half."""
    lanes = TILING.lanes
    numbers, floats = vector(DOUBLE, lanes), vector(FLOAT, lanes)
    shift, factor, sure, low, high, zero_point = (
        builder.splat(each, lanes) for each in (shift, factor, sure, low, high, zero_point)
    )
    least, most = (
        builder.fadd(end, constant(floats, by)) for end, by in ((low, -1.0), (high, 1.0))
    )
    unsure = builder.variable(vector(BIT, lanes), constant(vector(BIT, lanes), 0))
    with builder.each(vectors, lanes) as first:
        total = builder.load_from(builder.add(totals, builder.shl(first, long(3))), numbers, 8)
        quotient = builder.fmul(builder.fptrunc(builder.fsub(total, shift), floats), factor)
        quotient = builder.clamp(quotient, least, most)
        whole = ISA.rounded(builder, quotient)
        apart = builder.fsub(quotient, builder.sitofp(whole, floats))
        far = builder.fcmp_ordered(">", builder.call_same("llvm.fabs", apart), sure)
        builder.store(builder.or_(builder.load(unsure), far), unsure)
        ends = (builder.fptosi(end, whole.type) for end in (low, high))
        result = builder.add(builder.clamp_integers(whole, *ends), zero_point)
        narrow = builder.trunc(result, vector(BYTE, lanes))
        builder.store_to(narrow, builder.add(target, first), 1)
    return builder.zext(builder.bitcast(builder.load(unsure), ir.IntType(lanes)), LONG_WORD)


quantized_sum_constants = helper(
    lambda a: (
        (a.is_signed != 0, a.zero_point, a.scale),
        (a.shift, a.factor, a.sure, a.divisor),
        (a.target_scale, a.low, a.high, np.int32(a.target_zero_point)),
    )
)


@helper
def write_quantized_sums(totals, y, count, x, view, values, deadline):
    """The sums, quantized."""
    dequantization, (shift, factor, sure, divisor), quantization = values
    _, low, high, zero_point = quantization
    vectors = count // TILING.lanes
    unsure = quantize_totals(totals, y, vectors, shift, factor, sure, low, high, zero_point)
    for c in range(vectors * TILING.lanes, count):
        quotient = nearly(read_total(totals, c), shift, factor, quantization)
        unsure |= np.int64(is_unsure(quotient, sure))
        result = clamp(np.float32(rounded(quotient)), low, high)
        write_b8(y, c, add32(truncated(result), zero_point))
    if unsure != 0:
        for c in range(count):
            quotient = nearly(read_total(totals, c), shift, factor, quantization)
            if is_unsure(quotient, sure):
                is_met, total = real_sums(x + c * view[4], view, dequantization, deadline)
                if not is_met:
                    return False
                write_b8(y, c, quantized(np.float32(total) / divisor, quantization))
    return True


sum_rows("quantized_sum", SUM_BYTES, quantized_sum_constants, write_quantized_sums)
sum_lanes("quantized_sum", SUM_BYTES, quantized_sum_constants, write_quantized_sums)


# Products


@helper
def product_of_floats(x, length, nothing):
    """The product of a row, 0 if a factor is 0, even where another is infinite or NaN."""
    product, zeros = 1.0, np.int32(0)
    for i in range(length):
        factor = read_f32(x, i)
        product = multiply_any_order_f64(product, np.float64(factor))
        zeros = add32(zeros, np.int32(factor == ZERO))
    return product if zeros == 0 else 0.0


@helper
def multiply_rows(x, y):
    """The product of the products of two rows."""
    return 0.0 if (x == 0.0) | (y == 0.0) else x * y


@helper
def write_product(y, at, product, nothing):
    """The addition makes a negative 0 positive."""
    write_f32(y, at, np.float32(product + 0.0))


@helper
def repair_products(lanes, y, count, x, repeats, length, pitches, deadline):
    """A product with a factor 0 is 0, but 0 * infinity and 0 * NaN gave NaN: look for a 0 there."""
    (repeat_pitch, pitch), unusual = pitches, np.int32(0)
    for c in range(count):
        product = read_total(lanes, c)
        unusual = add32(unusual, np.int32(product != product))
    if unusual != 0:
        for c in range(count):
            product = read_total(lanes, c)
            if product != product:
                work = 0
                for repeat in range(repeats):
                    for i in range(length):
                        work += 1
                        if work % LONG == 0 and late(deadline):
                            return False
                        if read_f32(x + repeat * repeat_pitch + i * pitch, c) == ZERO:
                            write_f32(y, c, ZERO)
                if late(deadline):
                    return False
    return True


multiply = helper(lambda x, y: x * y)
multiply_four = helper(lambda x, y: x * ((np.float64(y[0]) * y[1]) * (np.float64(y[2]) * y[3])))
plain_float = helper(lambda x, i, constants: read_f32(x, i))

no_constants = helper(lambda a: 0)
no_product = helper(lambda constants: 1.0)

_product = Reduction("reduce_product", PRODUCT, "f32", no_constants, no_product, write_product)
reduce_rows(_product, product_of_floats, multiply_rows)
reduce_lanes(_product, plain_float, "f64", multiply, multiply_four, repair_products)


# Maximum and minimum


# The largest of numbers XOR `flip`, which maps a minimum to a maximum. The result is the second
# operand only if that is larger, so NaN is ignored; floats start from `start`.

larger = helper(lambda x, y: y if y > x else x)
largest = helper(lambda x, y: larger(larger(larger(larger(x, y[0]), y[1]), y[2]), y[3]))


@helper
def flipped_float(x, i, constants):
    """An element, flipped."""
    return float_of(xor32(bits_of(read_f32(x, i)), constants[0]))


@helper
def largest_float(x, length, constants):
    """The largest element of a row."""
    return largest_of(x, length, constants[0], constants[1])


@helper
def write_float(y, at, most, constants):
    """The result, flipped back."""
    write_f32(y, at, float_of(xor32(bits_of(most), constants[0])))


_constants = helper(lambda a: (np.int32(a.flip), a.start))
_start = helper(lambda constants: constants[1])
_extreme = Reduction("reduce_extreme", EXTREME, "f32", _constants, _start, write_float)
reduce_rows(_extreme, largest_float, larger)
reduce_lanes(_extreme, flipped_float, "f32", larger, largest)


@helper
def flipped_byte(x, i, constants):
    """An element, flipped."""
    return np.uint8(read_u8(x, i) ^ constants[0])


@helper
def largest_byte(x, length, constants):
    """The largest element of a row."""
    most = np.uint8(0)
    for i in range(length):
        most = max(most, flipped_byte(x, i, constants))
    return most


@helper
def write_byte(y, at, most, constants):
    """The result, flipped back; of ANY and ALL, whether it differs from 0."""
    value = most ^ constants[0]
    write_b8(y, at, (1 if value else 0) if constants[1] else value)


_constants = helper(lambda a: (np.uint8(a.flip), a.is_truth != 0))
_start = helper(lambda constants: np.uint8(0))
_extreme = Reduction("reduce_extreme", EXTREME_BYTES, "b8", _constants, _start, write_byte)
reduce_rows(_extreme, largest_byte, larger)
reduce_lanes(_extreme, flipped_byte, "u8", larger, largest)


@kernel(EXTREME_BYTES)
def reduce_extreme_rows_b8(a, tile):
    """Chosen for many short rows, of repeats = 1."""
    length, values = a.length, _constants(a)
    count = a.outer * a.rows
    at, end = part(count, a.tile_blocks, tile)
    while at < end:
        together = end - at
        if length < ROWS:  # as many as ROWS bytes can be read of
            together = min(together, max((count - at + 1) * length - ROWS, 0) // length)
        x = a.input + at * length
        groups = together // ROWS
        if groups > 0:
            largest_of_rows(x, length, groups, a.flip, a.is_truth, a.output + at)
            at += groups * ROWS
        elif length >= ROWS and end - ROWS >= tile * a.tile_blocks:
            at = end - ROWS  # with some of the rows before
        else:
            write_byte(a.output, at, largest_byte(x, length, values), values)
            at += 1
    return 0
