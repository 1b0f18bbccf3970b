"""Filters as terms whose products fit int16 in pairs: see ../lowering/byte_pairs.py."""

from functools import reduce
from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.coupled_words import MOST
from nnapi_shim.drivers.cpu.codegen.floored import write_table
from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import i8, i32, i64, u8
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, HALFWORD, constant, vector
from nnapi_shim.drivers.cpu.lowering.byte_pairs import COUNT_TERMS, PACK_TERMS
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel


@helper
def terms_of(first, second, positive, negative):
    """The next terms of a pair of weights; positive, negative: the sums of those that are added to
    them in 16 bits.
    """
    a = max(min(first, MOST - 1, MOST - positive), -MOST - negative)
    positive, negative = positive + max(a, 0), negative + min(a, 0)
    return a, max(min(second, MOST - 1, MOST - positive), -MOST - negative)


@helper
def weight_at(row, k, depth, flip, zero):
    """A weight less the zero point; 0 past the depth."""
    return ((row[k] ^ flip) ^ 128) - 128 - zero if k < depth else 0


@helper
def pair_at(row, k, depth, flip, zero):
    """The pair of weights from k on."""
    return weight_at(row, k, depth, flip, zero), weight_at(row, k + 1, depth, flip, zero)


@helper
def first_terms(row, k, depth, flip, zero, together):
    """The first terms of the pair of weights from k on, and what they leave of it. The pair of the
    word before is added to it if `together` is 2 and its word is the second of two.
    """
    positive = negative = 0
    if together == 2 and k & 4:
        a, b = pair_at(row, k - 4, depth, flip, zero)
        a, b = terms_of(a, b, 0, 0)
        positive, negative = max(a, 0) + max(b, 0), min(a, 0) + min(b, 0)
    x, y = pair_at(row, k, depth, flip, zero)
    p, q = terms_of(x, y, positive, negative)
    return p, q, x - p, y - q


@helper
def further_of_pair(first, second):
    """The number of terms of what first terms leave of a pair."""
    count = 0
    while first != 0 or second != 0:
        a, b = terms_of(first, second, 0, 0)
        first, second = first - a, second - b
        count += 1
    return count


@helper
def further_of_word(filter, first, columns, stride, offset, k, depth, flip, zero, together):
    """The number of further terms of the word from element k on of some columns' tap."""
    most = 0
    for n in range(first, columns):
        row = u8(filter + n * stride + offset)
        for pair in range(k, k + 4, 2):
            _, _, x, y = first_terms(row, pair, depth, flip, zero, together)
            most = max(most, further_of_pair(x, y))
    return most


BLOCK = 16
"""Words that are looked at together."""


@emits(types.void(*[types.int64] * 4))
def mark_exceeding(builder: Any, words: Any, marks: Any, flip: Any, zero: Any) -> None:
    """Set the bytes at `marks` of those of BLOCK words that have further terms to 1."""
    write_marks(builder, words, marks, flip, zero, 1)


@emits(types.void(*[types.int64] * 4))
def mark_exceeding_together(builder: Any, words: Any, marks: Any, flip: Any, zero: Any) -> None:
    """The same where two words are added in 16 bits."""
    write_marks(builder, words, marks, flip, zero, 2)


def write_marks(builder: Any, words: Any, marks: Any, flip: Any, zero: Any, together: int) -> None:
    """Write mark_exceeding for so many words that are added in 16 bits."""
    kind, byte = vector(HALFWORD, BLOCK), vector(BYTE, BLOCK)

    def exceeds(value: Any, most: int) -> Any:
        """Whether values are below -MOST or above `most`."""
        from_least = builder.add(value, constant(kind, MOST))
        return builder.icmp_unsigned(">", from_least, constant(kind, MOST + most))

    stored = builder.load_from(words, vector(BYTE, 4 * BLOCK), 1)
    stored = builder.xor(stored, builder.splat(builder.trunc(flip, BYTE), 4 * BLOCK))
    zeros = builder.splat(builder.trunc(zero, HALFWORD), BLOCK)
    a, b, c, d = (
        builder.sub(builder.sext(builder.pick(stored, range(at, 4 * BLOCK, 4)), kind), zeros)
        for at in range(4)
    )
    exceeding = [exceeds(weight, MOST - 1) for weight in (a, b, c, d)]
    exceeding += [exceeds(builder.add(*pair), MOST) for pair in ((a, b), (c, d))]
    if together == 2:
        none = constant(kind, 0)
        for sign, pair in ((sign, pair) for sign in "><" for pair in ((a, b), (c, d))):
            parts = [
                builder.select(builder.icmp_signed(sign, weight, none), weight, none)
                for weight in pair
            ]
            own = builder.add(*parts)
            before = [BLOCK if at % 2 == 0 else at - 1 for at in range(BLOCK)]
            total = builder.add(own, builder.pick_of_two(own, none, before))
            exceeding.append(exceeds(total, MOST))
    mark = builder.zext(reduce(builder.or_, exceeding), byte)
    builder.store_to(builder.or_(builder.load_from(marks, byte, 1), mark), marks, 1)


