"""Sums of rows of float32, lane by lane, in float64: rows of few vectors, whose sums are registers.

Rows of other widths go through memory (reduction_loops.py).
"""

from collections.abc import Callable
from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import TILING
from nnapi_shim.drivers.cpu.codegen.vector import DOUBLE, FLOAT, LONG, WORD, long, vector

LANES = TILING.lanes
CHAINS = 4
"""Rows that are added at once, each to a sum of its own."""

_signature = types.void(*[types.int64] * 6, types.float64)


@emits(_signature)
def sum_rows(
    builder: Any, x: Any, pitch: Any, count: Any, columns: Any, _: Any, y: Any, divisor: Any
) -> None:
    """y: float32[columns], whole vectors: the sums of `count` rows of x, pitch bytes apart, divided
    by the divisor.
    """
    _sums(builder, count, columns, y, divisor, lambda at: builder.add(x, builder.mul(at, pitch)))


@emits(_signature)
def sum_indexed_rows(
    builder: Any, x: Any, pitch: Any, count: Any, columns: Any, indices: Any, y: Any, divisor: Any
) -> None:
    """As sum_rows, of the rows that int32[count] name."""

    def row(at: Any) -> Any:
        place = builder.add(indices, builder.mul(at, long(4)))
        index = builder.sext(builder.load_from(place, WORD, 4), LONG)
        return builder.add(x, builder.mul(index, pitch))

    _sums(builder, count, columns, y, divisor, row)


def _sums(
    builder: Any, count: Any, columns: Any, y: Any, divisor: Any, row: Callable[[Any], Any]
) -> None:
    numbers, wide = vector(FLOAT, LANES), vector(DOUBLE, LANES)
    zero = ir.Constant(wide, None)
    divisors = builder.splat(builder.fptrunc(divisor, FLOAT), LANES)
    whole = builder.sdiv(count, long(CHAINS))
    done = builder.mul(whole, long(CHAINS))
    slots = [builder.variable(wide) for _ in range(CHAINS)]

    def add(at: Any, offset: Any, slot: Any) -> None:
        x = builder.load_from(builder.add(row(at), offset), numbers, 4)
        builder.store(builder.fadd(builder.load(slot), builder.fpext(x, wide)), slot)

    with builder.each(builder.sdiv(columns, long(LANES)), 4 * LANES) as offset:
        for slot in slots:
            builder.store(zero, slot)
        with builder.each(whole, CHAINS) as first:
            for chain, slot in enumerate(slots):
                add(builder.add(first, long(chain)), offset, slot)
        with builder.each(builder.sub(count, done)) as left:
            add(builder.add(done, left), offset, slots[0])
        total = reduce(builder.fadd, [builder.load(slot) for slot in slots])
        quotient = builder.fdiv(builder.fptrunc(total, numbers), divisors)
        builder.store_to(quotient, builder.add(y, offset), 4)
