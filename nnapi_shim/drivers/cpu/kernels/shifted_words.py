"""Filters as words at any byte of the input row: see ../lowering/shifted_words.py.

A position is the number of weights of a row that words cover so far.

A plan has a number for each panel, where its part begins, and in that part for each tap the number
of words, and for each word, and each vector of columns, the offset and the position before it.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import f64, i32, i64, u8, u32
from nnapi_shim.drivers.cpu.codegen.requantization import write_column
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, HALFWORD, constant, vector
from nnapi_shim.drivers.cpu.kernels.byte_pairs import MOST, weight_at
from nnapi_shim.drivers.cpu.kernels.packing import sum_of_bytes, u32_of_bytes
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES
from nnapi_shim.drivers.cpu.lowering.shifted_words import (
    LIST_WORDS,
    PACK_WORDS,
    PLAN_HEAD,
    PLAN_WORDS,
)
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

BLOCK = 16
"""Weights of a row that are looked at together."""
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
def planned(plan, at, step, depth, forms, marks, room):
    """Write offset and position of each word of a vector's tap; their number, at most `room`."""
    position, count = 0, 0
    while position < depth and count < room:
        offset = next_word(position, depth, forms, marks)
        plan[at], plan[at + 1] = offset, position
        position = reached(offset % depth, offset // depth, position, marks)
        count, at = count + 1, at + step
    return count


@kernel(PLAN_WORDS)
def plan_words(a, tile):
    """See ../lowering/shifted_words.py."""
    output, depth, taps, lanes, flip = i32(a.output), a.depth, a.taps, a.lanes, a.flip
    stride, marks = taps * depth, a.exceeding
    panels = (a.columns + a.width - 1) // a.width
    at, total, most = PLAN_HEAD + panels, 0, 0
    output[0] = 0
    for panel in range(panels):
        first, words = panel * a.width, 0
        vectors = (min(a.width, a.columns - first) + lanes - 1) // lanes
        output[PLAN_HEAD + panel] = at - PLAN_HEAD
        for tap in range(taps):
            count = 0
            for number in range(vectors):
                column = first + number * lanes
                for k in range(depth):
                    u8(marks)[k] = 0
                for n in range(column, min(column + lanes, a.columns)):
                    mark_row(a.filter + n * stride + tap * depth, marks, depth, flip)
                to, step = at + 1 + 2 * number, 2 * vectors
                own = planned(output, to, step, depth, a.forms, marks, depth)
                # Words that cover nothing, so that all vectors have as many.
                for word in range(own, count):
                    output[to + word * step], output[to + word * step + 1] = 0, depth
                for word in range(count, own):
                    for other in range(number):
                        before = at + 1 + 2 * other + word * step
                        output[before], output[before + 1] = 0, depth
                count = max(count, own)
            output[at] = count
            at, words = at + 1 + 2 * vectors * count, words + count
            # Other panels have about as many words.
            share = a.limit * (first + a.width) // a.columns
            if total + words > min(a.limit, share + share // 8):
                return 0
        total, most = total + words, max(most, words)
    output[0], output[1], output[2] = at, total, most
    return 0


@kernel(LIST_WORDS)
def list_words(a, tile):
    """See ../lowering/shifted_words.py."""
    plan, taps, columns, width, lanes = i32(a.plan), a.taps, a.columns, a.width, a.lanes
    for panel in range((columns + width - 1) // width):
        vectors = (min(width, columns - panel * width) + lanes - 1) // lanes
        starts = i64(a.output + panel * a.list_bytes)
        offsets = i32(a.output + panel * a.list_bytes + 8 * (taps + 1))
        at, words = plan[panel], 0
        for tap in range(taps):
            starts[tap] = words
            count = plan[at]
            for number in range(count * vectors):
                offsets[words * vectors + number] = plan[at + 1 + 2 * number]
            at, words = at + 1 + 2 * count * vectors, words + count
        starts[taps] = words
    return 0


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
        count = plan[at]
        at += 1
        for number in range(count * vectors):
            offset, position = plan[at], plan[at + 1]
            end = depth
            if number + vectors < count * vectors:
                end = plan[at + 2 * vectors + 1]
            word = offset % depth
            own = number % vectors * lanes
            mask = covered_bytes(word, position, end)
            odd = np.uint32(0x00FF00FF if word & 1 else 0xFF00FF00)
            for n in range(own, own + lanes):
                packed = np.uint32(0)
                if first + n < a.columns:
                    row = a.filter + (first + n) * stride + tap * depth
                    packed = (u32(row + word)[0] ^ u32_of_bytes(flip)) & mask
                    if offset >= depth:
                        packed = negated_bytes(packed, odd)
                        sums[n] += sum_of_signed(packed & odd)
                u32(weights)[0] = packed
                weights += 4
            at += 2
    bias, multipliers = i32(a.bias), f64(a.multipliers)
    table = head + 4 * width
    for n in range(width):
        exists, total = first + n < a.columns, 0
        if exists:
            row = a.filter + (first + n) * stride
            total = a.input_zero * (sum_of_bytes(row, stride, flip ^ 128) - 128 * stride)
            # Of a negated weight, the input is 255 less the byte that is multiplied.
            total += 255 * sums[n]
        sums[n] = bias[first + n] - total if exists else 0
        multiplier = multipliers[first + n] if exists else 0.0
        write_column(table, width, n, multiplier, a.zero_point)
    return 0
