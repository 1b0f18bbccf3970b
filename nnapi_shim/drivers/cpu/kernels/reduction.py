"""MEAN and the REDUCE operations, as the loops of codegen/reduction_loops.py.

Sums and products are float64, rounded once. Their order depends on the tier, never on the number of
threads.
"""

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.numeric import (
    add32,
    arithmetic,
    bits_of,
    float_of,
    multiply_any_order_f64,
    xor32,
)
from nnapi_shim.drivers.cpu.codegen.reduction_loops import Reduction, reduce_lanes, reduce_rows
from nnapi_shim.drivers.cpu.codegen.simd import largest_of, sum_of
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, WORD, constant, vector
from nnapi_shim.drivers.cpu.codegen.vector import LONG as LONG_WORD
from nnapi_shim.drivers.cpu.lowering.reduction import (
    EXTREME,
    EXTREME_BYTES,
    LANE_ROOM,
    LANES,
    PRODUCT,
    SUM,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

ZERO = np.float32(0)
ROUNDS = 64
"""Of four bytes each: a 16-bit sum overflows after 257 bytes."""


# Sums


sum_constants = helper(lambda a: (a.divisor, np.uint8(a.flip), a.excess))
no_sum = helper(lambda constants: 0.0)
add = helper(lambda total, x: total + x)
add_four = helper(lambda total, x: total + ((x[0] + x[1]) + (x[2] + x[3])))

read_f32, write_f32 = READ["f32"], WRITE["f32"]
exact_float = helper(lambda x, i, constants: np.float64(read_f32(x, i)))

sum_floats = helper(lambda x, length, constants: sum_of(x, length))
"""The sum of a row."""


@helper
def write_quotient(y, at, total, constants):
    """The sum or the mean; of a sum that exceeds float32 infinity."""
    write_f32(y, at, np.float32(total) / np.float32(constants[0]))


_sum = Reduction("reduce_sum", SUM, "f32", sum_constants, no_sum, write_quotient)
reduce_rows(_sum, sum_floats, add)
reduce_lanes(_sum, exact_float, "f64", add, add_four)

read_u8, write_b8 = READ["u8"], WRITE["b8"]


BLOCK_BYTES = 4 * TILING.lanes


@emits(types.int64(types.int64, types.int64, types.uint8))
def sum_of_blocks(builder, address, count, flip):
    """The sum of the bytes XOR flip of `count` blocks of BLOCK_BYTES, fewer than LONG bytes."""
    lanes, block = vector(WORD, TILING.lanes), vector(BYTE, BLOCK_BYTES)
    sums = builder.variable(lanes, ir.Constant(lanes, None))
    mask, ones = builder.splat(flip, BLOCK_BYTES), constant(block, 1)
    add_quads = ISA.dot_quads if TILING.group == 4 else ISA.dot_byte_pairs
    with builder.each(count, BLOCK_BYTES) as offset:
        value = builder.xor(builder.load_from(builder.add(address, offset), block, 1), mask)
        builder.store(add_quads(builder, builder.load(sums), value, ones), sums)
    name = f"llvm.vector.reduce.add.v{TILING.lanes}i32"
    return builder.zext(builder.call_by_name(name, WORD, builder.load(sums)), LONG_WORD)


@helper
def sum_bytes(x, length, constants):
    """The sum of a row."""
    total = 0.0
    for first in range(0, length, LONG):
        subtotal = np.int32(0)
        blocks = (min(first + LONG, length) - first) // BLOCK_BYTES
        total += np.float64(sum_of_blocks(x + first, blocks, constants[1]))
        for i in range(first + blocks * BLOCK_BYTES, min(first + LONG, length)):
            subtotal = add32(subtotal, np.int32(np.uint8(read_u8(x, i) ^ constants[1])))
        total += np.float64(subtotal)
    return total


@helper
def write_truncated(y, at, total, constants):
    """The mean, rounded toward zero."""
    write_b8(y, at, np.int32((total - constants[2]) / constants[0]))


_sum = Reduction("reduce_sum", SUM, "b8", sum_constants, no_sum, write_truncated)
reduce_rows(_sum, sum_bytes, add)

read_total, write_total = READ_BACK["f64"], WRITE["f64"]
read_16, write_16 = READ_BACK["u16"], WRITE["b16"]
add16 = arithmetic(types.uint16, lambda b, x, y: b.add(x, y))


@helper
def byte_as_16(x, i, flip):
    """A byte, flipped, in 16 bits."""
    return np.uint16(read_u8(x, i) ^ flip)


@helper
def flush_sums(totals, sums, count):
    """totals: float64[count] += sums: uint16[count], which become 0."""
    for c in range(count):
        write_total(totals, c, read_total(totals, c) + np.float64(read_16(sums, c)))
    for c in range(count):
        write_16(sums, c, np.int32(0))


@kernel(SUM)
def reduce_sum_lanes_b8(a, tile, deadline):
    """The loop of reduce_lanes with 16-bit sums of up to 4 * ROUNDS bytes. `lanes` has the float64
    totals, then the 16-bit sums.
    """
    repeats, rows, length, inner, fold = a.repeats, a.rows, a.length, a.inner, a.fold
    values = sum_constants(a)
    flip = values[1]
    totals = a.lanes + tile * LANES * LANE_ROOM
    sums = totals + LANES * 8
    pitch, steps, rest = fold * inner, length // fold, length % fold * inner
    blocks = (inner + LANES - 1) // LANES
    for block in range(*part(a.outer * rows * blocks, a.tile_blocks, tile)):
        at, lane = block // blocks, block % blocks * LANES
        wanted = min(LANES, inner - lane)
        count = fold * inner if fold > 1 else wanted
        for c in range(count):
            write_total(totals, c, 0.0)
        for c in range(count):
            write_16(sums, c, np.int32(0))
        source = a.input + (at // rows * repeats * rows + at % rows) * length * inner + lane
        work = 0
        for repeat in range(repeats):
            x0 = source + repeat * rows * length * inner
            left = steps
            while left >= 0:
                work += 1
                if work % ROUNDS == 0:
                    flush_sums(totals, sums, count)
                    if late(deadline):
                        return DEADLINE
                if left >= 4:
                    x1, x2, x3 = x0 + pitch, x0 + 2 * pitch, x0 + 3 * pitch
                    for c in range(count):
                        two = add16(byte_as_16(x0, c, flip), byte_as_16(x1, c, flip))
                        four = add16(two, add16(byte_as_16(x2, c, flip), byte_as_16(x3, c, flip)))
                        write_16(sums, c, np.int32(add16(read_16(sums, c), four)))
                    x0, left = x0 + 4 * pitch, left - 4
                else:
                    for c in range(count if left > 0 else rest):
                        write_16(
                            sums, c, np.int32(add16(read_16(sums, c), byte_as_16(x0, c, flip)))
                        )
                    x0, left = x0 + pitch, left - 1
        flush_sums(totals, sums, count)
        folded = fold
        while folded > 1:
            folded //= 2
            other = totals + folded * inner * 8
            for c in range(folded * inner):
                write_total(totals, c, read_total(totals, c) + read_total(other, c))
        y = a.output + at * inner + lane
        for c in range(wanted):
            write_truncated(y, c, read_total(totals, c), values)
    return 0


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
