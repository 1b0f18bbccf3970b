"""What happens to the input rows of a matrix product before it, where they lie, and their sums: see
../lowering/packing.py and ../lowering/gemm.py.
"""

from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, late_after
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.numeric import i16, i32, i64, u8
from nnapi_shim.drivers.cpu.codegen.stored_bytes import centered, sum_of_bytes
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, vector
from nnapi_shim.drivers.cpu.kernels.half_precision import share
from nnapi_shim.drivers.cpu.lowering.gemm import OFFSETS, ROW_SUMS
from nnapi_shim.drivers.cpu.lowering.packing import PREPARE
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel


@kernel(PREPARE)
def prepare_s16(a, tile):
    """input: 8-bit [rows, depth]; output: int16 [rows, pitch bytes], zero point subtracted.

    `flip` makes the input int8.
    """
    depth, pitch, flip, zero = a.depth, a.pitch, a.flip, a.zero
    first, end = share(a.rows, a.parts, tile)
    if pitch == 2 * depth:
        x, y = u8(a.input), i16(a.output)
        for i in range(first * depth, end * depth):
            y[i] = centered(x[i], flip, zero)
        return 0
    if depth == 3:  # the colours of a picture: without a loop the compiler makes vectors of it
        x, y = u8(a.input), i16(a.output)
        for row in range(first, end):
            y[4 * row] = centered(x[3 * row], flip, zero)
            y[4 * row + 1] = centered(x[3 * row + 1], flip, zero)
            y[4 * row + 2] = centered(x[3 * row + 2], flip, zero)
            y[4 * row + 3] = 0
        return 0
    for row in range(first, end):
        x, y = u8(a.input + row * depth), i16(a.output + row * pitch)
        for k in range(depth):
            y[k] = centered(x[k], flip, zero)
        y[depth] = 0
    return 0


@kernel(PREPARE)
def prepare_u8(a, tile):
    """input: 8-bit [rows, depth]; output: the same with rows of `pitch` bytes, padded with 0.

    `flip` makes the input uint8.
    """
    depth, pitch, flip = a.depth, a.pitch, a.flip
    first, end = share(a.rows, a.parts, tile)
    if pitch == depth:
        x, y = u8(a.input), u8(a.output)
        for i in range(first * depth, end * depth):
            y[i] = x[i] ^ flip
        return 0
    for row in range(first, end):
        x, y = u8(a.input + row * depth), u8(a.output + row * pitch)
        for k in range(depth):
            y[k] = x[k] ^ flip
        for k in range(depth, pitch):
            y[k] = 0
    return 0


FORM_BLOCK = 16
"""Bytes of a row that are written at once in both forms."""


@emits(types.void(*[types.int64] * 4))
def write_forms(builder: Any, x: Any, y: Any, complemented: Any, flip: Any) -> None:
    """FORM_BLOCK bytes from an even place on, xor flip, and with their odd places complemented."""
    block = vector(BYTE, FORM_BLOCK)
    flips = builder.splat(builder.trunc(flip, BYTE), FORM_BLOCK)
    odd = ir.Constant(block, [n % 2 * 255 for n in range(FORM_BLOCK)])
    value = builder.xor(builder.load_from(x, block, 1), flips)
    builder.store_to(value, y, 1)
    builder.store_to(builder.xor(value, odd), complemented, 1)


@kernel(PREPARE)
def prepare_complemented(a, tile):
    """input: 8-bit [rows, depth]; output: uint8 [rows, 2, depth]: the same, and the same with the
    complement (255 less) of every byte at an odd place.

    `flip` makes the input uint8.
    """
    depth, flip = a.depth, a.flip
    first, end = share(a.rows, a.parts, tile)
    whole = depth - depth % FORM_BLOCK
    for row in range(first, end):
        x, y = a.input + row * depth, a.output + row * 2 * depth
        for k in range(0, whole, FORM_BLOCK):
            write_forms(x + k, y + k, y + depth + k, flip)
        for k in range(whole, depth):
            byte = u8(x)[k] ^ flip
            u8(y)[k] = byte
            u8(y)[depth + k] = byte ^ (255 * (k & 1))
    return 0


def row_sums(name: str, row_sum: Any) -> None:
    """output[row] = factor * (sum of the inputs of the row's taps)."""

    @kernel(ROW_SUMS, name)
    def add_up(a, tile, deadline):
        work = 0
        sums, depth, flip, tile_rows = i32(a.output), a.depth, a.flip, a.tile_rows
        first, end = share(a.row_tiles, a.parts, tile)
        for at in range(first, end):
            image, part = at // a.image_tiles, at % a.image_tiles
            table, rows = i64(a.table + part * a.table_step), tile_rows
            if part == a.image_tiles - 1:
                table, rows = i64(a.tail_table), a.tail_rows
            base = a.input + image * a.image_bytes + part * a.tile_bytes
            is_late, work = late_after(work + rows * a.taps * depth, deadline)
            if is_late:
                return DEADLINE
            for m in range(rows):
                total = 0
                for tap in range(a.taps):
                    offset = table[tap * tile_rows + m]
                    total += row_sum(a.zero if offset < 0 else base + offset, depth, flip)
                sums[image * a.image_rows + part * tile_rows + m] = a.factor * total
        return 0


@helper
def _sum_of_s16(x, count, flip):
    total, values = 0, i16(x)
    for k in range(count):
        total += values[k]
    return total


row_sums("row_sums_u8", sum_of_bytes)
row_sums("row_sums_s16", _sum_of_s16)
if ISA.tier.tiling.signed_dots:

    @helper
    def _sum_of_signed_bytes(x, count, flip):
        return sum_of_bytes(x, count, flip ^ 0x80) - 128 * count

    row_sums("row_sums_s8", _sum_of_signed_bytes)


@kernel(OFFSETS)
def row_offsets(a, tile):
    """output: int64[tiles, filter_height * filter_width, tile_rows], see gemm_microkernel.py.

    Byte offset of the pixel that each tap reads, in one image; `outside` outside of it.
    """
    offsets, tile_rows = i64(a.output), a.tile_rows
    taps, count = a.filter_height * a.filter_width, a.out_height * a.out_width
    for first in range(0, count, tile_rows):
        for m in range(tile_rows):
            h, w = divmod(min(first + m, count - 1), a.out_width)
            for fh in range(a.filter_height):
                ih = h * a.stride_height - a.pad_top + fh * a.dilation_height
                for fw in range(a.filter_width):
                    iw = w * a.stride_width - a.pad_left + fw * a.dilation_width
                    inside = 0 <= ih < a.in_height and 0 <= iw < a.in_width
                    at = first * taps + (fh * a.filter_width + fw) * tile_rows + m
                    offsets[at] = (ih * a.in_width + iw) * a.pixel_bytes if inside else a.outside
    return 0
