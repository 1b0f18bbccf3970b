"""Filters as words at any byte of the input row: see ../lowering/shifted_words.py.

A position is the number of weights of a row that words cover so far.

A plan has a number for each panel, where its part begins, and in that part for each tap the number
of words in couples, that of all words, and for each word, and each vector of columns, the offset
and the mask of the bytes that it covers.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.coupled_words import MOST, SUMS_BYTES, coupled, write_sums
from nnapi_shim.drivers.cpu.codegen.floored import write_table
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import BYTE_TILING
from nnapi_shim.drivers.cpu.codegen.numeric import i32, i64, u8, u32
from nnapi_shim.drivers.cpu.codegen.stored_bytes import sum_of_bytes
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, HALFWORD, constant, vector
from nnapi_shim.drivers.cpu.kernels.byte_pairs import weight_at
from nnapi_shim.drivers.cpu.kernels.packing import u32_of_bytes
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES
from nnapi_shim.drivers.cpu.lowering.shifted_words import (
    COUPLED,
    LIST_WORDS,
    PACK_WORDS,
    PLAN_HEAD,
    PLAN_WORDS,
    SINGLE,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

BLOCK = 16
"""Weights of a row that are looked at together."""
LANES = BYTE_TILING.lanes
EXCEEDS, IS_LEAST = 1, 4
"""Marks of a weight: in one of the columns it exceeds 16 bits with the next one, or, shifted left
by 1, it does where that of the two at an odd place is negated; or it is at an odd place and -128,
which has no negative in 8 bits.
"""


@helper
def exceeds(first, second):
    """Whether a pair of weights has no room in 16 bits."""
    return max(first, 0) + max(second, 0) > MOST or min(first, 0) + min(second, 0) < -MOST


@emits(types.void(*[types.int64] * 3))
def mark_block(builder: Any, row: Any, marks: Any, flip: Any) -> None:
    """As mark_row, for BLOCK weights from an even place on, with one behind them."""
    kind, byte = vector(HALFWORD, BLOCK), vector(BYTE, BLOCK)
    zero, most, least = (constant(kind, value) for value in (0, MOST, -MOST))
    flips = builder.splat(builder.trunc(flip, BYTE), BLOCK)

    def weights(offset: int) -> Any:
        stored = builder.load_from(builder.add(row, constant(row.type, offset)), byte, 1)
        return builder.sext(builder.xor(stored, flips), kind)

    def exceeding(first: Any, second: Any) -> Any:
        is_positive = builder.icmp_signed(">", first, zero)
        high = builder.sub(most, builder.select(is_positive, first, zero))
        low = builder.sub(least, builder.select(is_positive, zero, first))
        return builder.icmp_signed("!=", builder.clamp_integers(second, low, high), second)

    own, after = weights(0), weights(1)
    odd = builder.pick_of_two(own, after, [n if n % 2 else BLOCK + n for n in range(BLOCK)])
    has_least = builder.icmp_signed("==", odd, least)
    at_odd = ir.Constant(byte, [n % 2 * IS_LEAST for n in range(BLOCK)])
    found = builder.load_from(marks, byte, 1)
    for condition, mark in (
        (exceeding(own, after), constant(byte, EXCEEDS)),
        (exceeding(own, builder.sub(zero, after)), constant(byte, EXCEEDS << 1)),
        (has_least, constant(byte, EXCEEDS << 1)),
        (has_least, at_odd),
    ):
        found = builder.or_(found, builder.select(condition, mark, constant(byte, 0)))
    builder.store_to(found, marks, 1)


@helper
def mark_row(row, marks, depth, flip):
    """Mark the weights that make no pair with the next one."""
    weights, found, k = u8(row), u8(marks), 0
    while k < depth:
        if k + BLOCK < depth:
            mark_block(row + k, marks + k, flip)
            k += BLOCK
            continue
        own = weight_at(weights, k, depth, flip, 0)
        after = weight_at(weights, k + 1, depth, flip, 0)
        odd = own if k & 1 else after
        if exceeds(own, after):
            found[k] |= EXCEEDS
        if exceeds(own, -after) or odd == -128:
            found[k] |= EXCEEDS << 1
        if k & 1 and own == -128:
            found[k] |= IS_LEAST
        k += 1


@helper
def reached(word, complemented, position, marks):
    """The position behind a word at this place of a row, or of a complemented one."""
    for first in range(word, word + 4, 2):
        has_room = not (complemented and u8(marks)[position] & IS_LEAST)
        if first + 1 == position:
            if not has_room:
                return position
            position += 1
        elif first == position:
            if u8(marks)[position] & (EXCEEDS << complemented):
                return position + 1 if has_room else position
            position += 2
    return position


@helper
def next_word(position, depth, forms, marks):
    """The offset of the word that reaches the furthest, in one or both forms of the row."""
    offset = furthest = 0
    for complemented in range(forms):
        for start in range(position, position - 2, -1):
            word = max(min(start, depth - 4), 0)
            end = reached(word, complemented, position, marks)
            if end > furthest:
                offset, furthest = complemented * depth + word, end
    return offset


@helper
def covered_bytes(word, position, end):
    """The mask of those of a word's bytes that lie between two positions."""
    mask = 0
    for j in range(4):
        if position <= word + j < end:
            mask |= 255 << (8 * j)
    return np.uint32(mask)


