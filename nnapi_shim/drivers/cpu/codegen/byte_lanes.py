"""Sums of bytes, signed or unsigned, of lanes side by side in memory. They are exact.

input: [outer, repeats, rows, length, inner], output: [outer, rows, inner]; lowering/reduction.py
defines the axes. `repeats` and `length` are reduced.
"""

from typing import Any

import numpy as np
from numba import types

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import TILING
from nnapi_shim.drivers.cpu.codegen.stack import array_on_stack
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, DOUBLE, HALFWORD, WORD, constant, vector
from nnapi_shim.drivers.cpu.codegen.vector import LONG as LONG_WORD
from nnapi_shim.drivers.cpu.codegen.vector import long as long_word
from nnapi_shim.drivers.cpu.lowering.reduction import SUMMED_LANES as LANES
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

read_s8, read_u8 = READ["s8"], READ["u8"]
read_half, write_half, write_word = READ_BACK["u16"], WRITE["b16"], WRITE["i32"]
read_total, write_total = READ_BACK["f64"], WRITE["f64"]

WIDE = 2 * TILING.lanes
"""Lanes of a vector of 16-bit sums."""
STRIP = 4 * WIDE
"""Lanes whose 16-bit sums are in registers."""
ROUNDS = 255
"""Rows after which 16-bit sums are added to 32-bit ones, which are flushed after FLUSH rows."""
FLUSH = 1 << 16
ROOM = 2 * STRIP
LARGE, NEAR = 1 << 18, 1 << 13
"""Bytes of inputs that are read chunk by chunk, and of a chunk, about."""


