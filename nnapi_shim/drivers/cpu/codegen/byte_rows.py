"""Sums of rows of bytes, signed or unsigned. They are exact.

input: [outer, repeats, rows, length], output: [outer, rows]; lowering/reduction.py defines the
axes. `repeats` and `length` are reduced.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ, READ_BACK, WRITE, part
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import ISA, TILING
from nnapi_shim.drivers.cpu.codegen.stack import array_on_stack
from nnapi_shim.drivers.cpu.codegen.vector import BIT, BYTE, DOUBLE, WORD, constant, vector
from nnapi_shim.drivers.cpu.codegen.vector import LONG as LONG_WORD
from nnapi_shim.drivers.cpu.codegen.vector import long as long_word
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

read_s8, read_u8 = READ["s8"], READ["u8"]
read_total, write_total = READ_BACK["f64"], WRITE["f64"]

BLOCK = 4 * TILING.lanes
CHAINS = 4
"""Blocks that are added to sums of their own."""
HALF_BLOCK, SHORT = 16, 1 << 12
"""Bytes of the smallest vector, and of rows that are summed together."""


def _add_bytes(builder: Any, sums: Any, value: Any, is_signed: bool) -> Any:
    """Add each four bytes to an int32; unsigned ones count 128 less where `_is_moved`."""
    ones = constant(value.type, 1)
    if TILING.group == 4:
        if _is_moved(is_signed):
            value = builder.xor(value, constant(value.type, 0x80))
        pair = (ones, value) if is_signed and not TILING.signed_dots else (value, ones)
        return ISA.dot_quads(builder, sums, *pair)
    return ISA.dot_byte_pairs(builder, sums, *((ones, value) if is_signed else (value, ones)))


def _is_moved(is_signed: bool) -> bool:
    return TILING.group == 4 and TILING.signed_dots and not is_signed


def _block_sums(is_signed: bool) -> Any:
    @emits(types.int64(types.int64, types.int64))
    def sum_of_blocks(builder: Any, address: Any, count: Any) -> Any:
        """The sum of `count` blocks of BLOCK bytes, fewer than LONG bytes."""
        lanes, block = vector(WORD, TILING.lanes), vector(BYTE, BLOCK)
        slots = [builder.variable(lanes, constant(lanes, 0)) for _ in range(CHAINS)]

        def add(slot: Any, at: Any) -> None:
            value = builder.load_from(at, block, 1)
            builder.store(_add_bytes(builder, builder.load(slot), value, is_signed), slot)

        chained = builder.sdiv(count, long_word(CHAINS))
        with builder.each(chained, CHAINS * BLOCK) as offset:
            for number, slot in enumerate(slots):
                add(slot, builder.add(address, builder.add(offset, long_word(number * BLOCK))))
        done = builder.mul(chained, long_word(CHAINS))
        rest = builder.add(address, builder.mul(done, long_word(BLOCK)))
        with builder.each(builder.sub(count, done), BLOCK) as offset:
            add(slots[0], builder.add(rest, offset))
        sums = builder.load(slots[0])
        for slot in slots[1:]:
            sums = builder.add(sums, builder.load(slot))
        name = f"llvm.vector.reduce.add.v{TILING.lanes}i32"
        total = builder.sext(builder.call_by_name(name, WORD, sums), LONG_WORD)
        less = 128 * BLOCK if _is_moved(is_signed) else 0
        return builder.add(total, builder.mul(count, long_word(less)))

    return sum_of_blocks


def _last_bytes(is_signed: bool) -> Any:
    @emits(types.int64(types.int64, types.int64))
    def sum_of_last(builder: Any, end: Any, count: Any) -> Any:
        """The sum of the last `count` of the HALF_BLOCK bytes in front of an address."""
        kind = vector(BYTE, HALF_BLOCK)
        value = builder.load_from(builder.sub(end, long_word(HALF_BLOCK)), kind, 1)
        if is_signed:
            value = builder.xor(value, constant(kind, 0x80))
        before = builder.trunc(builder.sub(long_word(HALF_BLOCK), count), BYTE)
        value = builder.select(builder.lanes_before(before, HALF_BLOCK), constant(kind, 0), value)
        less = builder.mul(count, long_word(128 if is_signed else 0))
        return builder.sub(ISA.sum_of_16_bytes(builder, value), less)

    return sum_of_last


def _ends(is_signed: bool) -> Any:
    sum_of_last, read = _last_bytes(is_signed), read_s8 if is_signed else read_u8

    @helper
    def sum_of_end(x, length, done):
        """The sum of what follows the first `done` of byte[length]."""
        total = np.int64(0)
        while done < length and length >= HALF_BLOCK:
            count = min(HALF_BLOCK, length - done)
            done += count
            # The bytes in front of the last ones are read again, as a row is long enough.
            total += sum_of_last(x + (done if count == HALF_BLOCK else length), count)
        for i in range(done, length):
            total += np.int64(read(x, i))
        return total

    return sum_of_end


def _row_sum(is_signed: bool) -> Any:
    sum_of_blocks, sum_of_end = _block_sums(is_signed), _ends(is_signed)

    @helper
    def sum_of_row(x, length):
        """The sum of byte[length], shorter than LONG."""
        blocks = length // BLOCK
        total = sum_of_end(x, length, blocks * BLOCK)
        if blocks > 0:
            total += sum_of_blocks(x, blocks)
        return total

    return sum_of_row


AT_ONCE = 4
"""Rows whose sums are added across lanes together."""


def _across(builder: Any, vectors: Sequence[Any]) -> Any:
    """A vector of the sums across the lanes of AT_ONCE vectors."""
    while len(vectors) > 1:
        lanes = vectors[0].type.count
        joined = []
        for a, b in zip(vectors[::2], vectors[1::2], strict=True):
            picked = (
                [at + of for of in (0, lanes) for at in range(first, lanes, 2)] for first in (0, 1)
            )
            joined.append(builder.add(*(builder.pick_of_two(a, b, each) for each in picked)))
        vectors = joined
    (value,) = vectors
    while (lanes := value.type.count) > AT_ONCE:
        # Each row has as many neighbours.
        halves = (builder.pick(value, range(first, lanes, 2)) for first in (0, 1))
        value = builder.add(*halves)
    return value


def _blocks_of_rows(is_signed: bool) -> Any:
    less = 128 * BLOCK if _is_moved(is_signed) else 0

    @emits(types.void(*[types.int64] * 5))
    def add_blocks(builder: Any, x: Any, pitch: Any, groups: Any, blocks: Any, totals: Any) -> None:
        """float64[groups][AT_ONCE] at totals: the sums of `blocks` blocks of as many rows."""
        lanes, block = vector(WORD, TILING.lanes), vector(BYTE, BLOCK)
        moved = builder.trunc(builder.mul(blocks, long_word(less)), WORD)
        slots = [builder.variable(lanes) for _ in range(AT_ONCE)]
        with builder.each(groups, AT_ONCE) as row:
            rows = [
                builder.add(x, builder.mul(pitch, builder.add(row, long_word(number))))
                for number in range(AT_ONCE)
            ]
            for slot in slots:
                builder.store(constant(lanes, 0), slot)
            with builder.each(blocks, BLOCK) as offset:
                for slot, at in zip(slots, rows, strict=True):
                    value = builder.load_from(builder.add(at, offset), block, 1)
                    builder.store(_add_bytes(builder, builder.load(slot), value, is_signed), slot)
            sums = _across(builder, [builder.load(slot) for slot in slots])
            sums = builder.add(sums, builder.splat(moved, AT_ONCE))
            target = builder.add(totals, builder.mul(row, long_word(8)))
            builder.store_to(builder.sitofp(sums, vector(DOUBLE, AT_ONCE)), target, 8)

    return add_blocks


def _ends_of_rows(is_signed: bool, is_whole: bool) -> Any:
    @emits(types.void(*[types.int64] * 5))
    def add_ends(builder: Any, x: Any, length: Any, groups: Any, done: Any, totals: Any) -> None:
        """float64[groups][AT_ONCE] at totals: the sums of what follows the first `done` of
        byte[length] in as many rows; unless `is_whole`, added to what is there. Of rows that are
        shorter than HALF_BLOCK, bytes behind them are read.
        """
        kind = vector(BYTE, HALF_BLOCK)
        size = long_word(HALF_BLOCK)
        left = builder.sub(length, done)
        halves = builder.sdiv(builder.sub(left, long_word(1)), size)
        rest = builder.sub(left, builder.mul(halves, size))
        # The last bytes are the first of a short row; of a long one, what is before them is, too.
        is_short = builder.icmp_signed("<", length, size)
        last = builder.select(is_short, long_word(0), builder.sub(length, size))
        first, behind = (
            builder.lanes_before(builder.trunc(count, BYTE), HALF_BLOCK)
            for count in (rest, builder.sub(size, rest))
        )
        ones = constant(vector(BIT, HALF_BLOCK), 1)
        used = builder.select(is_short, first, builder.xor(behind, ones))
        used = builder.sext(used, kind)
        moved = builder.trunc(builder.mul(left, long_word(128 if is_signed else 0)), WORD)
        slots = [builder.variable(vector(LONG_WORD, 2)) for _ in range(AT_ONCE)]

        def sums_at(address: Any, mask: Any = None) -> Any:
            value = builder.load_from(address, kind, 1)
            value = builder.xor(value, constant(kind, 0x80)) if is_signed else value
            value = value if mask is None else builder.and_(value, mask)
            return ISA.sums_of_8_bytes(builder, value)

        with builder.each(groups, AT_ONCE) as group:
            rows = [
                builder.add(x, builder.mul(length, builder.add(group, long_word(number))))
                for number in range(AT_ONCE)
            ]
            for slot, row in zip(slots, rows, strict=True):
                builder.store(sums_at(builder.add(row, last), used), slot)
            with builder.each(halves, HALF_BLOCK) as offset:
                for slot, row in zip(slots, rows, strict=True):
                    more = sums_at(builder.add(row, builder.add(done, offset)))
                    builder.store(builder.add(builder.load(slot), more), slot)
            sums = _sums_of_pairs(builder, [builder.load(slot) for slot in slots])
            sums = builder.sub(sums, builder.splat(moved, AT_ONCE))
            result = builder.sitofp(sums, vector(DOUBLE, AT_ONCE))
            target = builder.add(totals, builder.mul(group, long_word(8)))
            if not is_whole:
                result = builder.fadd(builder.load_from(target, result.type, 8), result)
            builder.store_to(result, target, 8)

    return add_ends


def _sums_of_pairs(builder: Any, pairs: Sequence[Any]) -> Any:
    """<4 x i32>: the sums of the two elements of <2 x i64>."""
    sums = []
    for a, b in zip(pairs[::2], pairs[1::2], strict=True):
        both = builder.add(*(builder.pick_of_two(a, b, [at, 2 + at]) for at in (0, 1)))
        sums.append(builder.bitcast(both, vector(WORD, 4)))
    return builder.pick_of_two(*sums, [0, 2, 4, 6])


def _short_rows(is_signed: bool) -> Any:
    sum_of_row, add_blocks = _row_sum(is_signed), _blocks_of_rows(is_signed)
    add_ends, set_ends = (_ends_of_rows(is_signed, is_whole) for is_whole in (False, True))

    @helper
    def sum_short_rows(x, length, count, readable, totals):
        """float64[count] at totals: the sums of rows of byte[length]. readable: bytes at x."""
        done = length // BLOCK * BLOCK
        together = count
        if length < HALF_BLOCK:  # as many as HALF_BLOCK bytes can be read of
            together = min(count, max(readable - HALF_BLOCK + length, 0) // length)
        groups = together // AT_ONCE
        if done > 0:
            add_blocks(x, length, groups, done // BLOCK, totals)
            if done < length:
                add_ends(x, length, groups, done, totals)
        else:
            set_ends(x, length, groups, 0, totals)
        for c in range(groups * AT_ONCE, count):
            write_total(totals, c, np.float64(sum_of_row(x + c * length, length)))

    return sum_short_rows


_sum_short_signed, _sum_short_unsigned = _short_rows(True), _short_rows(False)
_sum_of_signed, _sum_of_unsigned = _row_sum(True), _row_sum(False)


@helper
def sum_of_bytes(x, length, is_signed):
    """The sum of byte[length]."""
    total = np.int64(0)
    for first in range(0, length, LONG):
        count = min(LONG, length - first)
        if is_signed:
            total += _sum_of_signed(x + first, count)
        else:
            total += _sum_of_unsigned(x + first, count)
    return total


GROUP = 128
"""Results that are stored together."""
_totals_on_stack = array_on_stack(DOUBLE, GROUP)


def sum_rows(name, record, constants, finish):
    """The kernel for inner = 1. A tile is tile_blocks outputs.

    constants(a): values of the record for `finish`. finish(totals, output, count, address, view,
    values, deadline) stores `count` results of float64 totals; it returns False after the deadline.
    view: repeats, their pitch, length, pitch of the elements, pitch of the addresses of results.
    """

    @kernel(record, f"{name}_b8")
    def body(a, tile, deadline):
        repeats, rows, length, is_signed = a.repeats, a.rows, a.length, a.is_signed != 0
        values, totals, work = constants(a), _totals_on_stack(), 0
        repeat_pitch = rows * length
        view = repeats, repeat_pitch, length, 1, length
        at, end = part(a.outer * rows, a.tile_blocks, tile)
        while at < end:
            image, row = at // rows, at % rows
            count = min(GROUP, end - at, rows - row)
            x = a.input + image * repeats * repeat_pitch + row * length
            is_short = repeats == 1 and length < SHORT
            readable = (a.outer * rows - at) * length
            if is_short and is_signed:
                _sum_short_signed(x, length, count, readable, totals)
            elif is_short:
                _sum_short_unsigned(x, length, count, readable, totals)
            for c in range(0 if is_short else count):
                total = np.int64(0)
                for repeat in range(repeats):
                    is_late, work = late_after(work + length, deadline)
                    if is_late:
                        return DEADLINE
                    total += sum_of_bytes(x + repeat * repeat_pitch + c * length, length, is_signed)
                write_total(totals, c, np.float64(total))
            if not finish(totals, a.output + at, count, x, view, values, deadline):
                return DEADLINE
            at += count
        return 0
