"""Convolutions of 3x3 in 8 bits by Winograd's F(4x4, 3x3), exactly: see
../lowering/winograd_quantized.py.

input patch d (6x6)    ->  B'd B: in one direction 4 d0 - 5 d2 + d4, d4 - 4 d2 + d3 - 4 d1,
                           d4 - 4 d2 - d3 + 4 d1, d4 - d2 + 2 (d3 - d1), d4 - d2 - 2 (d3 - d1),
                           4 d1 - 5 d3 + d5
filter g (3x3)         ->  G g G': g0, g0 + g1 + g2, g0 - g1 + g2, g0 + 2 g1 + 4 g2,
                           g0 - 2 g1 + 4 g2, g2
their products m (6x6) ->  A'm A: 6 m0 - 4 (m1 + m2) + m3 + m4, 2 (m2 - m1) + m3 - m4,
                           m3 + m4 - m1 - m2, m2 - m1 + 2 (m3 - m4) + 6 m5, which are 24, 12, 6 and
                           6 times the outputs
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late
from nnapi_shim.drivers.cpu.codegen.float_environment import float_environment, round_down
from nnapi_shim.drivers.cpu.codegen.floored import (
    is_floored,
    requantized_bytes,
    write_table,
)
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits_outlined
from nnapi_shim.drivers.cpu.codegen.isa import BYTE_TILING as TILING
from nnapi_shim.drivers.cpu.codegen.numeric import i16, i32, i64, u8
from nnapi_shim.drivers.cpu.codegen.requantization import (
    ByteOutput,
    ColumnConstants,
    high_products,
)
from nnapi_shim.drivers.cpu.codegen.stored_bytes import centered
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    HALFWORD,
    LONG,
    WORD,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.kernels.winograd import part_of_block, row_address
from nnapi_shim.drivers.cpu.kernels.winograd_quantized import PART, products_of_points
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES
from nnapi_shim.drivers.cpu.lowering.winograd_quantized import (
    APART,
    LARGE,
    LARGEST_SUM,
    PACK_WINOGRAD_Q8,
    WINOGRAD_Q8,
    channels,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

COLUMNS, LANES = TILING.columns, TILING.lanes
CHANNELS = channels(TILING)
SIDE, SIZE, POINTS = LARGE.side, LARGE.side + 2, LARGE.points
HALVINGS = 3, 2, 1, 1
"""The powers of 2 in 24, 12, 6 and 6."""
NINTH = pow(9, -1, 1 << 32)


def _input_sums(builder: Any, d: Sequence[Any]) -> list[Any]:
    """The input transform in one direction."""
    add, less, kind = builder.add, builder.sub, d[0].type

    def times(value: Any, bits: int) -> Any:
        return builder.shl(value, constant(kind, bits))

    even, odd = less(d[4], times(d[2], 2)), less(d[3], times(d[1], 2))
    plain, double = less(d[4], d[2]), times(less(d[3], d[1]), 1)
    first = add(times(less(d[0], d[2]), 2), plain)
    last = add(times(less(d[1], d[3]), 2), less(d[5], d[3]))
    return [first, add(even, odd), less(even, odd), add(plain, double), less(plain, double), last]


def _output_sums(builder: Any, m: Sequence[Any]) -> list[Any]:
    """The output transform in one direction."""
    add, less, kind = builder.add, builder.sub, m[0].type

    def times(value: Any, bits: int) -> Any:
        return builder.shl(value, constant(kind, bits))

    sum1, sum3 = add(m[1], m[2]), add(m[3], m[4])
    less1, less3 = less(m[2], m[1]), less(m[3], m[4])
    # 6 is 4 + 2, in terms that the compiler does not join to a multiplication.
    return [
        add(times(less(m[0], sum1), 2), add(times(m[0], 1), sum3)),
        add(times(less1, 1), less3),
        less(sum3, sum1),
        add(add(less1, times(add(less3, m[5]), 1)), times(m[5], 2)),
    ]


@emits_outlined("nnk_winograd_4x4_input", types.void(*[types.int64] * 8))
def transform_input(
    builder: Any, patch: Any, row_step: Any, pixel_step: Any, vectors: Any, output: Any,
    plane: Any, flip: Any, zero: Any,
) -> None:  # fmt: skip
    """The input transform of a 6x6 patch of bytes: 36 rows of `vectors` vectors of int16, `plane`
    bytes apart.
    """
    flips = builder.splat(builder.trunc(flip, BYTE), CHANNELS)
    zeros = builder.splat(builder.trunc(zero, HALFWORD), CHANNELS)
    address = partial(row_address, builder)

    def pixel(at: Any) -> Any:
        signed = builder.xor(builder.load_from(at, vector(BYTE, CHANNELS), 1), flips)
        return builder.sub(builder.sext(signed, vector(HALFWORD, CHANNELS)), zeros)

    with builder.each(vectors, CHANNELS) as channel:
        rows = [address(builder.add(patch, channel), row_step, n) for n in range(SIZE)]
        target = builder.add(output, builder.mul(channel, long(2)))
        columns = [
            _input_sums(builder, [pixel(address(row, pixel_step, n)) for row in rows])
            for n in range(SIZE)
        ]
        for number, row in enumerate(zip(*columns, strict=True)):
            for n, value in enumerate(_input_sums(builder, row)):
                builder.store_to(value, address(target, plane, SIZE * number + n), 2)


@emits_outlined(
    "nnk_winograd_4x4_output", types.void(*[types.int64] * 12, types.float32, types.float32)
)
def transform_output(
    builder: Any, sums: Any, plane: Any, width: Any, panel: Any, output: Any, right: Any,
    down: Any, across_end: Any, down_end: Any, unwanted: Any, zero_point: Any, flip: Any,
    low: Any, high: Any,
) -> None:  # fmt: skip
    """The output transform: 4x4 outputs of 36 rows of sums, requantized by the head of a panel of
    `width` columns.

    right, down: bytes to the next output. across_end, down_end: how many outputs of each direction
    are in the image; others go to `unwanted`.
    """
    kind = vector(WORD, LANES)
    last = ByteOutput(zero_point, low, high, flip)
    table = builder.add(panel, builder.mul(width, long(4)))
    # Between the sums and the bytes of a row is a call that is hardly ever made; what is in
    # registers then would be in memory all the time.
    results = builder.ptrtoint(builder.variable(ir.ArrayType(kind, SIDE * SIDE)), LONG)
    result_bytes = 4 * LANES

    with builder.each(builder.udiv(width, long(LANES)), LANES) as column:
        offset = builder.mul(column, long(4))
        first = builder.add(sums, offset)
        points = [
            builder.load_from(row_address(builder, first, plane, n), kind, 4) for n in range(POINTS)
        ]
        bias = builder.load_from(builder.add(panel, offset), kind, 4)
        columns = [_output_sums(builder, points[n::SIZE]) for n in range(SIZE)]
        for i, row in enumerate(zip(*columns, strict=True)):
            for j, value in enumerate(_output_sums(builder, row)):
                halvings = constant(kind, HALVINGS[i] + HALVINGS[j])
                exact = builder.ashr(builder.mul(value, constant(kind, NINTH)), halvings)
                place = builder.add(results, long((SIDE * i + j) * result_bytes))
                builder.store_to(builder.add(exact, bias), place, 4)
        constants = ColumnConstants(builder, table, width, column, 1, LANES)
        with builder.each(long(SIDE)) as i:
            place = builder.add(results, builder.mul(i, long(SIDE * result_bytes)))
            rows = [
                [builder.load_from(row_address(builder, place, long(result_bytes), j), kind, 4)]
                for j in range(SIDE)
            ]
            products = high_products(builder, rows, constants)
            value = requantized_bytes(builder, products, constants, last)
            at = builder.add(builder.add(output, builder.mul(down, i)), column)
            is_below = builder.icmp_signed(">=", i, down_end)
            for j in range(SIDE):
                is_outside = builder.or_(is_below, builder.icmp_signed(">=", long(j), across_end))
                there = row_address(builder, at, right, j)
                part = builder.pick(value, range(j * LANES, (j + 1) * LANES))
                builder.store_to(part, builder.select(is_outside, unwanted, there), 1)


block_bytes, transform_inputs, multiply_points = products_of_points(
    LARGE, CHANNELS, transform_input
)


@kernel(WINOGRAD_Q8)
def winograd_rows_4x4_q8(a, number, deadline):
    """The input transform of a part of a block of patches, which several tiles multiply by other
    panels.
    """
    if late(deadline):
        return DEADLINE
    start, at, count = part_of_block(a, number)
    rows = a.rows + start // a.block * block_bytes(a) + at * 2 * a.depth
    patch = a.scratch + number * POINTS * a.depth
    transform_inputs(a, start + at, count, rows, patch)
    return 0


@kernel(WINOGRAD_Q8)
def winograd_4x4_q8(a, number, deadline):
    """input: [images, in_height, in_width, depth], output: [images, out_height, out_width,
    columns], of whose 4x4 blocks, `patches` of them, a tile computes some.
    """
    columns, block = a.columns, a.block
    share, group = number // a.groups, number % a.groups
    across, down = (a.out_width + SIDE - 1) // SIDE, (a.out_height + SIDE - 1) // SIDE
    patch = a.scratch + number * a.scratch_bytes
    unwanted = patch + POINTS * a.depth
    sums = unwanted + COLUMNS * 4 + 64
    plane = block * COLUMNS * 4 + APART
    rows = sums + POINTS * plane
    environment, is_down = float_environment(), False
    for first in range(share * a.share, min((share + 1) * a.share, a.patches), block):
        count = min(block, a.patches - first)
        if late(deadline):
            round_down(environment, is_down, False)
            return DEADLINE
        if a.rows:
            rows = a.rows + first // block * block_bytes(a)
        else:
            transform_inputs(a, first, count, rows, patch)
        for panel in range(group * a.group_panels, min((group + 1) * a.group_panels, a.panels)):
            column = panel * COLUMNS
            width = min(COLUMNS, columns - column)
            head = a.filter + column * (QUANTIZED_HEAD_BYTES + POINTS * (2 * a.depth + 4))
            is_down = round_down(environment, is_down, is_floored(head, width))
            multiply_points(a, rows, count, head + width * QUANTIZED_HEAD_BYTES, width, sums)
            for n in range(count):
                image, at = divmod(first + n, across * down)
                h, w = at // across * SIDE, at % across * SIDE
                start = ((image * a.out_height + h) * a.out_width + w) * columns + column
                transform_output(
                    sums + n * COLUMNS * 4, plane, width, head, a.output + start, columns,
                    a.out_width * columns, a.out_width - w, a.out_height - h, unwanted,
                    a.zero_point, a.output_flip, a.low, a.high,
                )  # fmt: skip
    round_down(environment, is_down, False)
    return 0


@helper
def _transformed(g0, g1, g2):
    """G g in one direction."""
    ends, far = g0 + g2, g0 + 4 * g2
    return g0, ends + g1, ends - g1, far + 2 * g1, far - 2 * g1, g2


@helper
def _write_six(output, at, step, values):
    """Six elements; each is named, because a loop would look for them in memory."""
    output[at] = values[0]
    output[at + step] = values[1]
    output[at + 2 * step] = values[2]
    output[at + 3 * step] = values[3]
    output[at + 4 * step] = values[4]
    output[at + 5 * step] = values[5]


@helper
def _weights(filter, at, depth, flip, zero):
    """A column of weights, transformed in its direction."""
    return _transformed(
        centered(filter[at], flip, zero),
        centered(filter[at + 3 * depth], flip, zero),
        centered(filter[at + 6 * depth], flip, zero),
    )


@kernel(PACK_WINOGRAD_Q8)
def pack_winograd_4x4_q8(a, panel, deadline):
    """filter: 8-bit [columns, 3, 3, depth], bias: int32[columns]."""
    depth, first = a.depth, panel * a.width
    width = min(a.width, a.columns - first)
    head = a.output + first * (QUANTIZED_HEAD_BYTES + POINTS * (2 * depth + 4))
    matrix = width * (depth + 2)
    bias = i32(a.bias)
    start = head + width * QUANTIZED_HEAD_BYTES
    sums, output, words = i32(head), i16(start), i32(start)
    for n in range(width):
        sums[n] = bias[first + n]
        for point in range(POINTS):
            words[point * matrix // 2 + n] = 0
    multipliers = a.multipliers + 8 * first
    write_table(head, width, multipliers, width, a.zero_point, a.steps, 9 * depth)
    for part in range(0, depth, PART):
        if late(deadline):
            return DEADLINE
        for n in range(width):
            filter = u8(a.filter + (first + n) * 9 * depth)
            for k in range(part, min(part + PART, depth)):
                at = (k // 2 + 1) * 2 * width + 2 * n + k % 2
                x = _weights(filter, k, depth, a.flip, a.filter_zero)
                y = _weights(filter, k + depth, depth, a.flip, a.filter_zero)
                z = _weights(filter, k + 2 * depth, depth, a.flip, a.filter_zero)
                row = 6 * matrix
                _write_six(output, at, matrix, _transformed(x[0], y[0], z[0]))
                _write_six(output, at + row, matrix, _transformed(x[1], y[1], z[1]))
                _write_six(output, at + 2 * row, matrix, _transformed(x[2], y[2], z[2]))
                _write_six(output, at + 3 * row, matrix, _transformed(x[3], y[3], z[3]))
                _write_six(output, at + 4 * row, matrix, _transformed(x[4], y[4], z[4]))
                _write_six(output, at + 5 * row, matrix, _transformed(x[5], y[5], z[5]))
    return 0


@kernel(LARGEST_SUM)
def largest_sum(a, number, deadline):
    """The largest sum of magnitudes of a column."""
    most = 0
    for n in range(a.columns):
        filter, total = u8(a.filter + n * a.elements), 0
        for k in range(a.elements):
            total += abs(((filter[k] ^ a.flip) ^ 128) - 128 - a.filter_zero)
        most = max(most, total)
    i64(a.output)[0] = most
    return 0