def _strips(is_signed: bool) -> tuple[Any, Any]:
    wide = vector(HALFWORD, WIDE)

    def widened(builder: Any, value: Any, kind: Any) -> Any:
        return builder.sext(value, kind) if is_signed else builder.zext(value, kind)

    @emits(types.void(*[types.int64] * 4))
    def sum_rows(builder: Any, x: Any, pitch: Any, rows: Any, sums: Any) -> None:
        """int16[STRIP] at sums: the sums of up to ROUNDS rows of byte[STRIP]."""
        slots = [builder.variable(wide, constant(wide, 0)) for _ in range(STRIP // WIDE)]
        place = builder.variable(LONG_WORD, x)
        with builder.each(rows):
            row = builder.load(place)
            for number, slot in enumerate(slots):
                at = builder.add(row, long_word(number * WIDE))
                value = widened(builder, builder.load_from(at, vector(BYTE, WIDE), 1), wide)
                builder.store(builder.add(builder.load(slot), value), slot)
            builder.store(builder.add(row, pitch), place)
        for number, slot in enumerate(slots):
            target = builder.add(sums, long_word(number * WIDE * 2))
            builder.store_to(builder.load(slot), target, 2)

    @emits(types.void(types.int64, types.int64))
    def add_sums(builder: Any, source: Any, sums: Any) -> None:
        """int32[STRIP] at sums += int16[STRIP]."""
        words = vector(WORD, WIDE)
        for first in range(0, STRIP, WIDE):
            at, target = (
                builder.add(address, long_word(first * size))
                for address, size in ((source, 2), (sums, 4))
            )
            more = widened(builder, builder.load_from(at, wide, 2), words)
            builder.store_to(builder.add(builder.load_from(target, words, 4), more), target, 4)

    return sum_rows, add_sums


(_sum_signed, _add_signed), (_sum_unsigned, _add_unsigned) = _strips(True), _strips(False)


_totals_on_stack = array_on_stack(DOUBLE, max(ROOM, LANES))
_sums_on_stack, _halves_on_stack = array_on_stack(WORD, LANES), array_on_stack(HALFWORD, ROOM)


@emits(types.void(types.int64, types.int64))
def _flush(builder: Any, sums: Any, totals: Any) -> None:
    """float64[STRIP] at totals += int32[STRIP] at sums, which become 0."""
    words, numbers = vector(WORD, TILING.lanes), vector(DOUBLE, TILING.lanes)
    for first in range(0, STRIP, TILING.lanes):
        source = builder.add(sums, long_word(4 * first))
        target = builder.add(totals, long_word(8 * first))
        more = builder.sitofp(builder.load_from(source, words, 4), numbers)
        builder.store_to(builder.fadd(builder.load_from(target, numbers, 8), more), target, 8)
        builder.store_to(constant(words, 0), source, 4)


@helper
def _flush_all(sums, totals, strips):
    """`_flush` of each strip."""
    for strip in range(strips):
        _flush(sums + 4 * STRIP * strip, totals + 8 * STRIP * strip)


@helper
def _sum_rows(x, pitch, rows, halves, is_signed):
    """int16[STRIP] at halves: the sums of up to ROUNDS rows of byte[STRIP]."""
    if is_signed:
        _sum_signed(x, pitch, rows, halves)
    else:
        _sum_unsigned(x, pitch, rows, halves)


@helper
def _sum_strips(x, pitches, repeats, length, lanes, totals, scratch, is_signed, deadline):
    """float64[strips][STRIP] at totals: the sums of bytes in `length` rows, `repeats` times. False
    after the deadline.

    lanes: the first ones of the first strip and of the last strip. pitches: bytes from one repeat
    to the next, and from row to row. scratch: int16[STRIP], and int32[strips][STRIP].
    """
    (repeat_pitch, pitch), (halves, sums), (begin, last) = pitches, scratch, lanes
    strips = (last - begin + STRIP - 1) // STRIP + 1
    # What is not in the second-level cache is read in the order in which it lies in memory.
    most = ROUNDS if repeats * length * pitch < LARGE else min(max(NEAR // pitch, 16), ROUNDS)
    since, work = 0, 0
    for c in range(strips * STRIP):
        write_total(totals, c, 0.0)
    for c in range(strips * STRIP):
        write_word(sums, c, 0)
    for repeat in range(repeats):
        source = x + repeat * repeat_pitch
        for first in range(0, length, most):
            rows = min(most, length - first)
            for strip in range(strips):
                start = min(begin + strip * STRIP, last)
                at, here = source + first * pitch + start, sums + 4 * STRIP * strip
                _sum_rows(at, pitch, rows, halves, is_signed)
                if is_signed:
                    _add_signed(halves, here)
                else:
                    _add_unsigned(halves, here)
            since += rows
            if since > FLUSH:
                _flush_all(sums, totals, strips)
                since = 0
            is_late, work = late_after(work + rows * strips * STRIP, deadline)
            if is_late:
                return False
    _flush_all(sums, totals, strips)
    return True


@helper
def _sum_rest(x, pitches, repeats, length, count, totals, is_signed, deadline):
    """float64[count] at totals += the sums of byte[count] in a few rows, `repeats` times. False
    after the deadline.
    """
    (repeat_pitch, pitch), work = pitches, 0
    for repeat in range(repeats):
        is_late, work = late_after(work + length * count, deadline, LONG // 8)
        if is_late:
            return False
        for row in range(length):
            at = x + repeat * repeat_pitch + row * pitch
            for c in range(count):
                value = np.int32(read_s8(at, c)) if is_signed else np.int32(read_u8(at, c))
                write_total(totals, c, read_total(totals, c) + np.float64(value))
    return True


def _folded(read, write):
    """A function that adds `side` arrays of `inner` partial sums, side by side."""

    @helper
    def fold(sums, size, side, inner):
        while side > 1:
            half = side // 2
            side -= half
            other = sums + size * side * inner
            for c in range(half * inner):
                write(sums, c, read(sums, c) + read(other, c))

    return fold


_fold_totals = _folded(read_total, write_total)
_fold_halves = _folded(helper(lambda x, i: np.int32(read_half(x, i))), write_half)


@helper
def _sum_few(x, length, inner, side, totals, halves, is_signed):
    """float64[inner] at totals, of at most ROUNDS rows, `side` of which are at least STRIP."""
    count = side * inner
    for first in (0, count - STRIP):
        _sum_rows(x + first, count, length // side, halves + 2 * first, is_signed)
    _fold_halves(halves, 2, side, inner)
    for c in range(inner):
        half = read_half(halves, c)
        write_total(totals, c, np.float64(np.int16(half)) if is_signed else np.float64(half))


@helper
def _sum_narrow(x, view, totals, scratch, is_signed, deadline):
    """float64[inner] at totals, fewer than STRIP: rows are summed side by side. False after the
    deadline.
    """
    repeats, repeat_pitch, length, inner = view
    side = max(1, min(ROOM // inner, length))
    count, steps = side * inner, length // side
    is_short = repeats == 1 and length <= ROUNDS
    if count < STRIP:  # all of it
        steps = 0
        for c in range(inner):
            write_total(totals, c, 0.0)
    elif is_short:
        _sum_few(x, length, inner, side, totals, scratch[0], is_signed)
    else:
        pitches = repeat_pitch, count
        for first in (0, count - STRIP):
            lanes, here = (first, first), totals + 8 * first
            if not _sum_strips(
                x, pitches, repeats, steps, lanes, here, scratch, is_signed, deadline
            ):
                return False
        _fold_totals(totals, 8, side, inner)
    rest, left = x + steps * count, length - steps * side
    pitches = repeat_pitch, inner
    return _sum_rest(rest, pitches, repeats, left, inner, totals, is_signed, deadline)


def sum_lanes(name, record, constants, finish):
    """The kernel for inner > 1. A tile is tile_blocks blocks of up to LANES lanes; see sum_rows."""

    @kernel(record, f"{name}_lanes_b8")
    def body(a, tile, deadline):
        repeats, rows, length, inner, is_signed = (
            a.repeats, a.rows, a.length, a.inner, a.is_signed != 0
        )  # fmt: skip
        values, totals = constants(a), _totals_on_stack()
        scratch = _halves_on_stack(), _sums_on_stack()
        row_pitch, repeat_pitch = length * inner, rows * length * inner
        pitches, view = (repeat_pitch, inner), (repeats, repeat_pitch, length, inner, 1)
        blocks = (inner + LANES - 1) // LANES
        for block in range(*part(a.outer * rows * blocks, a.tile_blocks, tile)):
            at, lane = block // blocks, block % blocks * LANES
            x = a.input + at // rows * repeats * repeat_pitch + at % rows * row_pitch
            y = a.output + at * inner
            if inner < STRIP:
                if not _sum_narrow(x, view[:4], totals, scratch, is_signed, deadline):
                    return DEADLINE
                if not finish(totals, y, inner, x, view, values, deadline):
                    return DEADLINE
            else:
                end = min(lane + LANES, inner)
                last = min(lane + (end - lane - 1) // STRIP * STRIP, inner - STRIP)
                lanes = min(lane, last), last
                if not _sum_strips(
                    x, pitches, repeats, length, lanes, totals, scratch, is_signed, deadline
                ):
                    return DEADLINE
                for first in range(lane, end, STRIP):
                    start = min(first, last)  # lanes in front of it are in the strip before, too
                    here, count = totals + 8 * (2 * first - lane - start), min(STRIP, end - first)
                    if not finish(here, y + first, count, x + first, view, values, deadline):
                        return DEADLINE
        return 0
