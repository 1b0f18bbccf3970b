"""Filters as terms whose products fit int16 in pairs: see ../lowering/byte_pairs.py."""

from functools import reduce
from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.numeric import f64, i8, i32, i64, u8
from nnapi_shim.drivers.cpu.codegen.requantization import write_column
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, HALFWORD, constant, vector
from nnapi_shim.drivers.cpu.lowering.byte_pairs import COUNT_TERMS, PACK_TERMS
from nnapi_shim.drivers.cpu.lowering.packing import QUANTIZED_HEAD_BYTES
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

MOST = 128
"""The largest magnitude of the sum of a pair's weights of one sign: 255 * 128 < 2^15."""


@helper
def term_of_first(first, second):
    """The next term of a pair's first weight."""
    return min(max(first, -MOST), MOST - 1)


@helper
def term_of_second(first, second):
    """The next term of a pair's second weight, within the range that the first term leaves."""
    term, first = min(max(second, -MOST), MOST - 1), min(max(first, -MOST), MOST - 1)
    if first > 0:
        return min(term, MOST - first)
    return max(term, -MOST - first) if first < 0 else term


@helper
def weight_at(row, k, depth, flip, zero):
    """A weight less the zero point; 0 past the depth."""
    return ((row[k] ^ flip) ^ 128) - 128 - zero if k < depth else 0


@helper
def terms_of(row, k, depth, flip, zero):
    """The number of terms of the pair of weights from k on."""
    first, second = weight_at(row, k, depth, flip, zero), weight_at(row, k + 1, depth, flip, zero)
    count = 0
    while first != 0 or second != 0:
        a, b = term_of_first(first, second), term_of_second(first, second)
        first, second = first - a, second - b
        count += 1
    return count


@helper
def further_of_word(filter, first, columns, stride, offset, k, depth, flip, zero):
    """The number of further terms of the word from element k on of some columns' tap."""
    most = 1
    for n in range(first, columns):
        row = u8(filter + n * stride + offset)
        most = max(most, terms_of(row, k, depth, flip, zero))
        most = max(most, terms_of(row, k + 2, depth, flip, zero))
    return most - 1


BLOCK = 16
"""Words that are looked at together."""


@emits(types.void(*[types.int64] * 4))
def mark_exceeding(builder: Any, words: Any, marks: Any, flip: Any, zero: Any) -> None:
    """Set the bytes at `marks` of those of BLOCK words that have further terms to 1."""
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
    mark = builder.zext(reduce(builder.or_, exceeding), byte)
    builder.store_to(builder.or_(builder.load_from(marks, byte, 1), mark), marks, 1)


@helper
def mark_words(marks, filter, columns, stride, depth, flip, zero):
    """Mark the words that may have further terms in one of the columns."""
    words = stride // 4 if depth % 4 == 0 else 0
    whole = words - words % BLOCK
    for word in range(whole):
        u8(marks)[word] = 0
    for n in range(columns):
        for word in range(0, whole, BLOCK):
            mark_exceeding(filter + n * stride + 4 * word, marks + word, flip, zero)
    for word in range(whole, stride // depth * ((depth + 3) // 4)):
        u8(marks)[word] = 1


@kernel(COUNT_TERMS)
def count_terms(a, tile):
    """output: int64[2], the number of further terms of all panels, and of the panel with most."""
    output, depth, flip, zero = i64(a.output), a.depth, a.flip, a.filter_zero
    stride, words, total, most = a.taps * depth, (depth + 3) // 4, 0, 0
    marks = u8(a.exceeding)
    for first in range(0, a.columns, a.width):
        count, end = 0, min(first + a.width, a.columns)
        filter = a.filter + first * stride
        mark_words(a.exceeding, filter, end - first, stride, depth, flip, zero)
        for at in range(a.taps * words):
            if marks[at] != 0:
                offset, k = at // words * depth, 4 * (at % words)
                count += further_of_word(a.filter, first, end, stride, offset, k, depth, flip, zero)
        total, most = total + count, max(most, count)
        # Other panels have about as many.
        if total > min(a.limit, 2 * a.limit * end // a.columns):
            total = a.limit + 1
            break
    output[0], output[1] = total, most
    return 0


@helper
def write_term(output, number, filter, first, end, width, stride, offset, k, depth, flip, zero):
    """Write the term with this number, from 0 on, of the word from element k on of a tap."""
    i64(output)[0] = k
    term = i8(output + 8)
    for n in range(width):
        row = u8(filter + (first + n) * stride + offset)
        for pair in range(0, 4, 2):
            x = y = 0
            if first + n < end:
                x = weight_at(row, k + pair, depth, flip, zero)
                y = weight_at(row, k + pair + 1, depth, flip, zero)
            for _ in range(number):
                p, q = term_of_first(x, y), term_of_second(x, y)
                x, y = x - p, y - q
            at = 4 * n + pair
            term[at], term[at + 1] = term_of_first(x, y), term_of_second(x, y)


@kernel(PACK_TERMS)
def pack_terms(a, tile):
    """filter: 8-bit [columns, taps, depth], bias: int32[columns]; output: panels, a tile each.

    The filter's zero point is subtracted. What that of the input adds to every sum is subtracted
    from the bias.
    """
    taps, depth, flip, zero, filter = a.taps, a.depth, a.flip, a.filter_zero, a.filter
    stride, words, room = taps * depth, (depth + 3) // 4, a.terms
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
                    x = y = 0
                    if first + n < end:
                        x = weight_at(row, k + pair, depth, flip, zero)
                        y = weight_at(row, k + pair + 1, depth, flip, zero)
                    sums[n] += x + y
                    p, q = term_of_first(x, y), term_of_second(x, y)
                    panel[at + 4 * n + pair], panel[at + 4 * n + pair + 1] = p, q
                    rest |= (x - p) | (y - q)
            if rest != 0:
                more = further_of_word(filter, first, end, stride, offset, k, depth, flip, zero)
                # A program may have changed its weights after they were counted.
                more = min(more, room - term)
                for j in range(more):
                    to = terms_address + (term + j) * size
                    write_term(
                        to, j + 1, filter, first, end, width, stride, offset, k, depth, flip, zero
                    )
                term += more
    starts[taps] = term
    bias, multipliers = i32(a.bias), f64(a.multipliers)
    table = head + 4 * width
    for n in range(width):
        exists = first + n < end
        sums[n] = bias[first + n] - a.input_zero * sums[n] if exists else 0
        multiplier = multipliers[first + n] if exists else 0.0
        write_column(table, width, n, multiplier, a.zero_point)
    return 0
