"""TOPK_V2: rows are scanned once for candidates, of which the best k are kept.

A candidate is an item (codegen/sorting.py) whose key is ordered like its element. Bytes are
compared as unsigned numbers, with `flip` xor-ed to them before.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import DEADLINE, LONG, late
from nnapi_shim.drivers.cpu.codegen.elements import WRITE, part
from nnapi_shim.drivers.cpu.codegen.numeric import add32, from_ordered, i64, ordered
from nnapi_shim.drivers.cpu.codegen.sorting import index_of, insert, item_with, key_of, sort
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

TOO_LATE = -1
"""In place of a number of candidates: the deadline has passed."""

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
def replace_first(candidates, item, count):
    """Insert a candidate among `count` sorted ones, of which the smallest is dropped."""
    items, at = i64(candidates), 1
    while at < count and items[at] < item:
        items[at - 1] = items[at]
        at += 1
    items[at - 1] = item


def topk(variant, size, key, reaches, read, write):
    """input: [rows, length], values: [rows, k], indices: int32[rows, k]; a tile is tile_rows rows.
    read, write: of an element as it is.

    An element becomes a candidate if it is at least as large as the smallest of the best k that
    are known: of equal ones, the last come first.
    """

    @helper
    def best_few(x, length, k, flip, candidates, deadline):
        """Keep the best k elements sorted; returns how many there are, or TOO_LATE."""
        items, count, smallest = i64(candidates), 0, LOWEST
        for start in range(0, length, CHUNK):
            if start % LONG == LONG - CHUNK and late(deadline):
                return TOO_LATE
            end = min(start + CHUNK, length)
            if reaches(x, start, end, flip, smallest):
                for i in range(start, end):
                    item = item_with(key(x, i, flip), i)
                    if count < k:
                        insert(candidates, item, count)
                        count += 1
                    elif item > items[0]:
                        replace_first(candidates, item, k)
            smallest = key_of(items[0]) if count == k else LOWEST
        return count

    @helper
    def best_many(x, length, k, flip, candidates, capacity, deadline):
        """Collect candidates, and sort them when there are `limit`, which grows, or no room is
        left, to keep the best k; returns how many there are at the end, sorted, or TOO_LATE.
        """
        spare = candidates + capacity * 8
        histograms = spare + capacity * 8
        items, count, smallest, limit = i64(candidates), 0, LOWEST, max(2 * k, CHUNK)
        for start in range(0, length, CHUNK):
            if start % LONG == LONG - CHUNK and late(deadline):
                return TOO_LATE
            end = min(start + CHUNK, length)
            if reaches(x, start, end, flip, smallest):
                for i in range(start, end):
                    value = key(x, i, flip)
                    items[count] = item_with(value, i)
                    count += value >= smallest
            if end < length and count <= min(limit, capacity - CHUNK):
                continue
            if not sort(candidates, spare, histograms, count, deadline):
                return TOO_LATE
            if end < length:
                for i in range(k):
                    items[i] = items[count - k + i]
                count, smallest, limit = k, key_of(items[0]), 2 * limit
        return count

    @kernel(TOPK, f"topk_{variant}")
    def body(a, tile, deadline):
        length, k, flip = a.length, a.k, np.int32(a.flip)
        candidates = a.scratch + tile * a.scratch_bytes
        items = i64(candidates)
        for row in range(*part(a.rows, a.tile_rows, tile)):
            x = a.input + row * length * size
            if k <= FEW_WANTED:
                count = best_few(x, length, k, flip, candidates, deadline)
            else:
                count = best_many(x, length, k, flip, candidates, a.capacity, deadline)
            if count == TOO_LATE:
                return DEADLINE
            values, indices = a.values + row * k * size, a.indices + row * k * 4
            for i in range(k):
                if i % LONG == LONG - 1 and late(deadline):
                    return DEADLINE
                index = index_of(items[count - 1 - i])
                write(values, i, read(x, index))
                write_i32(indices, i, index)
        return 0


topk("f32", 4, float_key, float_reaches, read_f32, WRITE["f32"])
word_key, word_reaches = integer_key(integer_element)
byte_key, byte_reaches = integer_key(byte_element)
topk("i32", 4, word_key, word_reaches, read_f32, WRITE["f32"])
topk("b8", 1, byte_key, byte_reaches, read_u8, WRITE["b8"])
