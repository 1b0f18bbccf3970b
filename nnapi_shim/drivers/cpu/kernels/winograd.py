"""Convolutions of 3x3 by Winograd's F(2x2, 3x3): see ../lowering/winograd.py.

input patch d (4x4)    ->  B'd B: in one direction d0 - d2, d1 + d2, d2 - d1, d1 - d3
filter g (3x3)         ->  G g G': g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2
their products m (4x4) ->  A'm A: m0 + m1 + m2, m1 - m2 - m3; all four outputs contain m[1][1]
                           once, so that the bias is added there
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.bounds import number_within, within
from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late
from nnapi_shim.drivers.cpu.codegen.gemm_tile import tile
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits, emits_outlined
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.mac_schemes import float32
from nnapi_shim.drivers.cpu.codegen.numeric import add_any_order_f64, copy_bytes, f32, i64
from nnapi_shim.drivers.cpu.codegen.vector import FLOAT, LONG, long, vector
from nnapi_shim.drivers.cpu.lowering.winograd import PACK_WINOGRAD, POINTS, WINOGRAD
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

COLUMNS, LANES, ROWS = TILING.columns, TILING.lanes, TILING.rows
INFINITY = np.float32(np.inf)
HALF = np.float32(0.5)
PART = 16
"""Channels and columns of a filter that are packed at a time: these stay in the cache."""

FAR = 2 << 20
"""Bytes of a packed panel that the second-level cache does not keep."""

run_tile = tile(TILING, float32(), ROWS)


def input_transform(add: Any, less: Any, grid: Sequence[Sequence[Any]]) -> list[Any]:
    """B'd B of a 4x4 patch d, by instructions that add and subtract."""

    def sums(d: Sequence[Any]) -> list[Any]:
        return [less(d[0], d[2]), add(d[1], d[2]), less(d[2], d[1]), less(d[1], d[3])]

    columns = [sums(column) for column in zip(*grid, strict=True)]
    return [value for row in zip(*columns, strict=True) for value in sums(row)]


def output_transform(add: Any, less: Any, points: Sequence[Any]) -> list[Any]:
    """A'm A of the 16 products m: four outputs."""

    def sums(m: Sequence[Any]) -> list[Any]:
        return [add(add(m[0], m[1]), m[2]), less(less(m[1], m[2]), m[3])]

    columns = [sums(points[n::4]) for n in range(4)]
    return [y for row in zip(*columns, strict=True) for y in sums(row)]


def row_address(builder: Any, base: Any, step: Any, count: int) -> Any:
    """The address `count` steps from a base."""
    return builder.add(base, builder.mul(step, long(count)))


@emits_outlined("nnk_winograd_input", types.void(*[types.int64] * 6))
def transform_input(
    builder: Any, patch: Any, row_step: Any, pixel_step: Any, vectors: Any, output: Any, plane: Any
) -> None:
    """The input transform of a 4x4 patch: 16 rows of `vectors` vectors, `plane` bytes apart."""
    kind, address = vector(FLOAT, LANES), partial(row_address, builder)
    with builder.each(vectors, 4 * LANES) as offset:
        rows = [address(builder.add(patch, offset), row_step, n) for n in range(4)]
        grid = [
            [builder.load_from(address(row, pixel_step, n), kind, 4) for n in range(4)]
            for row in rows
        ]
        target = builder.add(output, offset)
        for n, value in enumerate(input_transform(builder.fadd, builder.fsub, grid)):
            builder.store_to(value, address(target, plane, n), 4)


@emits_outlined("nnk_winograd_output", types.void(*[types.int64] * 8, types.float32, types.float32))
def transform_output(builder: Any, sums: Any, plane: Any, vectors: Any, *arguments: Any) -> None:
    """The output transform: 2x2 outputs of 16 rows of sums.

    arguments: addresses of the four outputs, the address of an int64 that becomes 0 if all are
    finite, low and high.
    """
    *outputs, flag, low, high = arguments
    kind = vector(FLOAT, LANES)
    zeros = ir.Constant(kind, None)
    check = builder.variable(kind, zeros)
    with builder.each(vectors, 4 * LANES) as offset:
        first = builder.add(sums, offset)
        addresses = [row_address(builder, first, plane, n) for n in range(POINTS)]
        points = [builder.load_from(address, kind, 4) for address in addresses]
        values = output_transform(builder.fadd, builder.fsub, points)
        for value in values:
            zero = ISA.multiply_add(builder, value, zeros, builder.load(check))
            builder.store(zero, check)
        finished = within(builder, values, low, high)
        for value, output in zip(finished, outputs, strict=True):
            builder.store_to(value, builder.add(output, offset), 4)
    is_nan = builder.fcmp_unordered("uno", builder.load(check), zeros)
    lanes = builder.bitcast(is_nan, ir.IntType(LANES))
    builder.store_to(builder.zext(lanes, LONG), flag, 8)


