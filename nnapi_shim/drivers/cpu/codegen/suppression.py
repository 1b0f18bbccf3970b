"""Non-maximum suppression: sorts by score and removes boxes that overlap a better one.

A candidate is an item: its score, made comparable, above its index, so that items in ascending
order are candidates in the order of falling scores, equal ones in that of their indexes.

Scratch memory (lowering/suppression.py): items, spare, a histogram, the columns x1, y1, x2, y2 and
area of the boxes. The columns are written through plain pointers, and read as inputs by the loops
over them.
"""

import numpy as np

from nnapi_shim.drivers.cpu.codegen.boxes import iou
from nnapi_shim.drivers.cpu.codegen.clock import late_after
from nnapi_shim.drivers.cpu.codegen.elements import READ
from nnapi_shim.drivers.cpu.codegen.numeric import f32, i64, ordered
from nnapi_shim.drivers.cpu.codegen.sorting import item_with
from nnapi_shim.drivers.cpu.lowering.suppression import HISTOGRAM_BYTES
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

ZERO = np.float32(0)
LOWEST = np.float32(-np.inf)
NONE, ONE = np.int32(0), np.int32(1)

TOO_LATE = -1
"""In place of a number of boxes: the deadline has passed."""

CHUNK = 64
"""Boxes that one is compared with before it is known whether it stays."""

read = READ["f32"]


@helper
def comparable(score):
    """The score, with NaN below all numbers and -0 equal to 0."""
    return (score if score == score else LOWEST) + ZERO


@helper
def item_of(score, index):
    """A candidate as an int64."""
    return item_with(~ordered(comparable(score)), index)


@helper
def parts_of(scratch, capacity):
    """Addresses in the scratch memory: items, spare, histogram, first column."""
    spare = scratch + 8 * capacity
    histogram = spare + 8 * capacity
    return scratch, spare, histogram, histogram + HISTOGRAM_BYTES


@helper
def set_box(columns, capacity, i, x1, y1, x2, y2):
    """Write box i into the columns."""
    x = f32(columns)
    x[i] = x1
    x[capacity + i] = y1
    x[2 * capacity + i] = x2
    x[3 * capacity + i] = y2
    x[4 * capacity + i] = (x2 - x1) * (y2 - y1)


@helper
def box_at(columns, capacity, i):
    """(x1, y1, x2, y2, area) of box i in the columns."""
    x = f32(columns)
    return x[i], x[capacity + i], x[2 * capacity + i], x[3 * capacity + i], x[4 * capacity + i]


@helper
def overlaps(columns, capacity, count, x1, y1, x2, y2, area, threshold):
    """Whether a box has an IoU of at least `threshold` with one of the first `count`."""
    left, top = columns, columns + 4 * capacity
    right, bottom, areas = columns + 8 * capacity, columns + 12 * capacity, columns + 16 * capacity
    for first in range(0, count, CHUNK):
        hit = NONE
        for j in range(first, min(first + CHUNK, count)):
            share = iou(
                x1, y1, x2, y2, area,
                read(left, j), read(top, j), read(right, j), read(bottom, j), read(areas, j),
            )  # fmt: skip
            hit |= ONE if share >= threshold else NONE
        if hit != NONE:
            return True
    return False


@helper
def suppress(items, columns, capacity, count, threshold, limit, deadline):
    """Hard suppression of sorted items whose boxes are in the columns.

    Those that stay, and their boxes, move to the front; at most `limit`, unless it is negative.
    Returns how many, or TOO_LATE.
    """
    listed = i64(items)
    kept, work = 0, 0
    for i in range(count):
        if kept == limit:
            break
        is_late, work = late_after(work + kept + 16, deadline)
        if is_late:
            return TOO_LATE
        x1, y1, x2, y2, area = box_at(columns, capacity, i)
        if not overlaps(columns, capacity, kept, x1, y1, x2, y2, area, threshold):
            listed[kept] = listed[i]
            set_box(columns, capacity, kept, x1, y1, x2, y2)
            kept += 1
    return kept