@helper
def negated_bytes(word, mask):
    """A word whose bytes of the mask are negated, none of them with a carry to the next."""
    inverted = word ^ mask
    low, high = np.uint32(0x7F7F7F7F), np.uint32(0x80808080)
    return ((inverted & low) + (mask & np.uint32(0x01010101))) ^ (inverted & high)


@helper
def place_of(offset, depth):
    """(place of a word in its form of the row, whether that is the complemented one)."""
    return (offset - depth, True) if offset >= depth else (offset, False)


@helper
def negated_of(offset, depth):
    """The mask of those of a word's bytes that are negated."""
    word, is_complemented = place_of(offset, depth)
    if not is_complemented:
        return np.uint32(0)
    return np.uint32(0x00FF00FF if word & 1 else 0xFF00FF00)


@helper
def planned(words, depth, forms, marks):
    """Write offset and mask of each word of a vector's tap; returns their number."""
    position, count = 0, 0
    while position < depth:
        offset = next_word(position, depth, forms, marks)
        word, is_complemented = place_of(offset, depth)
        end = reached(word, is_complemented, position, marks)
        words[2 * count] = offset
        words[2 * count + 1] = np.int32(covered_bytes(word, position, end))
        position, count = end, count + 1
    return count


@helper
def plan_vector(a, filter, columns, words, partners):
    """Plan the words of a tap for some columns: their number, and how many are in couples."""
    depth, stride = a.depth, a.taps * a.depth
    for k in range(depth):
        u8(a.marks)[k] = 0
    for n in range(columns):
        mark_row(filter + n * stride, a.marks, depth, a.flip)
    words, totals = i32(words), i32(partners)
    count = planned(words, depth, a.forms, a.marks)
    for number in range(count):
        offset, mask = words[2 * number], np.uint32(words[2 * number + 1])
        row, sums = filter + place_of(offset, depth)[0], a.sums + number * SUMS_BYTES
        totals[number] = write_sums(
            row, stride, columns - 1, a.flip, mask, negated_of(offset, depth), sums
        )
    return count, coupled(count, a.sums, partners, a.ordered, a.order, a.starts)


@helper
def write_word(plan, at, words, word):
    """Write a word of a vector to a plan."""
    plan[at], plan[at + 1] = words[2 * word], words[2 * word + 1]


@helper
def write_plan(plan, at, step, words, partners, count, together):
    """Write the words of a vector's tap from left to right, first `together` words in couples."""
    end, last = at + step * together, -1
    for word in range(count):
        if at < end and partners[word] > word:
            write_word(plan, at, words, word)
            write_word(plan, at + step, words, partners[word])
            at, last = at + 2 * step, word
    for word in range(count):
        if partners[word] < 0 or min(word, partners[word]) > last:
            write_word(plan, at, words, word)
            at += step