@helper
def padded_patch(a, image, h, w, patch):
    """patch: float32[4, 4, depth], with 0 where it is outside of the image."""
    pixel = a.depth * 4
    for i in range(4):
        for j in range(4):
            target = patch + (4 * i + j) * pixel
            row, column = h + i, w + j
            if 0 <= row < a.in_height and 0 <= column < a.in_width:
                copy_bytes(target, image + (row * a.in_width + column) * pixel, pixel)
            else:
                y = f32(target)
                for k in range(a.depth):
                    y[k] = 0.0


@helper
def convolve_directly(a, patch, first, columns, output_addresses, low, high):
    """Outputs [2, 2] of `columns` columns from `first` on, as sums of the products themselves;
    in float64, so that what fits a float32 comes out whatever the order.
    """
    depth, bias, outputs = a.depth, f32(a.bias), i64(output_addresses)
    for number in range(4):
        y = f32(outputs[number])
        corner = patch + (number // 2 * 4 + number % 2) * depth * 4
        for n in range(columns):
            total = np.float64(0)
            for row in range(3):
                x = f32(corner + row * 4 * depth * 4)
                w = f32(a.direct + ((first + n) * 3 + row) * 3 * depth * 4)
                for k in range(3 * depth):
                    total = add_any_order_f64(total, np.float64(x[k]) * np.float64(w[k]))
            y[n] = number_within(np.float32(total + bias[first + n]), low, high)


@helper
def transform_inputs(a, first, count, rows, patch):
    """rows: float32[POINTS, block, depth], the transforms of `count` patches from `first` on.

    patch: memory for one of them.
    """
    pixel, across, down = a.depth * 4, (a.out_width + 1) // 2, (a.out_height + 1) // 2
    vectors, plane = a.depth // LANES, a.block * pixel
    for n in range(count):
        image, at = divmod(first + n, across * down)
        h, w = at // across * 2 - a.pad_top, at % across * 2 - a.pad_left
        source = a.input + image * a.in_height * a.in_width * pixel
        if 0 <= h and 0 <= w and h + 4 <= a.in_height and w + 4 <= a.in_width:
            corner = source + (h * a.in_width + w) * pixel
            transform_input(corner, a.in_width * pixel, pixel, vectors, rows + n * pixel, plane)
        else:
            padded_patch(a, source, h, w, patch)
            transform_input(patch, 4 * pixel, pixel, vectors, rows + n * pixel, plane)


@helper
def part_of_block(a, number):
    """The first patch of a block, the first one in it that a tile of rows has, and their number;
    a last block that is shorter may have none for it.
    """
    block, part = number // a.block_parts, number % a.block_parts
    start, at = block * a.block, part * a.part
    return start, at, min(a.part, min(a.block, a.patches - start) - at)


@kernel(WINOGRAD)
def winograd_rows_f32(a, number, deadline):
    """The input transform of a part of a block of patches, which several tiles multiply by other
    panels.
    """
    patch = a.scratch + number * POINTS * a.depth * 4
    start, at, count = part_of_block(a, number)
    rows = a.rows + (start * POINTS + at) * a.depth * 4
    transform_inputs(a, start + at, count, rows, patch)
    return 0


@helper
def multiply_points(a, weights, width, rows, count, sums):
    """sums: float32[POINTS, block, COLUMNS] = the products of the rows of `count` patches and a
    panel of `width` columns, one product of matrices per point.
    """
    pixel, sum_row = a.depth * 4, COLUMNS * 4
    for point in range(POINTS):
        x, y = rows + point * a.block * pixel, sums + point * a.block * sum_row
        w = weights + point * width * (a.depth + 1) * 4
        for row in range(0, count, ROWS):
            left = min(ROWS, count - row)
            table = a.table + (left - 1) * ROWS * 8
            arguments = (table, 1, a.depth, x + row * pixel, 0, w, y + row * sum_row, sum_row) + (
                left,
                width,
                0,
                0,
                0,
                0,
                -INFINITY,
                INFINITY,
            )
            run_tile(*arguments)


@helper
def outputs_of(a, h, w, image, column, size, unwanted):
    """Addresses of the 2x2 outputs from (h, w) on, from a column on, of `size` bytes each;
    `unwanted` for those outside of the image.
    """
    right, down = a.columns * size, a.out_width * a.columns * size
    y00 = a.output + ((image * a.out_height + h) * a.out_width + w) * right + column * size
    y01, y10, y11 = y00 + right, y00 + down, y00 + down + right
    if w + 1 == a.out_width:
        y01 = y11 = unwanted
    if h + 1 == a.out_height:
        y10 = y11 = unwanted
    return y00, y01, y10, y11


@kernel(WINOGRAD)
def winograd_f32(a, number, deadline):
    """input: [images, in_height, in_width, depth], output: [images, out_height, out_width,
    columns], of whose 2x2 blocks, `patches` of them, a tile computes some.
    """
    depth, block, low, high = a.depth, a.block, a.low, a.high
    share, group = number // a.groups, number % a.groups
    across, down = (a.out_width + 1) // 2, (a.out_height + 1) // 2
    pixel = depth * 4
    patch = a.scratch + number * a.scratch_bytes
    unwanted = patch + POINTS * pixel
    flag = unwanted + COLUMNS * 4
    output_addresses = flag + 8
    sums = flag + 64
    sum_plane = block * COLUMNS * 4
    rows = sums + POINTS * sum_plane
    end = min((share + 1) * a.share, a.patches)
    for first in range(share * a.share, end, block):
        count = min(block, end - first)
        if late(deadline):
            return DEADLINE
        if a.rows:
            rows = a.rows + first * POINTS * pixel
        else:
            transform_inputs(a, first, count, rows, patch)
        for panel in range(group * a.group_panels, min((group + 1) * a.group_panels, a.panels)):
            column = panel * COLUMNS
            width = min(COLUMNS, a.columns - column)
            weights = a.filter + POINTS * column * (depth + 1) * 4
            multiply_points(a, weights, width, rows, count, sums)
            for n in range(count):
                image, at = divmod(first + n, across * down)
                h, w = at // across * 2, at % across * 2
                outputs = outputs_of(a, h, w, image, column, 4, unwanted)
                point = sums + n * COLUMNS * 4
                transform_output(point, sum_plane, width // LANES, *outputs, flag, low, high)
                if i64(flag)[0]:
                    if late(deadline):
                        return DEADLINE
                    source = a.input + image * a.in_height * a.in_width * pixel
                    padded_patch(a, source, h - a.pad_top, w - a.pad_left, patch)
                    y = i64(output_addresses)
                    y[0], y[1], y[2], y[3] = outputs
                    convolve_directly(a, patch, column, width, output_addresses, low, high)
    return 0


@helper
def _halves(g0, g1, g2):
    """G g in one direction."""
    ends = g0 + g2
    return g0, HALF * (ends + g1), HALF * (ends - g1), g2


@helper
def write_four(output, at, step, values):
    """Four elements; each is named, because a loop would look for them in memory."""
    output[at] = values[0]
    output[at + step] = values[1]
    output[at + 2 * step] = values[2]
    output[at + 3 * step] = values[3]


_of_address = emits(types.void(types.int64))
prefetch_to_read = _of_address(lambda builder, address: builder.prefetch(address))
prefetch_to_write = _of_address(lambda builder, address: builder.prefetch(address, writes=True))


@helper
def prefetch_filter(filter, panel, depth, width, matrix, part, some):
    """What the packing of PART columns and PART channels reads and writes, all at once: one line
    after the other would be waited for, because they lie too far apart to be foreseen.
    """
    for n in range(some, min(some + PART, width)):
        for tap in range(9):
            prefetch_to_read(filter + ((n * 9 + tap) * depth + part) * 4)
    for point in range(POINTS):
        for k in range(part, min(part + PART, depth)):
            prefetch_to_write(panel + (point * matrix + (k + 1) * width + some) * 4)


@kernel(PACK_WINOGRAD)
def pack_winograd(a, panel, deadline):
    """filter: [columns, 3, 3, depth], bias: [columns]; output: panels of 16 matrices each."""
    depth, first = a.depth, panel * a.width
    width = min(a.width, a.columns - first)
    filter, bias = f32(a.filter + first * 9 * depth * 4), f32(a.bias + first * 4)
    panel_at = a.output + POINTS * first * (depth + 1) * 4
    output = f32(panel_at)
    matrix = width * (depth + 1)
    is_far = POINTS * matrix * 4 > FAR
    for n in range(width):
        for point in range(POINTS):
            output[point * matrix + n] = 0.0
        output[5 * matrix + n] = bias[n]
    for part in range(0, depth, PART):
        if late(deadline):
            return DEADLINE
        for some in range(0, width, PART):
            if is_far:
                prefetch_filter(
                    a.filter + first * 9 * depth * 4, panel_at, depth, width, matrix, part, some
                )
            for n in range(some, min(some + PART, width)):
                for k in range(part, min(part + PART, depth)):
                    at, y = n * 9 * depth + k, (k + 1) * width + n
                    row0 = _halves(filter[at], filter[at + 3 * depth], filter[at + 6 * depth])
                    at += depth
                    row1 = _halves(filter[at], filter[at + 3 * depth], filter[at + 6 * depth])
                    at += depth
                    row2 = _halves(filter[at], filter[at + 3 * depth], filter[at + 6 * depth])
                    write_four(output, y, matrix, _halves(row0[0], row1[0], row2[0]))
                    write_four(output, y + 4 * matrix, matrix, _halves(row0[1], row1[1], row2[1]))
                    write_four(output, y + 8 * matrix, matrix, _halves(row0[2], row1[2], row2[2]))
                    write_four(output, y + 12 * matrix, matrix, _halves(row0[3], row1[3], row2[3]))
    return 0
