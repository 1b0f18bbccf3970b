"""Convolutions of 3x3 in 8 bits by Winograd's F(2x2, 3x3), exactly: see
../lowering/winograd_quantized.py, and winograd.py for the transforms.
"""

from functools import partial
from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late
from nnapi_shim.drivers.cpu.codegen.float_environment import float_environment, round_down
from nnapi_shim.drivers.cpu.codegen.floored import (
    is_floored,
    requantized_bytes,
    write_table,
)
from nnapi_shim.drivers.cpu.codegen.gemm_tile import tile
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits_outlined
from nnapi_shim.drivers.cpu.codegen.isa import BYTE_TILING as TILING
from nnapi_shim.drivers.cpu.codegen.mac_schemes import sums16
from nnapi_shim.drivers.cpu.codegen.numeric import copy_bytes, i16, i32, u8
from nnapi_shim.drivers.cpu.codegen.requantization import (
    ByteOutput,
    ColumnConstants,
    high_products,
)
from nnapi_shim.drivers.cpu.codegen.stored_bytes import centered
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, HALFWORD, WORD, constant, long, vector
from nnapi_shim.drivers.cpu.kernels.winograd import (
    input_transform,
    output_transform,
    outputs_of,
    part_of_block,
    row_address,
    write_four,
)
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES
from nnapi_shim.drivers.cpu.lowering.winograd import POINTS, Form
from nnapi_shim.drivers.cpu.lowering.winograd_quantized import (
    PACK_WINOGRAD_Q8,
    SMALL,
    WINOGRAD_Q8,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

COLUMNS, LANES, ROWS = TILING.columns, TILING.lanes, TILING.rows
PART = 16
"""Channels of a filter that are packed before the clock is looked at."""

run_tile = tile(TILING, sums16(), ROWS)


@emits_outlined("nnk_winograd_input_q8", types.void(*[types.int64] * 8))
def transform_input(
    builder: Any, patch: Any, row_step: Any, pixel_step: Any, vectors: Any, output: Any,
    plane: Any, flip: Any, zero: Any,
) -> None:  # fmt: skip
    """The input transform of a 4x4 patch of bytes: 16 rows of `vectors` vectors of int16, `plane`
    bytes apart.
    """
    flips = builder.splat(builder.trunc(flip, BYTE), 2 * LANES)
    zeros = builder.splat(builder.trunc(zero, HALFWORD), 2 * LANES)
    address = partial(row_address, builder)

    def pixel(at: Any) -> Any:
        signed = builder.xor(builder.load_from(at, vector(BYTE, 2 * LANES), 1), flips)
        return builder.sub(builder.sext(signed, vector(HALFWORD, 2 * LANES)), zeros)

    with builder.each(vectors, 2 * LANES) as channel:
        rows = [address(builder.add(patch, channel), row_step, n) for n in range(4)]
        target = builder.add(output, builder.mul(channel, long(2)))
        grid = [[pixel(address(row, pixel_step, n)) for n in range(4)] for row in rows]
        for n, value in enumerate(input_transform(builder.add, builder.sub, grid)):
            builder.store_to(value, address(target, plane, n), 2)


@emits_outlined(
    "nnk_winograd_output_q8", types.void(*[types.int64] * 10, types.float32, types.float32)
)
def transform_output(
    builder: Any, sums: Any, plane: Any, width: Any, panel: Any, *arguments: Any
) -> None:
    """The output transform: 2x2 outputs of 16 rows of sums, requantized by the head of a panel of
    `width` columns.

    arguments: addresses of the four outputs, their zero point, flip, low and high.
    """
    *outputs, zero_point, flip, low, high = arguments
    kind, two = vector(WORD, LANES), constant(vector(WORD, LANES), 2)
    last = ByteOutput(zero_point, low, high, flip)
    table = builder.add(panel, builder.mul(width, long(4)))
    with builder.each(builder.udiv(width, long(LANES)), LANES) as column:
        offset = builder.mul(column, long(4))
        first = builder.add(sums, offset)
        addresses = [row_address(builder, first, plane, n) for n in range(POINTS)]
        points = [builder.load_from(address, kind, 4) for address in addresses]
        bias = builder.load_from(builder.add(panel, offset), kind, 4)
        values = output_transform(builder.add, builder.sub, points)
        rows = [[builder.add(builder.ashr(y, two), bias)] for y in values]
        constants = ColumnConstants(builder, table, width, column, 1, LANES)
        products = high_products(builder, rows, constants)
        value = requantized_bytes(builder, products, constants, last)
        for n, output in enumerate(outputs):
            part = builder.pick(value, range(n * LANES, (n + 1) * LANES))
            builder.store_to(part, builder.add(output, column), 1)


@helper
def padded_patch(a, image, h, w, size, patch):
    """patch: 8-bit [size, size, depth], with the zero point where it is outside of the image."""
    depth = a.depth
    for i in range(size):
        for j in range(size):
            target = patch + (size * i + j) * depth
            row, column = h + i, w + j
            if 0 <= row < a.in_height and 0 <= column < a.in_width:
                copy_bytes(target, image + (row * a.in_width + column) * depth, depth)
            else:
                y = u8(target)
                for k in range(depth):
                    y[k] = a.fill


def products_of_points(form: Form, channels: int, transform: Any) -> tuple[Any, Any, Any]:
    """Functions of kernels for a form: bytes of the transformed rows of a block, what transforms
    them, `channels` at a time by `transform`, and what multiplies them.
    """
    side, size, points, apart = form.side, form.side + 2, form.points, form.apart

    @helper
    def block_bytes(a):
        return points * (2 * a.depth * a.block + apart)

    @helper
    def transform_inputs(a, first, count, rows, patch):
        """The rows of `count` patches from `first` on; patch: memory for one of them."""
        depth, across = a.depth, (a.out_width + side - 1) // side
        down = (a.out_height + side - 1) // side
        vectors, row, plane = depth // channels, 2 * depth, 2 * depth * a.block + apart
        for n in range(count):
            image, at = divmod(first + n, across * down)
            h, w = at // across * side - a.pad_top, at % across * side - a.pad_left
            source = a.input + image * a.in_height * a.in_width * depth
            corner, row_step = source + (h * a.in_width + w) * depth, a.in_width * depth
            if not (0 <= h and 0 <= w and h + size <= a.in_height and w + size <= a.in_width):
                padded_patch(a, source, h, w, size, patch)
                corner, row_step = patch, size * depth
            target = rows + n * row
            transform(corner, row_step, depth, vectors, target, plane, a.flip, a.input_zero)

    @helper
    def multiply_points(a, rows, count, weights, width, sums):
        """The products of `count` rows and the matrices of a panel; sums: int32 [points, block,
        COLUMNS], the points of which are `apart` bytes apart, as those of `rows` are.
        """
        row_bytes, words = 2 * a.depth, a.depth // 2
        for point in range(points):
            matrix = weights + point * width * (words + 1) * 4
            x = rows + point * (a.block * row_bytes + apart)
            y = sums + point * (a.block * COLUMNS * 4 + apart)
            for row in range(0, count, ROWS):
                left = min(ROWS, count - row)
                run_tile(
                    a.table + (left - 1) * ROWS * 8, 1, words, x + row * row_bytes, 0, matrix,
                    y + row * COLUMNS * 4, COLUMNS * 4, left, width, 0, 0, 0, 0, 0.0, 0.0,
                )  # fmt: skip

    return block_bytes, transform_inputs, multiply_points


def define_kernels(
    variant: str,
    form: Form,
    inputs: tuple[int, Any],
    write_outputs: Any,
    filters: tuple[Any, Any],
) -> None:
    """The kernels of a form: the input transform, the products, and the filter transform.

    inputs: how many channels a function transforms at once, and that function. write_outputs: of a
    patch. filters: functions that transform three weights, in one direction, and that transform
    three such columns in the other direction and write them.
    """
    side, points, apart = form.side, form.points, form.apart
    block_bytes, transform_inputs, multiply_points = products_of_points(form, *inputs)
    transformed, write_points = filters

    @kernel(WINOGRAD_Q8, f"winograd_rows_{variant}")
    def transform_rows(a, number, deadline):
        """The input transform of a part of a block of patches, which several tiles multiply by
        other panels.
        """
        if late(deadline):
            return DEADLINE
        start, at, count = part_of_block(a, number)
        rows = a.rows + start // a.block * block_bytes(a) + at * 2 * a.depth
        patch = a.scratch + number * points * a.depth
        transform_inputs(a, start + at, count, rows, patch)
        return 0

    @kernel(WINOGRAD_Q8, f"winograd_{variant}")
    def multiply(a, number, deadline):
        """input: [images, in_height, in_width, depth], output: [images, out_height, out_width,
        columns], of whose patches, `patches` of them, a tile computes some.
        """
        columns, block = a.columns, a.block
        share, group = number // a.groups, number % a.groups
        across, down = (a.out_width + side - 1) // side, (a.out_height + side - 1) // side
        patch = a.scratch + number * a.scratch_bytes
        unwanted = patch + points * a.depth
        sums = unwanted + COLUMNS * 4 + 64
        plane = block * COLUMNS * 4 + apart
        rows = sums + points * plane
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
                head = a.filter + column * (QUANTIZED_HEAD_BYTES + points * (2 * a.depth + 4))
                is_down = round_down(environment, is_down, is_floored(head, width))
                multiply_points(a, rows, count, head + width * QUANTIZED_HEAD_BYTES, width, sums)
                for n in range(count):
                    image, at = divmod(first + n, across * down)
                    place = image, at // across * side, at % across * side
                    point = sums + n * COLUMNS * 4
                    write_outputs(a, place, column, (point, plane, width, head), unwanted)
        round_down(environment, is_down, False)
        return 0

    @helper
    def transformed_column(filter, at, depth, flip, zero):
        """A column of weights, transformed in its direction."""
        return transformed(
            centered(filter[at], flip, zero),
            centered(filter[at + 3 * depth], flip, zero),
            centered(filter[at + 6 * depth], flip, zero),
        )

    @kernel(PACK_WINOGRAD_Q8, f"pack_winograd_{variant}")
    def pack(a, panel, deadline):
        """filter: 8-bit [columns, 3, 3, depth], bias: int32[columns]."""
        depth, first = a.depth, panel * a.width
        width = min(a.width, a.columns - first)
        head = a.output + first * (QUANTIZED_HEAD_BYTES + points * (2 * depth + 4))
        matrix = width * (depth + 2)
        bias = i32(a.bias)
        start = head + width * QUANTIZED_HEAD_BYTES
        sums, output, words = i32(head), i16(start), i32(start)
        for n in range(width):
            sums[n] = bias[first + n]
            for point in range(points):
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
                    x = transformed_column(filter, k, depth, a.flip, a.filter_zero)
                    y = transformed_column(filter, k + depth, depth, a.flip, a.filter_zero)
                    z = transformed_column(filter, k + 2 * depth, depth, a.flip, a.filter_zero)
                    write_points(output, at, matrix, x, y, z)
        return 0


@helper
def _write_outputs(a, place, column, sums, unwanted):
    """2x2 outputs from a place on: (image, row, column)."""
    image, h, w = place
    outputs = outputs_of(a, h, w, image, column, 1, unwanted)
    last = a.zero_point, a.output_flip, a.low, a.high
    transform_output(*(sums + outputs + last))


@helper
def _doubled(g0, g1, g2):
    """2 * G g in one direction."""
    ends = g0 + g2
    return 2 * g0, ends + g1, ends - g1, 2 * g2


@helper
def _write_points(output, at, matrix, x, y, z):
    """The 16 elements of a weight's transform from three transformed columns."""
    row = 4 * matrix
    write_four(output, at, matrix, _doubled(x[0], y[0], z[0]))
    write_four(output, at + row, matrix, _doubled(x[1], y[1], z[1]))
    write_four(output, at + 2 * row, matrix, _doubled(x[2], y[2], z[2]))
    write_four(output, at + 3 * row, matrix, _doubled(x[3], y[3], z[3]))


define_kernels("q8", SMALL, (2 * LANES, transform_input), _write_outputs, (_doubled, _write_points))
