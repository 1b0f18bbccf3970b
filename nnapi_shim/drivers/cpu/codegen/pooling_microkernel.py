"""Pooling micro-kernel: reduces the taps of a window, vectors of channels in registers."""

import math
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

from numba import types
from numba.core import cgutils

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import TILING
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    FLOAT,
    HALFWORD,
    WORD,
    constant,
    long,
    vector,
    with_lanes_of,
)

TAPS = 3
"""Taps of a row that are loaded at once."""
VECTOR_BYTES, MANY = 4 * TILING.lanes, 4


class Pool(NamedTuple):
    """stored, total: types of the elements that are read, and of the accumulator.

    bound: numba's type of the bounds. values: the bounds and, for averages, the share of a tap and
    the rounding addend, in every lane.
    start(builder, values) -> total; widen(builder, stored) -> total; join(builder, total, total);
    finish(builder, total, values) -> stored.
    """

    stored: Any
    total: Any
    bound: Any
    start: Callable[..., Any]
    widen: Callable[..., Any]
    join: Callable[..., Any]
    finish: Callable[..., Any]


def windows(pool: Pool) -> Any:
    """A function of kernels (corner, steps, sizes, target, low, high, share, nudge): a pixel.

    steps: bytes from tap to tap, and from row to row; sizes: rows, taps of a row, channels. The
    last channels reach back: the target must not lie where something is read.
    """
    tuples = types.UniTuple(types.int64, 2), types.UniTuple(types.int64, 3)
    bounds, counts = [pool.bound] * 2, [types.float32] * 2

    @emits(types.void(types.int64, *tuples, types.int64, *bounds, *counts))
    def pixel(builder: Any, corner: Any, *arguments: Any) -> None:
        steps, sizes = (cgutils.unpack_tuple(builder, part) for part in arguments[:2])
        target, *values = arguments[2:]
        if pool.stored is BYTE and pool.total is BYTE:
            values = [builder.trunc(bound, BYTE) for bound in values[:2]]
        width = {BYTE: 1, HALFWORD: 2}.get(pool.total, 4)
        levels = dict.fromkeys((MANY * VECTOR_BYTES // width, VECTOR_BYTES // width, 8 // width, 1))
        builder.choose_lanes(
            sizes[2],
            [*levels],
            lambda lanes: _blocks(builder, pool, lanes, corner, steps, sizes, target, values),
        )

    return pixel


def _blocks(
    builder: Any, pool: Pool, lanes: int, corner: Any, steps: Any, sizes: Any, target: Any,
    values: Any,
) -> None:  # fmt: skip
    (pixel_step, row_step), (height, width, depth) = steps, sizes
    size = 1 if pool.stored is BYTE else 4
    kind = vector(pool.stored, lanes) if lanes > 1 else pool.stored
    spread = [builder.splat(value, lanes) if lanes > 1 else value for value in values]
    last = builder.sub(depth, long(lanes))
    count = builder.sdiv(builder.add(depth, long(lanes - 1)), long(lanes))
    threes = builder.sdiv(width, long(TAPS))
    rest = builder.srem(width, long(TAPS))
    three_step = builder.mul(pixel_step, long(TAPS))
    start = pool.start(builder, spread)
    total, address, line = (builder.variable(k) for k in (start.type, long(0).type, long(0).type))
    with builder.each(count, lanes) as at:
        at = builder.select(builder.icmp_signed("<", at, last), at, last)
        offset = builder.mul(at, long(size))
        builder.store(start, total)
        builder.store(builder.add(corner, offset), line)
        with builder.each(height):
            row = builder.load(line)
            builder.store(row, address)
            builder.store(builder.add(row, row_step), line)
            for times, step, taps in ((threes, three_step, TAPS), (rest, pixel_step, 1)):
                with builder.each(times):
                    here = builder.load(address)
                    offsets = [builder.mul(pixel_step, long(tap)) for tap in range(taps)]
                    loaded = [builder.load_from(builder.add(here, x), kind, 1) for x in offsets]
                    widened = [pool.widen(builder, value) for value in loaded]
                    joined = reduce(partial(pool.join, builder), widened)
                    builder.store(pool.join(builder, builder.load(total), joined), total)
                    builder.store(builder.add(here, step), address)
        result = pool.finish(builder, builder.load(total), spread)
        builder.store_to(result, builder.add(target, offset), 1)


def _as_it_is(builder: Any, value: Any) -> Any:
    return value


def _from_low(builder: Any, values: Any) -> Any:
    return values[0]


def _without_nan(builder: Any, x: Any) -> Any:
    is_nan = builder.fcmp_unordered("uno", x, x)
    return builder.select(is_nan, constant(x.type, -math.inf), x)


def _larger_float(builder: Any, most: Any, x: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, most), x, most)


def _float_within(builder: Any, total: Any, values: Any) -> Any:
    high = values[1]
    return builder.select(builder.fcmp_ordered("<", high, total), high, total)


LARGEST_FLOAT = Pool(
    FLOAT, FLOAT, types.float32, _from_low, _without_nan, _larger_float, _float_within
)
"""From `low` on, at most `high`; NaN is passed over."""


def _bytes(kind: str) -> Pool:
    def chosen(name: str) -> Any:
        return lambda builder, x, y: builder.call_same(f"llvm.{name}", x, y)

    def within(builder: Any, total: Any, values: Any) -> Any:
        return chosen(f"{kind}min")(builder, total, values[1])

    larger = chosen(f"{kind}max")
    return Pool(BYTE, BYTE, types.int64, _from_low, _as_it_is, larger, within)


LARGEST_BYTE = {"qu8": _bytes("u"), "qs8": _bytes("s")}
"""The same of bytes."""


def _from_0(builder: Any, values: Any) -> Any:
    return constant(values[2].type, 0.0)


def _sum(builder: Any, total: Any, x: Any) -> Any:
    return builder.fadd(total, x)


def _mean(builder: Any, total: Any, values: Any) -> Any:
    low, high, share, _ = values
    return builder.clamp(builder.fmul(total, share), low, high)


AVERAGE_FLOAT = Pool(FLOAT, FLOAT, types.float32, _from_0, _as_it_is, _sum, _mean)
"""The mean within the bounds; NaN stays NaN."""


def _average_byte(extension: str) -> Pool:
    def start(builder: Any, values: Any) -> Any:
        return constant(with_lanes_of(values[2].type, HALFWORD), 0)

    def widen(builder: Any, x: Any) -> Any:
        return getattr(builder, extension)(x, with_lanes_of(x.type, HALFWORD))

    def add(builder: Any, total: Any, x: Any) -> Any:
        return builder.add(total, x)

    def rounded(builder: Any, total: Any, values: Any) -> Any:
        low, high, share, nudge = values
        total = builder.sitofp(total, share.type)
        is_negative = builder.fcmp_ordered("<", total, constant(total.type, 0.0))
        nudge = builder.select(is_negative, builder.fneg(nudge), nudge)
        quotient = builder.fmul(builder.fadd(total, nudge), share)
        quotient = builder.clamp(quotient, low, high)
        word, byte = (with_lanes_of(total.type, element) for element in (WORD, BYTE))
        return builder.trunc(builder.fptosi(quotient, word), byte)

    return Pool(BYTE, HALFWORD, types.float32, start, widen, add, rounded)


AVERAGE_BYTE = {"qu8": _average_byte("zext"), "qs8": _average_byte("sext")}
"""(total + count // 2) / count toward zero, with - instead of + for a negative total, within the
bounds. Sums have 16 bits: enough for 128 taps.

Quotients are multiples of 1 / count. With an addend larger by a quarter, which does not change
the truncated quotient, the product with the rounded reciprocal truncates to the exact result.
"""
