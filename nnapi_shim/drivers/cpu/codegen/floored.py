"""Requantization of sums by rounding down, where no output is below its zero point, as after RELU.

From sums of 0 on, both roundings of the reference are one floor (requantization.py):

    steps above the zero point = floor(sum * m + 1/2 + 2^-(n + 1))     for m = M * 2^(-n - 31)

without the last term where m is 1/2 or more; negative sums have none. With instructions that round
down, the same integers are

    floor(sum * scale + (sum * rest + offset))      for float32 scale + rest = m

if no sum comes too close to an integer: the outer sum is not below an integer unless it was before
it was rounded, so that only the inner one has an error, of less than 2^-24. `write_table` finds
the first sum of every step, and puts the offset in the middle between the smallest distances of
these sums and of those before them. One in some thousand multipliers leaves no room for it: then
all columns of the table are requantized with both roundings.

A table of such columns has scale, rest and offset in front; where others have M, it has MARK.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import BYTE_TILING, ISA
from nnapi_shim.drivers.cpu.codegen.numeric import f32, f64, i32, u32
from nnapi_shim.drivers.cpu.codegen.requantization import (
    ByteOutput,
    ColumnConstants,
    decomposed,
    in_order,
    narrow_pairs,
    requantize,
    to_bytes,
    write_column,
)
from nnapi_shim.drivers.cpu.codegen.stack import array_on_stack
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, WORD, long, vector
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

ROUNDS_DOWN, LANES = ISA.tier.rounds_down, BYTE_TILING.lanes
MARK = -1
"""No M is negative."""
LEAST_EXPONENT, MOST_EXPONENT = -21, 0
"""Of a multiplier: distances are counted in 64 bits, and the inner sum is below 1."""
EXACT = 1 << 24
"""The largest sums that float32 has."""
WORST = 1 << 31
"""Sums are int32: those from here on wrap."""
LARGEST_PRODUCT = 1 << 17
"""Of a byte and a weight, with what their zero points add: a bound."""


_scratch = array_on_stack(ir.ArrayType(WORD, LANES), 5)


@emits(types.void(types.int64, types.int64))
def _walk(builder: Any, scratch: Any, steps: Any) -> None:
    """From the distances of the first sums of LANES columns to the least and the largest of `steps`
    ones: from one step to the next, they lose the remainder, modulo the mantissa.

    scratch: uint32[LANES] each: distances, remainders, mantissas; least, largest.
    """
    kind, size = vector(WORD, LANES), 4 * LANES
    distance, remainder, mantissa = (
        builder.load_from(builder.add(scratch, long(size * n)), kind, 4) for n in range(3)
    )
    slots = [builder.variable(kind, distance) for _ in range(3)]
    with builder.each(builder.sub(steps, long(1))):
        now, least, largest = (builder.load(slot) for slot in slots)
        lower = builder.sub(now, remainder)
        now = builder.call_same("llvm.umin", lower, builder.add(lower, mantissa))
        builder.store(now, slots[0])
        builder.store(builder.call_same("llvm.umin", least, now), slots[1])
        builder.store(builder.call_same("llvm.umax", largest, now), slots[2])
    for n, slot in enumerate(slots[1:]):
        builder.store_to(builder.load(slot), builder.add(scratch, long(size * (3 + n))), 4)


@helper
def _floor_of(multiplier):
    """(mantissa, unit, offset): the floor of (sum * mantissa + offset) / unit is what a sum from 0
    on becomes. Mantissa 0: there is no such floor.
    """
    mantissa, exponent = decomposed(multiplier)
    unit, offset = 1 << 31, 1 << 30
    if mantissa == 0 or exponent < LEAST_EXPONENT or exponent > MOST_EXPONENT:
        mantissa = 0
    elif exponent < 0:
        unit <<= -exponent
        offset += 1 << (30 - exponent)
    return mantissa, unit, offset


@helper
def _first(mantissa, unit, offset):
    """The first sum of step 1, and its distance."""
    total = (unit - offset + mantissa - 1) // mantissa
    return total, total * mantissa - (unit - offset)


@helper
def _walk_within(mantissa, unit, offset, steps, low, high):
    """As `_walk`, for sums from low to high alone, and whether float32 has all of them."""
    total, distance = _first(mantissa, unit, offset)
    quotient, remainder = unit // mantissa, unit % mantissa
    least, largest, is_exact = mantissa, 0, True
    for _ in range(steps):
        if low <= total <= high:
            is_exact &= total <= EXACT
            least, largest = min(least, distance), max(largest, distance)
        total, distance = total + quotient, distance - remainder
        if distance < 0:
            total, distance = total + 1, distance + mantissa
    return least, largest, is_exact


@helper
def _write_columns(head, width, first, factors, count, steps, products):
    """The entries of LANES columns from `first` on, and whether they are right for all sums."""
    table, bias, scratch = f32(head + 4 * (width + first)), i32(head + 4 * first), _scratch()
    marks, numbers = i32(head + 4 * (4 * width + first)), u32(scratch)
    reach = products * LARGEST_PRODUCT
    for n in range(LANES):
        mantissa, unit, offset = _floor_of(factors[first + n] if first + n < count else 0.0)
        numbers[n], numbers[LANES + n], numbers[2 * LANES + n] = 0, 0, mantissa
        if mantissa:
            numbers[n] = _first(mantissa, unit, offset)[1]
            numbers[LANES + n] = unit % mantissa
    _walk(scratch, steps)
    for n in range(LANES):
        factor = factors[first + n] if first + n < count else 0.0
        mantissa, unit, offset = _floor_of(factor)
        table[n], table[width + n], table[2 * width + n] = 0.0, 0.0, 0.5
        marks[n] = MARK
        if mantissa == 0:
            if decomposed(factor)[0] != 0:
                return False
            continue
        low, high = bias[n] - reach, bias[n] + reach
        if low < -WORST or high >= WORST:
            return False  # sums may wrap
        least, largest = np.int64(numbers[3 * LANES + n]), np.int64(numbers[4 * LANES + n])
        if _first(mantissa, unit, offset)[0] + steps * (unit // mantissa + 1) > EXACT:
            # Sums of more bits than float32 has are rounded: their neighbours count as well.
            low, high = low - (abs(low) >> 20) - 1, high + (abs(high) >> 20) + 1
            least, largest, is_exact = _walk_within(mantissa, unit, offset, steps, low, high)
            if not is_exact:
                return False
        error = unit >> 24  # of the inner sum, which is below 1
        between = mantissa - largest
        if least + between < 3 * error:
            return False
        scale = mantissa * (1.0 / unit)
        table[n] = scale
        table[width + n] = scale - table[n]
        table[2 * width + n] = (offset + (between - least + error) // 2) * (1.0 / unit)
    return True


@helper
def write_table(head, width, multipliers, count, zero_point, steps, products):
    """The table of a panel of `width` columns, a multiple of LANES, behind its biases.

    multipliers: address of `count` float64; the other columns only fill vectors. zero_point: of the
    output, as of an int8. steps: the outputs above it, or 0 where those below it count, too.
    products: of a sum.
    """
    factors, is_floored = f64(multipliers), ROUNDS_DOWN and steps > 0
    for first in range(0, width, LANES):
        if is_floored:
            is_floored = _write_columns(head, width, first, factors, count, steps, products)
    if not is_floored:
        for n in range(width):
            write_column(head + 4 * width, width, n, factors[n] if n < count else 0.0, zero_point)


@helper
def is_floored(head, width):
    """Whether the columns of a panel are requantized by rounding down."""
    return i32(head)[4 * width] == MARK


# As LLVM code


def is_marked(builder: Any, columns: ColumnConstants) -> Any:
    """Whether columns are requantized by rounding down."""
    mantissa = builder.load_from(columns.exact[0], WORD, 4)
    return builder.icmp_signed("==", mantissa, WORD(MARK))


def floored_bytes(
    builder: Any, rows: Sequence[Sequence[Any]], columns: ColumnConstants, last: ByteOutput
) -> Any:
    """Rows of vectors of sums as one vector of bytes, where instructions round down; so does the
    conversion `rounded`.
    """
    steps = []
    for sums in rows:
        for total, (scale, rest, offset) in zip(sums, columns.constants, strict=True):
            value = builder.sitofp(total, scale.type)
            inner = ISA.multiply_add(builder, value, rest, offset)
            steps.append(ISA.rounded(builder, ISA.multiply_add(builder, value, scale, inner)))
    lanes = steps[0].type.count
    groups = [(x, list(range(at * lanes, (at + 1) * lanes))) for at, x in enumerate(steps)]
    groups = narrow_pairs(builder, groups)
    [(result, order)] = narrow_pairs(builder, groups, ISA.narrowed_unsigned)
    low, high = (builder.fptosi(bound, WORD) for bound in (last.low, last.high))
    count = result.type.count
    most = builder.splat(builder.trunc(builder.sub(high, low), BYTE), count)
    zero = builder.trunc(builder.xor(low, builder.trunc(last.flip, WORD)), BYTE)
    is_less = builder.icmp_unsigned("<", result, most)
    result = builder.add(builder.select(is_less, result, most), builder.splat(zero, count))
    return in_order(builder, result, order, lanes * len(steps))


def requantized_bytes(
    builder: Any, rows: Sequence[Sequence[Any]], columns: ColumnConstants, last: ByteOutput
) -> Any:
    """Rows of `high_products` as one vector of bytes, as the table says."""
    if not ROUNDS_DOWN:
        return to_bytes(builder, requantize(builder, rows, columns, last), last)
    vectors = [total for sums in rows for total in sums]
    result = builder.variable(vector(BYTE, vectors[0].type.count * len(vectors)))
    with builder.if_else(is_marked(builder, columns), likely=True) as (then, otherwise):
        with then:
            builder.store(floored_bytes(builder, rows, columns, last), result)
        with otherwise:
            steps = requantize(builder, rows, columns, last)
            builder.store(to_bytes(builder, steps, last), result)
    return builder.load(result)
