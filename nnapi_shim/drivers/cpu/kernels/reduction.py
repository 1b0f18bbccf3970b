"""MEAN and the REDUCE operations: runs of elements to one, or runs of lanes joined side by side.

input: [outer, repeats, rows, length, inner], output: [outer, rows, inner]; lowering/reduction.py
says what is what. Sums and products are float64, rounded once. Their order depends on the tier,
never on the number of threads.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, STRETCH, late
from nnapi_shim.drivers.cpu.codegen.elements import DOUBLE, READ, READ_BACK, WRITE
from nnapi_shim.drivers.cpu.codegen.numeric import (
    add32,
    arithmetic,
    bits_of,
    clamp,
    float_of,
    multiply_any_order_f64,
    square_root,
    xor32,
)
from nnapi_shim.drivers.cpu.codegen.simd import F32, LoopPosition, largest_of, vector_loop
from nnapi_shim.drivers.cpu.lowering.reduction import (
    EXTREME,
    EXTREME_BYTES,
    LANE_ROOM,
    LANES,
    LAYER_NORM,
    PRODUCT,
    SUM,
)
from nnapi_shim.drivers.cpu.program.record import FLOAT32_MAX
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

ZERO = np.float32(0)
SIZE = {"f32": 4, "b8": 1}
LANE_BYTES = {"f64": 8, "f32": 4, "u8": 1}
ROUNDS = 64
"""Of four bytes each: sums of 16 bits have room for 257."""


@intrinsic
def sum_of(typing_context: Any, x: Any, count: Any) -> Any:
    """The sum of float32[count] at x, in float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, count = arguments

        def body(position: LoopPosition, total: Any) -> Any:
            return builder.fadd(total, builder.fpext(position.load(x).value, total.type))

        return vector_loop(builder, count, body, (DOUBLE, 0.0, builder.fadd), chains=2)

    return types.float64(types.int64, types.int64), generate


def of_rows(name, layout, variant, constants, start, run, join, finish):
    """The kernel for inner = 1. A tile is tile_blocks outputs.

    constants(a) -> what all functions get; start(constants) -> a result; run(address, length,
    constants) -> the result of a run; join(result, result) -> result; finish(address, index,
    result, constants) stores it.
    """
    size = SIZE[variant]

    def body(a, tile, deadline):
        repeats, rows, length = a.repeats, a.rows, a.length
        values = constants(a)
        is_long, work = repeats * length >= LONG, 0
        first = tile * a.tile_blocks
        image, row = first // rows, first % rows
        for at in range(first, min(first + a.tile_blocks, a.outer * rows)):
            result = start(values)
            x = a.input + (image * repeats * rows + row) * length * size
            row += 1
            if row == rows:
                image, row = image + 1, 0
            for _ in range(repeats):
                if is_long:
                    work += length
                    if work >= LONG:
                        work = 0
                        if late(deadline):
                            return DEADLINE
                result = join(result, run(x, length, values))
                x += rows * length * size
            finish(a.output, at, result, values)
        return 0

    body.__name__ = f"{name}_{variant}"
    return kernel(layout)(body)


