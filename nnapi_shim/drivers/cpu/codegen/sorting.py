"""Sorting of items: int64 with a key, an int32, in the upper half and an index in the lower one."""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.clock import LONG, late
from nnapi_shim.drivers.cpu.codegen.numeric import copy_bytes, i64
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

DIGITS, VALUES = 4, 256
"""Digits of a key, of 8 bits each, and the values of a digit."""


FEW = 64
"""Items up to which inserting them one by one is faster than the radix sort."""


@helper
def item_with(key, index):
    """An item."""
    return (np.int64(key) << 32) | index


@helper
def key_of(item):
    """Its key."""
    return np.int32(item >> 32)


@helper
def index_of(item):
    """Its index."""
    return item & 0xFFFFFFFF


@helper
def insert(items, item, count):
    """Insert an item into int64[count] at the address `items`, which are sorted."""
    x, at = i64(items), count
    while at > 0 and x[at - 1] > item:
        x[at] = x[at - 1]
        at -= 1
    x[at] = item


@helper
def digit_of(item, digit):
    """A digit of the key; the highest has its sign bit reversed, so that it is ordered."""
    return ((item >> (32 + 8 * digit)) & 255) ^ (128 if digit == DIGITS - 1 else 0)


@helper
def sort(items, spare, histograms, count, deadline):
    """Sort int64[count] at the address `items`, which are in the order of their indexes, by their
    keys, the smallest first. False after the deadline.

    spare: memory of the same size; histograms: int64[DIGITS, VALUES]. Radix sort: the items are
    distributed by one digit after the other, the lowest first. A digit that all share is skipped.
    """
    counts, x = i64(histograms), i64(items)
    if count <= FEW:
        for i in range(1, count):
            insert(items, x[i], i)
        return True
    for i in range(DIGITS * VALUES):
        counts[i] = 0
    for i in range(count):
        if i % LONG == LONG - 1 and late(deadline):
            return False
        item = x[i]
        for digit in range(DIGITS):
            counts[digit * VALUES + digit_of(item, digit)] += 1
    source, target = items, spare
    for digit in range(DIGITS):
        x, y, base = i64(source), i64(target), digit * VALUES
        if counts[base + digit_of(x[0], digit)] == count:
            continue
        start = 0
        for at in range(base, base + VALUES):
            start, counts[at] = start + counts[at], start
        for i in range(count):
            if i % LONG == LONG - 1 and late(deadline):
                return False
            item = x[i]
            at = base + digit_of(item, digit)
            y[counts[at]] = item
            counts[at] += 1
        source, target = target, source
    if source != items:
        copy_bytes(items, source, count * 8)
    return True
