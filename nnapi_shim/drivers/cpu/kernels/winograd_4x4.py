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

from nnapi_shim.drivers.cpu.codegen.floored import (
    requantized_bytes,
)
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits_outlined
from nnapi_shim.drivers.cpu.codegen.isa import BYTE_TILING as TILING
from nnapi_shim.drivers.cpu.codegen.numeric import i64, u8
from nnapi_shim.drivers.cpu.codegen.requantization import (
    ByteOutput,
    ColumnConstants,
    high_products,
)
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    HALFWORD,
    LONG,
    WORD,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.kernels.winograd import row_address
from nnapi_shim.drivers.cpu.kernels.winograd_quantized import define_kernels
from nnapi_shim.drivers.cpu.lowering.winograd_quantized import (
    LARGE,
    LARGEST_SUM,
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


@helper
def _write_outputs(a, place, column, sums, unwanted):
    """4x4 outputs from a place on: (image, row, column)."""
    image, h, w = place
    start = ((image * a.out_height + h) * a.out_width + w) * a.columns + column
    output = a.output + start, a.columns, a.out_width * a.columns
    ends = a.out_width - w, a.out_height - h
    last = unwanted, a.zero_point, a.output_flip, a.low, a.high
    transform_output(*(sums + output + ends + last))


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
def _write_points(output, at, matrix, x, y, z):
    """The 36 elements of a weight's transform from three transformed columns."""
    row = 6 * matrix
    _write_six(output, at, matrix, _transformed(x[0], y[0], z[0]))
    _write_six(output, at + row, matrix, _transformed(x[1], y[1], z[1]))
    _write_six(output, at + 2 * row, matrix, _transformed(x[2], y[2], z[2]))
    _write_six(output, at + 3 * row, matrix, _transformed(x[3], y[3], z[3]))
    _write_six(output, at + 4 * row, matrix, _transformed(x[4], y[4], z[4]))
    _write_six(output, at + 5 * row, matrix, _transformed(x[5], y[5], z[5]))


define_kernels(
    "4x4_q8", LARGE, (CHANNELS, transform_input), _write_outputs, (_transformed, _write_points)
)


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