def of_lanes(
    name, layout, variant, constants, start, read, stored, join, join_four, finish, repair
):
    """The kernel for inner > 1. A tile is tile_blocks blocks of up to LANES lanes.

    read(address, index, constants) -> an element; stored: type of the results in `lanes`;
    join_four(result, four elements) -> result; repair(lanes, output, count, input, repeats, length,
    pitches of both in bytes, deadline) may change outputs, and is False if it was late; the others
    as in of_rows.
    """
    size, lane_bytes = SIZE[variant], LANE_BYTES[stored]
    read_lane, write_lane = READ_BACK[stored], WRITE["b8" if stored == "u8" else stored]

    def body(a, tile, deadline):
        repeats, rows, length, inner, fold = a.repeats, a.rows, a.length, a.inner, a.fold
        values = constants(a)
        lanes = a.lanes + tile * LANES * LANE_ROOM
        pitch, steps, rest = fold * inner * size, length // fold, length % fold * inner
        blocks = (inner + LANES - 1) // LANES
        first = tile * a.tile_blocks
        for block in range(first, min(first + a.tile_blocks, a.outer * rows * blocks)):
            at, lane = block // blocks, block % blocks * LANES
            wanted = min(LANES, inner - lane)
            count = fold * inner if fold > 1 else wanted
            for c in range(count):
                write_lane(lanes, c, start(values))
            part = a.input + (at // rows * repeats * rows + at % rows) * length * inner * size
            part += lane * size
            repeat_pitch = rows * length * inner * size
            work = 0
            for repeat in range(repeats):
                x0 = part + repeat * repeat_pitch
                for _ in range(steps // 4):
                    work += 1
                    if work % STRETCH == 0 and late(deadline):
                        return DEADLINE
                    x1, x2, x3 = x0 + pitch, x0 + 2 * pitch, x0 + 3 * pitch
                    for c in range(count):
                        so_far = read_lane(lanes, c)
                        four = (
                            read(x0, c, values),
                            read(x1, c, values),
                            read(x2, c, values),
                            read(x3, c, values),
                        )
                        write_lane(lanes, c, join_four(so_far, four))
                    x0 += 4 * pitch
                for left in range(steps % 4, -1, -1):  # single steps, and what is less than one
                    work += 1
                    if work % STRETCH == 0 and late(deadline):
                        return DEADLINE
                    for c in range(count if left > 0 else rest):
                        write_lane(lanes, c, join(read_lane(lanes, c), read(x0, c, values)))
                    x0 += pitch
            while fold > 1:
                fold //= 2
                other = lanes + fold * inner * lane_bytes
                for c in range(fold * inner):
                    write_lane(lanes, c, join(read_lane(lanes, c), read_lane(other, c)))
            fold = a.fold
            y = a.output + (at * inner + lane) * size
            for c in range(wanted):
                finish(y, c, read_lane(lanes, c), values)
            pitches = repeat_pitch, inner * size
            if not repair(lanes, y, wanted, part, repeats, length, pitches, deadline):
                return DEADLINE
        return 0

    body.__name__ = f"{name}_lanes_{variant}"
    return kernel(layout)(body)


@helper
def no_repair(lanes, y, count, x, repeats, length, pitches, deadline):
    """All outputs are as they should be."""
    return True


# Sums


sum_constants = helper(lambda a: (a.divisor, np.uint8(a.flip), a.excess))
no_sum = helper(lambda constants: 0.0)
add = helper(lambda total, x: total + x)
add_four = helper(lambda total, x: total + ((x[0] + x[1]) + (x[2] + x[3])))

read_f32, write_f32 = READ["f32"], WRITE["f32"]
exact_float = helper(lambda x, i, constants: np.float64(read_f32(x, i)))

sum_floats = helper(lambda x, length, constants: sum_of(x, length))
"""The sum of a run."""


@helper
def write_quotient(y, at, total, constants):
    """The sum or the mean; of a sum that exceeds float32 infinity."""
    write_f32(y, at, np.float32(total) / np.float32(constants[0]))


_shared = SUM, "f32", sum_constants, no_sum
of_rows("reduce_sum", *_shared, sum_floats, add, write_quotient)
of_lanes("reduce_sum", *_shared, exact_float, "f64", add, add_four, write_quotient, no_repair)

read_u8, write_b8 = READ["u8"], WRITE["b8"]


@helper
def sum_bytes(x, length, constants):
    """The sum of a run."""
    total = 0.0
    for first in range(0, length, LONG):
        subtotal = np.int32(0)
        for i in range(first, min(first + LONG, length)):
            subtotal = add32(subtotal, np.int32(np.uint8(read_u8(x, i) ^ constants[1])))
        total += np.float64(subtotal)
    return total


@helper
def write_truncated(y, at, total, constants):
    """The mean, rounded toward zero."""
    write_b8(y, at, np.int32((total - constants[2]) / constants[0]))


_shared = SUM, "b8", sum_constants, no_sum
of_rows("reduce_sum", *_shared, sum_bytes, add, write_truncated)


read_total, write_total = READ_BACK["f64"], WRITE["f64"]
read_16, write_16 = READ_BACK["u16"], WRITE["b16"]
add16 = arithmetic(types.uint16, lambda b, x, y: b.add(x, y))


@helper
def half(x, i, flip):
    """A byte, flipped, in 16 bits."""
    return np.uint16(read_u8(x, i) ^ flip)


@helper
def add_up(totals, sums, count):
    """totals: float64[count] += sums: uint16[count], which become 0."""
    for c in range(count):
        write_total(totals, c, read_total(totals, c) + np.float64(read_16(sums, c)))
    for c in range(count):
        write_16(sums, c, np.int32(0))


@kernel(SUM)
def reduce_sum_lanes_b8(a, tile, deadline):
    """As those of of_lanes. Sums of up to 4 * ROUNDS bytes are of 16 bits, in lanes of their own
    behind the totals.
    """
    repeats, rows, length, inner, fold = a.repeats, a.rows, a.length, a.inner, a.fold
    values = sum_constants(a)
    flip = values[1]
    totals = a.lanes + tile * LANES * LANE_ROOM
    sums = totals + LANES * 8
    pitch, steps, rest = fold * inner, length // fold, length % fold * inner
    blocks = (inner + LANES - 1) // LANES
    first = tile * a.tile_blocks
    for block in range(first, min(first + a.tile_blocks, a.outer * rows * blocks)):
        at, lane = block // blocks, block % blocks * LANES
        wanted = min(LANES, inner - lane)
        count = fold * inner if fold > 1 else wanted
        for c in range(count):
            write_total(totals, c, 0.0)
        for c in range(count):
            write_16(sums, c, np.int32(0))
        part = a.input + (at // rows * repeats * rows + at % rows) * length * inner + lane
        work = 0
        for repeat in range(repeats):
            x0 = part + repeat * rows * length * inner
            left = steps
            while left >= 0:
                work += 1
                if work % ROUNDS == 0:
                    add_up(totals, sums, count)
                    if late(deadline):
                        return DEADLINE
                if left >= 4:
                    x1, x2, x3 = x0 + pitch, x0 + 2 * pitch, x0 + 3 * pitch
                    for c in range(count):
                        two = add16(half(x0, c, flip), half(x1, c, flip))
                        four = add16(two, add16(half(x2, c, flip), half(x3, c, flip)))
                        write_16(sums, c, np.int32(add16(read_16(sums, c), four)))
                    x0, left = x0 + 4 * pitch, left - 4
                else:
                    for c in range(count if left > 0 else rest):
                        write_16(sums, c, np.int32(add16(read_16(sums, c), half(x0, c, flip))))
                    x0, left = x0 + pitch, left - 1
        add_up(totals, sums, count)
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


# Layer normalisation: what MEAN, SUB, MUL, MEAN, ADD, SQRT, DIV, MUL and ADD make of a row, each
# rounded as there. Where the sum of squares is finite, so is all that these cut off otherwise.


def _squares_of(within: Any) -> Any:
    """The sum of the squares of what is above or below the mean, in the order of sum_of."""

    @intrinsic
    def squares_of(typing_context: Any, x: Any, count: Any, mean: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            x, count, mean = arguments

            def body(position: LoopPosition, total: Any) -> Any:
                apart = within(position.load(x) - position.broadcast(mean))
                square = position.select(within(apart * apart), 0.0)
                return builder.fadd(total, builder.fpext(square.value, total.type))

            return vector_loop(builder, count, body, (DOUBLE, 0.0, builder.fadd), chains=2)

        return types.float64(types.int64, types.int64, types.float32), generate

    return squares_of


def _spread_out(within: Any) -> Any:
    """y: float32[count] = (x - mean) / deviation * gain + bias."""

    @intrinsic
    def spread_out(
        typing_context: Any, x: Any, y: Any, count: Any, mean: Any, deviation: Any, gain: Any,
        bias: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            x, y, count, mean, deviation, gain, bias = arguments

            def body(position: LoopPosition) -> None:
                apart = within(position.load(x) - position.broadcast(mean))
                steps = within(apart / position.broadcast(deviation))
                position.store(y, within(within(steps * position.load(gain)) + position.load(bias)))

            vector_loop(builder, count, body)
            return context.get_dummy_value()

        longs, floats = [types.int64] * 3, [types.float32] * 2
        return types.void(*longs, *floats, types.int64, types.int64), generate

    return spread_out


def _as_it_is(x: F32) -> F32:
    return x


def _within(x: F32) -> F32:
    return x.clamped(-FLOAT32_MAX, FLOAT32_MAX)


squares_of, squares_within = _squares_of(_as_it_is), _squares_of(_within)
spread_out, spread_within = _spread_out(_as_it_is), _spread_out(_within)
HIGHEST = np.float32(FLOAT32_MAX)


@kernel(LAYER_NORM)
def layer_norm_f32(a, tile, deadline):
    """input, output: float32[rows, length], of which a tile is tile_rows rows."""
    length = a.length
    count, work = np.float32(length), 0
    for row in range(tile * a.tile_rows, min((tile + 1) * a.tile_rows, a.rows)):
        work += length
        if work >= LONG:
            work = 0
            if late(deadline):
                return DEADLINE
        x, y = a.input + row * length * 4, a.output + row * length * 4
        mean = np.float32(sum_of(x, length)) / count
        squares = np.float32(squares_of(x, length, mean))
        if squares <= HIGHEST:
            deviation = square_root(clamp(squares / count + a.least, -HIGHEST, HIGHEST))
            spread_out(x, y, length, mean, deviation, a.gain, a.bias)
        else:
            squares = np.float32(squares_within(x, length, mean))
            deviation = square_root(clamp(squares / count + a.least, -HIGHEST, HIGHEST))
            spread_within(x, y, length, mean, deviation, a.gain, a.bias)
    return 0


# Products


@helper
def product_of_floats(x, length, nothing):
    """The product of a run, 0 if a factor is 0, even where another is infinite or NaN."""
    product, zeros = 1.0, np.int32(0)
    for i in range(length):
        factor = read_f32(x, i)
        product = multiply_any_order_f64(product, np.float64(factor))
        zeros = add32(zeros, np.int32(factor == ZERO))
    return product if zeros == 0 else 0.0


@helper
def multiply_runs(x, y):
    """The product of two runs."""
    return 0.0 if (x == 0.0) | (y == 0.0) else x * y


@helper
def write_product(y, at, product, nothing):
    """The addition makes a negative 0 positive."""
    write_f32(y, at, np.float32(product + 0.0))


@helper
def repair_products(lanes, y, count, x, repeats, length, pitches, deadline):
    """Lanes take no notice of 0 * infinity: where that may have been, zeros are looked for."""
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

_shared = PRODUCT, "f32", helper(lambda a: 0), helper(lambda nothing: 1.0)
of_rows("reduce_product", *_shared, product_of_floats, multiply_runs, write_product)
_lanes = plain_float, "f64", multiply, multiply_four, write_product, repair_products
of_lanes("reduce_product", *_shared, *_lanes)


# Maximum and minimum


# Of numbers with `flip` xor-ed to their bits; floats are at least `start`, and NaN is smaller than
# everything. The second operand is taken where it is larger: one that is NaN is passed over.

larger = helper(lambda x, y: y if y > x else x)
largest = helper(lambda x, y: larger(larger(larger(larger(x, y[0]), y[1]), y[2]), y[3]))


@helper
def flipped_float(x, i, constants):
    """An element, flipped."""
    return float_of(xor32(bits_of(read_f32(x, i)), constants[0]))


@helper
def largest_float(x, length, constants):
    """The largest element of a run."""
    return largest_of(x, length, constants[0], constants[1])


@helper
def write_float(y, at, most, constants):
    """The result, flipped back."""
    write_f32(y, at, float_of(xor32(bits_of(most), constants[0])))


_constants = helper(lambda a: (np.int32(a.flip), a.start))
_shared = EXTREME, "f32", _constants, helper(lambda constants: constants[1])
of_rows("reduce_extreme", *_shared, largest_float, larger, write_float)
of_lanes("reduce_extreme", *_shared, flipped_float, "f32", larger, largest, write_float, no_repair)


@helper
def flipped_byte(x, i, constants):
    """An element, flipped."""
    return np.uint8(read_u8(x, i) ^ constants[0])


@helper
def largest_byte(x, length, constants):
    """The largest element of a run."""
    most = np.uint8(0)
    for i in range(length):
        most = max(most, flipped_byte(x, i, constants))
    return most


@helper
def write_byte(y, at, most, constants):
    """The result, flipped back, or whether that is not 0."""
    value = most ^ constants[0]
    write_b8(y, at, (1 if value else 0) if constants[1] else value)


_constants = helper(lambda a: (np.uint8(a.flip), a.is_truth != 0))
_shared = EXTREME_BYTES, "b8", _constants, helper(lambda constants: np.uint8(0))
of_rows("reduce_extreme", *_shared, largest_byte, larger, write_byte)
of_lanes("reduce_extreme", *_shared, flipped_byte, "u8", larger, largest, write_byte, no_repair)
