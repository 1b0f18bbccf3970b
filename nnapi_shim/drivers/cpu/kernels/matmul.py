"""BATCH_MATMUL of int32, and of the other types where packing for gemm.py does not pay.

lhs: [count, rows, depth], output: [count, rows, columns]. float: float32 sums. int32: 64-bit
integers, of which the lower half stays. Quantized: int32 sums of (x - zero) * (w - zero), in fixed
point to steps of the output.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, nothing
from nnapi_shim.drivers.cpu.codegen.fixed_point import scaled
from nnapi_shim.drivers.cpu.codegen.numeric import add32, add_any_order, multiply_add
from nnapi_shim.drivers.cpu.lowering.matmul import MATMUL, MATMUL_QUANTIZED, PART
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

write_b8 = WRITE["b8"]


def by_rows(variant, layout, size, constants, lhs, rhs, stored, four, one, finish):
    """rhs: [count, depth, columns]. A row is collected in `sums`, four elements of lhs at a time.

    constants(a) -> an argument of the other functions; lhs, rhs(address, index, constants) -> an
    element; stored: type of the sums; four(sum, x, w): sum + x[0] * w[0] + ...; finish(address,
    index, sum, constants) stores a result.
    """
    read_sum, write_sum = READ_BACK[stored], WRITE[stored]

    @kernel(layout, f"matmul_{variant}")
    def body(a, tile, deadline):
        depth, columns = a.depth, a.columns
        values = constants(a)
        matrix, first = tile // a.matrix_tiles, tile % a.matrix_tiles * a.tile_rows
        weights, pitch = a.rhs + matrix * a.rhs_bytes, columns * size
        sums = a.sums + tile * PART * 4
        whole = depth // 4 * 4
        for row in range(first, min(first + a.tile_rows, a.rows)):
            x = a.lhs + (matrix * a.rows + row) * depth * size
            for column in range(0, columns, PART):
                if depth >= LONG // PART and late(deadline):
                    return DEADLINE
                count = min(PART, columns - column)
                for n in range(count):
                    write_sum(sums, n, 0)
                for k in range(0, whole, 4):
                    w0 = weights + (k * columns + column) * size
                    w1, w2, w3 = w0 + pitch, w0 + 2 * pitch, w0 + 3 * pitch
                    x0, x1 = lhs(x, k, values), lhs(x, k + 1, values)
                    x2, x3 = lhs(x, k + 2, values), lhs(x, k + 3, values)
                    for n in range(count):
                        low = rhs(w0, n, values), rhs(w1, n, values)
                        high = rhs(w2, n, values), rhs(w3, n, values)
                        write_sum(sums, n, four(read_sum(sums, n), (x0, x1, x2, x3), (*low, *high)))
                for k in range(whole, depth):
                    w0, x0 = weights + (k * columns + column) * size, lhs(x, k, values)
                    for n in range(count):
                        write_sum(sums, n, one(read_sum(sums, n), x0, rhs(w0, n, values)))
                y = a.output + ((matrix * a.rows + row) * columns + column) * size
                for n in range(count):
                    finish(y, n, read_sum(sums, n), values)
        return 0


def by_columns(variant, layout, size, constants, lhs, rhs, zero, add, finish):
    """rhs: [count, columns, depth]; chosen for few columns. add(sum, x, w), in any order."""

    @kernel(layout, f"matmul_dot_{variant}")
    def body(a, tile, deadline):
        depth, columns = a.depth, a.columns
        values = constants(a)
        matrix, first = tile // a.matrix_tiles, tile % a.matrix_tiles * a.tile_rows
        weights = a.rhs + matrix * a.rhs_bytes
        for row in range(first, min(first + a.tile_rows, a.rows)):
            x = a.lhs + (matrix * a.rows + row) * depth * size
            y = a.output + (matrix * a.rows + row) * columns * size
            for n in range(columns):
                if depth >= LONG and late(deadline):
                    return DEADLINE
                total, w = zero, weights + n * depth * size
                for k in range(depth):
                    total = add(total, lhs(x, k, values), rhs(w, k, values))
                finish(y, n, total, values)
        return 0


# Floating point

add_float = helper(lambda total, x, w: add_any_order(total, x * w))
fused = helper(lambda total, x, w: multiply_add(x, w, total))


@helper
def four_floats(total, x, w):
    """Sum of four products, added to `total` at last."""
    first = multiply_add(x[0], w[0], x[1] * w[1])
    return total + multiply_add(x[2], w[2], multiply_add(x[3], w[3], first))


def plain(read):
    """An element as it is read."""
    return helper(lambda x, i, nothing: read(x, i))


def stored_as(write):
    """Stores a sum as it is."""
    return helper(lambda y, i, total, nothing: write(y, i, total))


_read, _finish = plain(READ["f32"]), stored_as(WRITE["f32"])
_shared = "f32", MATMUL, 4, nothing, _read, _read
by_rows(*_shared, "f32", four_floats, fused, _finish)
by_columns(*_shared, np.float32(0), add_float, _finish)


# Integers

add_integer = helper(lambda total, x, w: add32(total, np.int32(x * w)))
one_integer = helper(lambda total, x, w: total + x * w)
four_integers = helper(
    lambda total, x, w: total + ((x[0] * w[0] + x[1] * w[1]) + (x[2] * w[2] + x[3] * w[3]))
)

_read, _finish = plain(READ["i32"]), stored_as(WRITE["i32"])
_shared = "i32", MATMUL, 4, nothing, _read, _read
by_rows(*_shared, "i32", four_integers, one_integer, _finish)
by_columns(*_shared, np.int32(0), add_integer, _finish)

read_s8 = READ["s8"]
quantized_constants = helper(
    lambda a: (a.lhs_zero, a.rhs_zero, a.mantissa, a.exponent, a.low, a.high, a.zero_point)
)
lhs_centred = helper(lambda x, i, values: np.int64(read_s8(x, i)) - values[0])
rhs_centred = helper(lambda x, i, values: np.int64(read_s8(x, i)) - values[1])


@helper
def requantized(y, i, total, values):
    """The sum in steps of the output."""
    mantissa, exponent, low, high, zero_point = values[2:]
    steps = scaled(np.int64(np.int32(total)), mantissa, exponent)
    write_b8(y, i, np.int32(min(max(steps + zero_point, low), high)))


_shared = "qs8", MATMUL_QUANTIZED, 1, quantized_constants, lhs_centred, rhs_centred
by_rows(*_shared, "i32", four_integers, one_integer, requantized)
by_columns(*_shared, np.int32(0), add_integer, requantized)