@kernel(PLAN_WORDS)
def plan_words(a, tile):
    """See ../lowering/shifted_words.py."""
    output, depth, counts = i32(a.output), a.depth, i32(a.counts)
    panels = (a.columns + a.width - 1) // a.width
    at, most, time = PLAN_HEAD + panels, 0, 0
    output[0] = 0
    for panel in range(panels):
        first, words = panel * a.width, 0
        vectors = (min(a.width, a.columns - first) + LANES - 1) // LANES
        output[PLAN_HEAD + panel] = at - PLAN_HEAD
        for tap in range(a.taps):
            together, count = depth, 0
            for number in range(vectors):
                column = first + number * LANES
                filter, columns = a.filter + (column * a.taps + tap) * depth, a.columns - column
                words_of, partners = a.words + 8 * number * depth, a.partners + 4 * number * depth
                own, couples = plan_vector(a, filter, min(LANES, columns), words_of, partners)
                together, count, counts[number] = min(together, couples), max(count, own), own
            output[at], output[at + 1] = together, count
            at += 2
            for number in range(vectors):
                own, words_of = counts[number], i32(a.words + 8 * number * depth)
                partners = i32(a.partners + 4 * number * depth)
                write_plan(output, at + 2 * number, 2 * vectors, words_of, partners, own, together)
                for word in range(own, count):
                    to = at + 2 * (word * vectors + number)
                    output[to] = output[to + 1] = 0
            at, words = at + 2 * vectors * count, words + count
            time += COUPLED * together + SINGLE * (count - together)
            # Other panels take about as long.
            share = a.limit * (first + a.width) // a.columns
            if time > min(a.limit, share + share // 8):
                return 0
        most = max(most, words)
    output[0], output[1], output[2] = at, time, most
    return 0


@kernel(LIST_WORDS)
def list_words(a, tile):
    """See ../lowering/shifted_words.py."""
    plan, taps, columns, width, lanes = i32(a.plan), a.taps, a.columns, a.width, a.lanes
    for panel in range((columns + width - 1) // width):
        vectors = (min(width, columns - panel * width) + lanes - 1) // lanes
        starts = i64(a.output + panel * a.list_bytes)
        offsets = i32(a.output + panel * a.list_bytes + 8 * (2 * taps + 1))
        at, words = plan[panel], 0
        for tap in range(taps):
            count = plan[at + 1]
            starts[2 * tap], starts[2 * tap + 1] = words, words + plan[at]
            for number in range(count * vectors):
                offsets[words * vectors + number] = plan[at + 2 + 2 * number]
            at, words = at + 2 + 2 * count * vectors, words + count
        starts[2 * taps] = words
    return 0


@helper
def sum_of_signed(word):
    """The sum of the four int8 of a word."""
    total = 0
    for j in range(4):
        total += ((np.int64(word) >> (8 * j) & 255) ^ 128) - 128
    return total


@kernel(PACK_WORDS)
def pack_words(a, tile):
    """filter: 8-bit [columns, taps, depth], bias: int32[columns]; output: panels, a tile each.

    What the zero point of the input adds to every sum is subtracted from the bias.
    """
    taps, depth, flip, lanes, plan = a.taps, a.depth, a.flip, a.lanes, i32(a.plan)
    first, stride = tile * a.width, taps * depth
    vectors = (min(a.width, a.columns - first) + lanes - 1) // lanes
    width = vectors * lanes
    head = a.output + tile * a.panel_bytes
    weights = head + QUANTIZED_HEAD_BYTES * width
    at, sums = plan[tile], i32(head)
    for n in range(width):
        sums[n] = 0
    for tap in range(taps):
        count = plan[at + 1]
        at += 2
        for number in range(count * vectors):
            offset, mask = plan[at], np.uint32(plan[at + 1])
            word, is_complemented = place_of(offset, depth)
            own, negated = number % vectors * lanes, negated_of(offset, depth)
            for n in range(own, own + lanes):
                packed = np.uint32(0)
                if first + n < a.columns:
                    row = a.filter + (first + n) * stride + tap * depth
                    packed = (u32(row + word)[0] ^ u32_of_bytes(flip)) & mask
                    if is_complemented:
                        packed = negated_bytes(packed, negated)
                        sums[n] += sum_of_signed(packed & negated)
                u32(weights)[0] = packed
                weights += 4
            at += 2
    bias = i32(a.bias)
    for n in range(width):
        exists, total = first + n < a.columns, 0
        if exists:
            row = a.filter + (first + n) * stride
            total = a.input_zero * (sum_of_bytes(row, stride, flip ^ 128) - 128 * stride)
            # Of a negated weight, the input is 255 less the byte that is multiplied.
            total += 255 * sums[n]
        sums[n] = bias[first + n] - total if exists else 0
    write_table(
        head, width, a.multipliers + 8 * first, a.columns - first, a.zero_point, a.steps, stride
    )
    return 0
