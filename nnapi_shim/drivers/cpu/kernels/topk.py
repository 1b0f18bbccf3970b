"""TOPK_V2: rows are scanned once for candidates, of which the best k are kept.

A candidate is an int64: the element as an int32 that is ordered like it, over its index. Bytes are
compared as unsigned numbers, with `flip` xor-ed to them before.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late
from nnapi_shim.drivers.cpu.codegen.elements import WRITE
from nnapi_shim.drivers.cpu.codegen.numeric import add32, copy_bytes, from_ordered, i64, ordered
from nnapi_shim.drivers.cpu.kernels.selection import (
    HIGHEST,
    byte_element,
    integer_element,
    read_f32,
    read_u8,
    write_i32,
)
from nnapi_shim.drivers.cpu.lowering.selection import CHUNK, TOPK
from nnapi_shim.drivers.cpu.toolchain.kernel import helper, kernel

ZERO = np.float32(0)
LOWEST = np.int32(-(2**31))

FEW = 64
"""Candidates up to which inserting them one by one is the faster way to sort."""

FEW_WANTED = 16
"""Values of k up to which the best k so far are kept in order."""


@helper
def float_key(x, i, flip):
    """An int32 that is ordered like an element; NaN is the largest, 0 has no sign."""
    value = read_f32(x, i) + ZERO
    return ordered(value) if value == value else HIGHEST


@helper
def float_reaches(x, first, end, flip, smallest):
    """Whether any of some elements has at least the key `smallest`."""
    bound, below = from_ordered(smallest), np.int32(0)  # NaN for both ends of int32
    for i in range(first, end):
        below = add32(below, np.int32(read_f32(x, i) < bound))
    return below < end - first


def integer_key(element):
    """As float_key and float_reaches."""

    @helper
    def reaches(x, first, end, flip, smallest):
        most = element(x, first, flip)
        for i in range(first, end):
            most = max(most, element(x, i, flip))
        return np.int32(most) >= smallest

    return helper(lambda x, i, flip: np.int32(element(x, i, flip))), reaches


@helper
def insert(candidates, pair, at):
    """Insert a candidate among the first `at`, which are sorted; those behind it move up."""
    pairs = i64(candidates)
    while at > 0 and pairs[at - 1] > pair:
        pairs[at] = pairs[at - 1]
        at -= 1
    pairs[at] = pair


@helper
def replace_first(candidates, pair, count):
    """Insert a candidate among `count` sorted ones, of which the smallest falls out."""
    pairs, at = i64(candidates), 1
    while at < count and pairs[at] < pair:
        pairs[at - 1] = pairs[at]
        at += 1
    pairs[at - 1] = pair


@helper
def digit(pair, shift):
    """8 bits of the element; the highest with the sign bit reversed, so that they are ordered."""
    return ((pair >> shift) & 255) ^ (128 if shift == 56 else 0)


@helper
def sort_by_digits(candidates, other, counts, count, deadline):
    """Sort many candidates by their elements, the smallest first, equal ones in the order that
    they have. `other` has room for as many; digits that all have in common are passed over. False
    if it was late.
    """
    tally = i64(counts)
    for i in range(4 * 256):
        tally[i] = 0
    pairs = i64(candidates)
    for i in range(count):
        if i % LONG == LONG - 1 and late(deadline):
            return False
        pair = pairs[i]
        for digit_index in range(4):
            tally[digit_index * 256 + digit(pair, 32 + 8 * digit_index)] += 1
    source, target = candidates, other
    for digit_index in range(4):
        pairs, sorted_pairs = i64(source), i64(target)
        shift, base = 32 + 8 * digit_index, digit_index * 256
        if tally[base + digit(pairs[0], shift)] < count:
            at = 0
            for value in range(256):
                size = tally[base + value]
                tally[base + value] = at
                at += size
            for i in range(count):
                if i % LONG == LONG - 1 and late(deadline):
                    return False
                pair = pairs[i]
                to = base + digit(pair, shift)
                sorted_pairs[tally[to]] = pair
                tally[to] += 1
            source, target = target, source
    if source != candidates:
        copy_bytes(candidates, source, count * 8)
    return True


def topk(variant, size, key, reaches, read, write):
    """input: [rows, length], values: [rows, k], indices: int32[rows, k]; a tile is tile_rows rows.
    read, write: of an element as it is.

    An element becomes a candidate if it is at least as large as the smallest of the best k that
    are known: later ones come first among equals. A large k is not kept in order: candidates are
    collected, and sorted when there is no more room; there is little room at first.
    """

    def body(a, tile, deadline):
        length, k, flip, capacity = a.length, a.k, np.int32(a.flip), a.capacity
        candidates = a.scratch + tile * a.scratch_bytes
        other = candidates + capacity * 8
        counts = other + capacity * 8
        pairs = i64(candidates)
        first = tile * a.tile_rows
        for row in range(first, min(first + a.tile_rows, a.rows)):
            x = a.input + row * length * size
            count, smallest, limit = 0, LOWEST, max(2 * k, CHUNK)
            for start in range(0, length, CHUNK):
                if start % LONG == LONG - CHUNK and late(deadline):
                    return DEADLINE
                end = min(start + CHUNK, length)
                if reaches(x, start, end, flip, smallest):
                    for i in range(start, end):
                        value = key(x, i, flip)
                        pair = (np.int64(value) << 32) | i
                        if k > FEW_WANTED:
                            pairs[count] = pair
                            count += value >= smallest
                        elif count < k:
                            insert(candidates, pair, count)
                            count += 1
                        elif pair > pairs[0]:
                            replace_first(candidates, pair, k)
                if k <= FEW_WANTED:
                    smallest = np.int32(pairs[0] >> 32) if count == k else LOWEST
                    continue
                is_last = end == length
                if count <= min(limit, capacity - CHUNK) and not is_last:
                    continue
                if count <= FEW:
                    for i in range(1, count):
                        insert(candidates, pairs[i], i)
                elif not sort_by_digits(candidates, other, counts, count, deadline):
                    return DEADLINE
                if not is_last:
                    for i in range(k):
                        pairs[i] = pairs[count - k + i]
                    count, smallest, limit = k, np.int32(pairs[0] >> 32), 2 * limit
            values, indices = a.values + row * k * size, a.indices + row * k * 4
            for i in range(k):
                if i % LONG == LONG - 1 and late(deadline):
                    return DEADLINE
                index = pairs[count - 1 - i] & 0xFFFFFFFF
                write(values, i, read(x, index))
                write_i32(indices, i, index)
        return 0

    body.__name__ = f"topk_{variant}"
    return kernel(TOPK)(body)


topk("f32", 4, float_key, float_reaches, read_f32, WRITE["f32"])
word_key, word_reaches = integer_key(integer_element)
byte_key, byte_reaches = integer_key(byte_element)
topk("i32", 4, word_key, word_reaches, read_f32, WRITE["f32"])
topk("b8", 1, byte_key, byte_reaches, read_u8, WRITE["b8"])
