"""Filters as words at any byte of the input row: see ../lowering/shifted_words.py.

A weight of a vector of columns is covered once all weights up to it are in words. A position is
twice the number of covered weights, and one more if the next weight is in a word in part: as much
as fits beside the one before it.

A plan has a number for each panel, where its part begins, and in that part for each tap the number
of words, and for each word, and each vector of columns, the offset and the position before it.
"""

from typing import Any

import numpy as np
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import f64, i8, i32, i64, u8, u32
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


@helper
def fitting(first, second):
    """What of the second weight of a pair fits beside the first."""
    return max(min(second, MOST - max(first, 0)), -MOST - min(first, 0))


@emits(types.void(*[types.int64] * 4))
def mark_block(builder: Any, row: Any, whole: Any, rest: Any, flip: Any) -> None:
    """As mark_row, for BLOCK weights with one before and one behind them."""
    kind, byte = vector(HALFWORD, BLOCK), vector(BYTE, BLOCK)
    zero, most, least = (constant(kind, value) for value in (0, MOST, -MOST))
    flips = builder.splat(builder.trunc(flip, BYTE), BLOCK)

    def weights(offset: int) -> Any:
        stored = builder.load_from(builder.add(row, constant(row.type, offset)), byte, 1)
        return builder.sext(builder.xor(stored, flips), kind)

    def fitted(first: Any, second: Any) -> Any:
        is_positive = builder.icmp_signed(">", first, zero)
        high = builder.sub(most, builder.select(is_positive, first, zero))
        low = builder.sub(least, builder.select(is_positive, zero, first))
        return builder.clamp_integers(second, low, high)

    before, own, after = (weights(offset) for offset in (-1, 0, 1))
    left = builder.sub(own, fitted(before, own))
    for marks, first in ((whole, own), (rest, left)):
        exceeds = builder.icmp_signed("!=", fitted(first, after), after)
        mark = builder.or_(builder.load_from(marks, byte, 1), builder.zext(exceeds, byte))
        builder.store_to(mark, marks, 1)


@helper
def mark_row(row, whole, rest, depth, flip):
    """Mark the weights with whose successor the whole weight, or its rest, is no pair that fits."""
    weights, marks, rest_marks, k = u8(row), u8(whole), u8(rest), 0
    while k < depth - 1:
        if k > 0 and k + BLOCK < depth:
            mark_block(row + k, whole + k, rest + k, flip)
            k += BLOCK
            continue
        before = weight_at(weights, k - 1, depth, flip, 0) if k > 0 else 0
        own, after = (
            weight_at(weights, k, depth, flip, 0),
            weight_at(weights, k + 1, depth, flip, 0),
        )
        left = own - fitting(before, own)
        if fitting(own, after) != after:
            marks[k] = 1
        if fitting(left, after) != after:
            rest_marks[k] = 1
        k += 1


@helper
def reached(word, position, whole, rest):
    """The position behind a word at this offset."""
    for first in range(word, word + 4, 2):
        k, is_rest = position >> 1, position & 1
        if first + 1 == k:
            position = 2 * k + 2
        elif first == k:
            exceeds = u8(rest)[k] if is_rest else u8(whole)[k]
            if exceeds:
                return 2 * k + 3
            position = 2 * k + 4
    return position


@helper
def next_word(position, depth, whole, rest):
    """The offset of the word that reaches the furthest."""
    k = position >> 1
    own, before = min(k, depth - 4), max(min(k - 1, depth - 4), 0)
    own_reach = reached(own, position, whole, rest)
    return before if reached(before, position, whole, rest) > own_reach else own


@helper
def planned(plan, at, step, depth, whole, rest, room):
    """Write offset and position of each word of a vector's tap; their number, at most `room`."""
    position, count = 0, 0
    while position < 2 * depth and count < room:
        word = next_word(position, depth, whole, rest)
        plan[at], plan[at + 1] = word, position
        position = reached(word, position, whole, rest)
        count, at = count + 1, at + step
    return count


@kernel(PLAN_WORDS)
def plan_words(a, tile):
    """See ../lowering/shifted_words.py."""
    output, depth, taps, lanes, flip = i32(a.output), a.depth, a.taps, a.lanes, a.flip
    stride, whole, rest = taps * depth, a.exceeding, a.exceeding + depth
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
                for k in range(2 * depth):
                    u8(whole)[k] = 0
                for n in range(column, min(column + lanes, a.columns)):
                    mark_row(a.filter + n * stride + tap * depth, whole, rest, depth, flip)
                to, step = at + 1 + 2 * number, 2 * vectors
                own = planned(output, to, step, depth, whole, rest, depth)
                # Words that cover nothing, so that all vectors have as many.
                for word in range(own, count):
                    output[to + word * step], output[to + word * step + 1] = 0, 2 * depth
                for word in range(count, own):
                    for other in range(number):
                        before = at + 1 + 2 * other + word * step
                        output[before], output[before + 1] = 0, 2 * depth
                count = max(count, own)
            output[at] = count
            at, words = at + 1 + 2 * vectors * count, words + count
            # Other panels have about as many words.
            share = a.limit * (first + a.width) // a.columns
            if total + words > min(a.limit, share + share // 8):
                return 0
        total, most = total + words, max(most, words)
    output[0], output[1] = at, most
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
def whole_bytes(word, position, end):
    """The mask of those of a word's bytes that are whole weights between two positions."""
    mask = 0
    for j in range(4):
        if position <= 2 * (word + j) and 2 * (word + j) + 2 <= end:
            mask |= 255 << (8 * j)
    return np.uint32(mask)


@helper
def write_word(weights, row, word, position, end, mask, depth, flip):
    """The part of a row that a word has between two positions; mask: of its whole weights."""
    u32(weights)[0] = (u32(row + word)[0] ^ u32_of_bytes(flip)) & mask
    if position & 1:
        k = position >> 1
        own, fitted = fitted_weight(row, k, depth, flip)
        i8(weights)[k - word] = own - fitted
    if end & 1:
        k = end >> 1
        own, fitted = fitted_weight(row, k, depth, flip)
        i8(weights)[k - word] = fitted


@helper
def fitted_weight(row, k, depth, flip):
    """A weight behind the first, and what of it fits beside the one before it."""
    own = weight_at(u8(row), k, depth, flip, 0)
    return own, fitting(weight_at(u8(row), k - 1, depth, flip, 0), own)


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
    at = plan[tile]
    for tap in range(taps):
        count = plan[at]
        at += 1
        for number in range(count * vectors):
            offset, position = plan[at], plan[at + 1]
            end = 2 * depth
            if number + vectors < count * vectors:
                end = plan[at + 2 * vectors + 1]
            column = first + number % vectors * lanes
            mask = whole_bytes(offset, position, end)
            for n in range(lanes):
                target = weights + 4 * n
                if column + n < a.columns:
                    row = a.filter + (column + n) * stride + tap * depth
                    write_word(target, row, offset, position, end, mask, depth, flip)
                else:
                    u32(target)[0] = np.uint32(0)
            at, weights = at + 2, weights + 4 * lanes
    sums, bias, multipliers = i32(head), i32(a.bias), f64(a.multipliers)
    table = head + 4 * width
    for n in range(width):
        exists, total = first + n < a.columns, 0
        if exists:
            row = a.filter + (first + n) * stride
            total = sum_of_bytes(row, stride, flip ^ 128) - 128 * stride
        sums[n] = bias[first + n] - a.input_zero * total if exists else 0
        multiplier = multipliers[first + n] if exists else 0.0
        write_column(table, width, n, multiplier, a.zero_point)
    return 0
