"""Examples of the slicing family."""

from typing import TYPE_CHECKING

import numpy as np

from tests.operations.plans.common import SIZES, Plan, Random, pick, sizes, small_sizes
from tests.single import i32

if TYPE_CHECKING:
    from tests.operations.cases import Use


def slice(use: "Use", rng: Random, batch: int) -> Plan:
    """Any rank; some sizes are 0 or -1."""
    dimensions = small_sizes(rng, batch, pick(rng, range(1, 6)))
    begin = [pick(rng, range(size + 1)) for size in dimensions]
    size = [pick(rng, range(-1, n - at + 1)) for n, at in zip(dimensions, begin, strict=True)]
    return {"input": dimensions, "begin": i32(begin), "size": i32(size)}


def strided_slice(use: "Use", rng: Random, batch: int) -> Plan:
    """Bounds inside and outside, strides of both signs; dropped axes have one element."""
    dimensions = sizes(rng, batch, pick(rng, range(1, 5)))
    rank = len(dimensions)
    begin, end = (np.array([pick(rng, range(-n - 2, n + 3)) for n in dimensions]) for _ in "be")
    strides = rng.choice([-3, -2, -1, 1, 2, 3], rank)
    masks = rng.integers(0, 1 << rank, 2)
    shrunk = [axis for axis in range(rank) if rng.random() < 0.3 and dimensions[axis]]
    for axis in shrunk:
        begin[axis] = pick(rng, range(dimensions[axis]))
        end[axis], strides[axis] = begin[axis] + 1, 1
        masks &= ~(1 << axis)
    return {
        "input": dimensions,
        "begin": i32(begin),
        "end": i32(end),
        "strides": i32(strides),
        "begin_mask": int(masks[0]),
        "end_mask": int(masks[1]),
        "shrink_axis_mask": sum(1 << axis for axis in shrunk),
    }


def split(use: "Use", rng: Random, batch: int) -> Plan:
    """One to three equal parts along any axis."""
    rank = pick(rng, range(1, 6))
    axis = pick(rng, range(1, rank)) if rank > 1 else 0
    dimensions = list(small_sizes(rng, batch, rank))
    count = len(use.outputs)
    dimensions[axis] = count * (pick(rng, SIZES) if axis else batch)
    return {
        "input": tuple(dimensions),
        "axis": axis - rank * pick(rng, (0, 1)),
        "num_splits": count,
    }


PLANS = {"SLICE": slice, "STRIDED_SLICE": strided_slice, "SPLIT": split}
