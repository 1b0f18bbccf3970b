"""SELECT, ARGMAX and ARGMIN.

Elements are compared as they are stored, bytes as unsigned numbers; `flip` is xor-ed to their bits
before, to reverse their order or to make unsigned bytes of signed ones.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, STRETCH, late
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import TILING
from nnapi_shim.drivers.cpu.codegen.numeric import (
    bits_of,
    float_of,
    from_ordered,
    larger_number,
    ordered,
    xor32,
)
from nnapi_shim.drivers.cpu.codegen.simd import LoopPosition, across_lanes
from nnapi_shim.drivers.cpu.codegen.vector import BIT, FLOAT, WORD, constant, long, vector
from nnapi_shim.drivers.cpu.lowering.selection import EXTREME, LANES, SELECT
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

HIGHEST = np.int32(2**31 - 1)

read_f32, read_i32, read_u8, write_i32 = READ["f32"], READ["i32"], READ["u8"], WRITE["i32"]


# SELECT


def select(bits, read, write):
    """SELECT for elements of so many bits."""

    @kernel(SELECT, f"select_{bits}")
    def body(a, tile):
        condition, x1, x2, y = a.condition, a.input1, a.input2, a.output
        first, end = part(a.count, a.part, tile)
        for i in range(first, end):
            value1, value2 = read(x1, i), read(x2, i)  # a load under a condition is no vector
            write(y, i, value1 if read_u8(condition, i) != 0 else value2)
        return 0


select(8, read_u8, WRITE["b8"])
select(16, READ["u16"], WRITE["b16"])
select(32, read_f32, WRITE["f32"])


# ARGMAX, ARGMIN

BLOCK, LONG_BLOCK = 256, 1024
"""Elements of a row whose maximum is taken at a time; the last that raised it is searched."""

SHORT_ROW = 2 * TILING.lanes if TILING.masked else 0
"""Elements of a row of floats up to which two vectors have all of it."""

LONG_ROW = 4096
"""Elements from which a row is taken in long blocks."""


# element(address, index, flip) -> an element
float_element = helper(lambda x, i, flip: float_of(xor32(bits_of(read_f32(x, i)), flip)))
integer_element = helper(lambda x, i, flip: np.int32(read_i32(x, i) ^ np.int32(flip)))
byte_element = helper(lambda x, i, flip: np.uint8(read_u8(x, i) ^ np.uint8(flip)))


@helper
def largest_float(x, first, end, flip, best):
    """The largest of some elements, or `best` where none exceeds it; NaN is passed over."""
    key = ordered(best)  # integers are compared faster
    for i in range(first, end):
        key = max(key, ordered(float_element(x, i, flip)))
    most = from_ordered(key)
    if most == most:
        return most
    for i in range(first, end):
        best = larger_number(best, float_element(x, i, flip))
    return best


def largest_integer(element):
    """As largest_float."""

    @helper
    def largest(x, first, end, flip, best):
        for i in range(first, end):
            best = max(best, element(x, i, flip))
        return best

    return largest


@emits(types.int32(types.int64, types.int64, types.int32))
def short_float_row(builder: Any, x: Any, length: Any, flip: Any) -> Any:
    """ARGMAX of a row float32[length] at x, length <= SHORT_ROW: the whole row in two vectors."""
    lanes, one_bit_per_lane, word = TILING.lanes, ir.IntType(TILING.lanes), ir.IntType(64)
    kind, flips = vector(FLOAT, lanes), builder.splat(flip, lanes)
    count = builder.splat(builder.trunc(length, WORD), lanes)

    def larger(x: Any, most: Any) -> Any:
        """The larger of each; x may be NaN, which is passed over."""
        return builder.select(builder.fcmp_ordered(">", x, most), x, most)

    most, parts = constant(kind, -math.inf), []
    for first in (0, lanes):
        numbers = ir.Constant(vector(WORD, lanes), [*range(first, first + lanes)])
        mask = builder.icmp_signed("<", numbers, count)
        bits = LoopPosition(builder, long(first), lanes, mask).load(x, math.nan).bits()
        parts.append(builder.bitcast(builder.xor(bits.value, flips), kind))
        most = larger(parts[-1], most)
    best = builder.splat(across_lanes(builder, most, larger), lanes)
    matches = [builder.fcmp_ordered("==", part, best) for part in parts]
    low, high = (builder.zext(builder.bitcast(x, one_bit_per_lane), word) for x in matches)
    equal_to_best = builder.or_(low, builder.shl(high, long(lanes)))
    is_nan = builder.bitcast(builder.fcmp_unordered("uno", parts[0], parts[0]), one_bit_per_lane)
    first_is_nan = builder.zext(builder.and_(is_nan, one_bit_per_lane(1)), word)
    wanted = builder.or_(equal_to_best, first_is_nan)
    return builder.trunc(builder.call_by_name("llvm.cttz.i64", word, wanted, BIT(0)), WORD)


def arg_rows(variant, size, element, largest):
    """input: [outer, length], output: int32[outer]; a tile is tile_blocks rows.

    NaN exceeds nothing, and nothing exceeds a NaN that comes first.
    """

    @kernel(EXTREME, f"arg_extreme_{variant}")
    def body(a, tile, deadline):
        length, flip = a.length, np.int32(a.flip)
        block = BLOCK if length < LONG_ROW else LONG_BLOCK
        first = tile * a.tile_blocks
        if variant == "f32" and length <= SHORT_ROW:
            for row in range(first, min(first + a.tile_blocks, a.outer)):
                write_i32(a.output, row, short_float_row(a.input + row * length * 4, length, flip))
            return 0
        for row in range(first, min(first + a.tile_blocks, a.outer)):
            x = a.input + row * length * size
            best, where, index = element(x, 0, flip), 0, np.int32(0)
            if best == best:
                for start in range(0, length, block):
                    if start % LONG == LONG - block and late(deadline):
                        return DEADLINE
                    most = largest(x, start, min(start + block, length), flip, best)
                    if most > best:
                        best, where = most, start
                index = HIGHEST
                for i in range(where, min(where + block, length)):
                    index = min(index, np.int32(i) if element(x, i, flip) == best else HIGHEST)
                index = min(index, np.int32(length - 1))  # it may have changed meanwhile
            write_i32(a.output, row, index)
        return 0


def arg_lanes(variant, size, element, stored):
    """input: [outer, length, inner], output: int32[outer, inner]; chosen for inner > 1. A tile is
    tile_blocks blocks of lanes. stored: type of the largest elements so far, in scratch.
    """
    read_best, write_best = READ_BACK[stored], WRITE["b8" if stored == "u8" else stored]
    read_index = READ_BACK["i32"]

    @kernel(EXTREME, f"arg_extreme_lanes_{variant}")
    def body(a, tile, deadline):
        length, inner, flip = a.length, a.inner, np.int32(a.flip)
        best = a.scratch + tile * LANES * 4
        blocks = (inner + LANES - 1) // LANES
        for block in range(*part(a.outer * blocks, a.tile_blocks, tile)):
            at, lane = block // blocks, block % blocks * LANES
            count = min(LANES, inner - lane)
            x = a.input + (at * length * inner + lane) * size
            y = a.output + (at * inner + lane) * 4
            for c in range(count):
                write_best(best, c, element(x, c, flip))
                write_i32(y, c, 0)
            for i in range(1, length):
                if i % STRETCH == 0 and late(deadline):
                    return DEADLINE
                x += inner * size
                for c in range(count):
                    value, so_far = element(x, c, flip), read_best(best, c)
                    index = np.int32(read_index(y, c))
                    write_i32(y, c, np.int32(i) if value > so_far else index)
                    write_best(best, c, value if value > so_far else so_far)
        return 0


arg_rows("f32", 4, float_element, largest_float)
arg_lanes("f32", 4, float_element, "f32")
arg_rows("i32", 4, integer_element, largest_integer(integer_element))
arg_lanes("i32", 4, integer_element, "i32")
arg_rows("b8", 1, byte_element, largest_integer(byte_element))
arg_lanes("b8", 1, byte_element, "u8")