@helper
def mark_words(marks, filter, columns, stride, depth, flip, zero, together):
    """Mark the words that may have further terms in one of the columns."""
    words = stride // 4 if depth % 4 == 0 else 0
    whole = words - words % BLOCK
    for word in range(whole):
        u8(marks)[word] = 0
    for n in range(columns):
        for word in range(0, whole, BLOCK):
            if together == 2:
                mark_exceeding_together(filter + n * stride + 4 * word, marks + word, flip, zero)
            else:
                mark_exceeding(filter + n * stride + 4 * word, marks + word, flip, zero)
    for word in range(whole, stride // depth * ((depth + 3) // 4)):
        u8(marks)[word] = 1


@kernel(COUNT_TERMS)
def count_terms(a, tile):
    """output: int64[2], the number of further terms of all panels, and of the panel with most."""
    output, depth, flip, zero = i64(a.output), a.depth, a.flip, a.filter_zero
    stride, words, total, most = a.taps * depth, (depth + 3) // 4, 0, 0
    together = a.together
    marks = u8(a.exceeding)
    for first in range(0, a.columns, a.width):
        count, end = 0, min(first + a.width, a.columns)
        filter = a.filter + first * stride
        mark_words(a.exceeding, filter, end - first, stride, depth, flip, zero, together)
        enough = min(a.limit, 2 * a.limit * end // a.columns)
        for at in range(a.taps * words):
            if marks[at] != 0 and total + count <= enough:
                offset, k = at // words * depth, 4 * (at % words)
                count += further_of_word(
                    a.filter, first, end, stride, offset, k, depth, flip, zero, together
                )
        total, most = total + count, max(most, count)
        # Other panels have about as many.
        if total > enough:
            total = a.limit + 1
            break
    output[0], output[1] = total, most
    return 0


@helper
def write_term(
    output, number, filter, first, end, width, stride, offset, k, depth, flip, zero, together
):
    """Write the further term with this number, from 0 on, of the word from element k on."""
    i64(output)[0] = k
    term = i8(output + 8)
    for n in range(width):
        row = u8(filter + (first + n) * stride + offset)
        for pair in range(0, 4, 2):
            x = y = 0
            if first + n < end:
                _, _, x, y = first_terms(row, k + pair, depth, flip, zero, together)
            for _ in range(number):
                p, q = terms_of(x, y, 0, 0)
                x, y = x - p, y - q
            at = 4 * n + pair
            term[at], term[at + 1] = terms_of(x, y, 0, 0)


@kernel(PACK_TERMS)
def pack_terms(a, tile):
    """filter: 8-bit [columns, taps, depth], bias: int32[columns]; output: panels, a tile each.

    The filter's zero point is subtracted. What that of the input adds to every sum is subtracted
    from the bias.
    """
    taps, depth, flip, zero, filter = a.taps, a.depth, a.flip, a.filter_zero, a.filter
    stride, words, room, together = taps * depth, (depth + 3) // 4, a.terms, a.together
    first = tile * a.width
    end = min(first + a.width, a.columns)
    width = min(a.width, (end - first + a.lanes - 1) // a.lanes * a.lanes)
    head = a.output + tile * a.panel_bytes
    panel_address = head + QUANTIZED_HEAD_BYTES * width
    starts_address = panel_address + 4 * width * words * taps
    sums, panel, starts = i32(head), i8(panel_address), i64(starts_address)
    terms_address, size = starts_address + 8 * (taps + 1), 8 + 4 * width
    for n in range(width):
        sums[n] = 0
    term = 0
    for tap in range(taps):
        starts[tap] = term
        for word in range(words):
            k, at, rest, offset = 4 * word, 4 * width * (tap * words + word), 0, tap * depth
            for n in range(width):
                row = u8(filter + (first + n) * stride + offset)
                for pair in range(0, 4, 2):
                    x = y = positive = negative = 0
                    to = at + 4 * n + pair
                    if first + n < end:
                        x, y = pair_at(row, k + pair, depth, flip, zero)
                    if together == 2 and word & 1:  # as first_terms has it
                        p, q = panel[to - 4 * width], panel[to - 4 * width + 1]
                        positive, negative = max(p, 0) + max(q, 0), min(p, 0) + min(q, 0)
                    p, q = terms_of(x, y, positive, negative)
                    sums[n] += x + y
                    panel[to], panel[to + 1] = p, q
                    rest |= (x - p) | (y - q)
            if rest != 0:
                more = further_of_word(
                    filter, first, end, stride, offset, k, depth, flip, zero, together
                )
                # A program may have changed its weights after they were counted.
                more = min(more, room - term)
                for j in range(more):
                    to = terms_address + (term + j) * size
                    write_term(
                        to, j, filter, first, end, width, stride, offset, k, depth, flip, zero,
                        together,
                    )  # fmt: skip
                term += more
    starts[taps] = term
    bias = i32(a.bias)
    for n in range(width):
        exists = first + n < end
        sums[n] = bias[first + n] - a.input_zero * sums[n] if exists else 0
    write_table(head, width, a.multipliers + 8 * first, end - first, a.zero_point, a.steps, stride)
    return 0
