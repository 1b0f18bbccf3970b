"""Maxima of rows of bytes, sixteen rows at a time."""

from collections.abc import Sequence
from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, constant, long, vector

ROWS = 16
"""Rows that are processed together, and bytes of the vectors of their maxima."""
WIDE = 64
"""Bytes of a row that are processed at a time: one to four vectors."""
AT_ONCE = 4
"""Rows that are read at a time."""


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.call_same("llvm.umax", a, b)


def _across(builder: Any, vectors: list[Any]) -> Any:
    """A vector of the maxima of ROWS vectors."""
    pairs = [at + of for at in range(ROWS // 2) for of in (0, ROWS)]
    while len(vectors) > 1:
        half = len(vectors) // 2
        vectors = [
            _larger(
                builder,
                builder.pick_of_two(a, b, pairs),
                builder.pick_of_two(a, b, [at + ROWS // 2 for at in pairs]),
            )
            for a, b in zip(vectors[:half], vectors[half:], strict=True)
        ]
    return vectors[0]


@emits(types.void(*[types.int64] * 6))
def largest_of_rows(
    builder: Any, x: Any, length: Any, groups: Any, flip: Any, is_truth: Any, y: Any
) -> None:
    """byte[groups][ROWS] at y: the maximum of byte[length] XOR flip, of as many rows, XOR flip; or,
    if is_truth is 1, whether that is not 0. Of rows shorter than ROWS, bytes behind them are read.
    """
    kind, wide = vector(BYTE, ROWS), vector(BYTE, WIDE)
    flip = builder.trunc(flip, BYTE)
    flips, wide_flips = builder.splat(flip, ROWS), builder.splat(flip, WIDE)
    is_short = builder.icmp_signed("<", length, long(ROWS))
    last = builder.select(is_short, long(0), builder.sub(length, long(ROWS)))
    used = builder.select(is_short, builder.trunc(length, BYTE), BYTE(ROWS))
    used = builder.sext(builder.lanes_before(used, ROWS), kind)
    truth = builder.splat(builder.icmp_signed("!=", is_truth, long(0)), ROWS)
    blocks = builder.sdiv(length, long(WIDE))
    done = builder.mul(blocks, long(WIDE))
    parts = builder.sdiv(builder.sub(length, done), long(ROWS))
    most, widest = ([builder.variable(type) for _ in range(AT_ONCE)] for type in (kind, wide))

    def flipped(address: Any, type: Any = kind) -> Any:
        value = builder.load_from(address, type, 1)
        return builder.xor(value, flips if type is kind else wide_flips)

    def join(slot: Any, value: Any) -> None:
        builder.store(_larger(builder, builder.load(slot), value), slot)

    def maxima(rows: Sequence[Any]) -> list[Any]:
        """Vectors of AT_ONCE rows, of whose elements the largest are the maxima."""
        for slot, row in zip(most, rows, strict=True):
            builder.store(builder.and_(flipped(builder.add(row, last)), used), slot)
        with builder.if_then(builder.icmp_signed(">", blocks, long(0))):
            for slot in widest:
                builder.store(constant(wide, 0), slot)
            with builder.each(blocks, WIDE) as offset:
                for slot, row in zip(widest, rows, strict=True):
                    join(slot, flipped(builder.add(row, offset), wide))
            for slot, wide_slot in zip(most, widest, strict=True):
                value = builder.load(wide_slot)
                while (count := value.type.count) > ROWS:
                    halves = (range(count // 2), range(count // 2, count))
                    value = _larger(builder, *(builder.pick(value, half) for half in halves))
                join(slot, value)
        with builder.each(parts, ROWS) as offset:
            for slot, row in zip(most, rows, strict=True):
                join(slot, flipped(builder.add(row, builder.add(done, offset))))
        return [builder.load(slot) for slot in most]

    with builder.each(groups) as group:
        first = builder.add(x, builder.mul(builder.mul(group, long(ROWS)), length))
        rows = [builder.add(first, builder.mul(length, long(number))) for number in range(ROWS)]
        vectors: list[Any] = []
        for number in range(0, ROWS, AT_ONCE):
            vectors += maxima(rows[number : number + AT_ONCE])
        result = _across(builder, vectors)
        result = builder.xor(result, flips)
        is_true = builder.icmp_unsigned("!=", result, constant(kind, 0))
        result = builder.select(truth, builder.zext(is_true, kind), result)
        builder.store_to(result, builder.add(y, builder.mul(group, long(ROWS))), 1)
