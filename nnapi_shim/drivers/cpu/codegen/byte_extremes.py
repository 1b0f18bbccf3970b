"""Maxima of rows of bytes, sixteen rows at a time."""

from typing import Any

from numba import types

from nnapi_shim.drivers.cpu.codegen.intrinsic import emits
from nnapi_shim.drivers.cpu.codegen.isa import TILING
from nnapi_shim.drivers.cpu.codegen.vector import BYTE, constant, long, vector

ROWS = 16
"""Rows that are processed together, and bytes of the vectors of their maxima."""
WIDE = 4 * TILING.lanes


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
    blocks = builder.sdiv(length, long(WIDE)) if WIDE > ROWS else long(0)
    done = builder.mul(blocks, long(WIDE))
    parts = builder.sdiv(builder.sub(length, done), long(ROWS))
    scratch = [builder.variable(kind) for _ in range(ROWS)]
    most, widest = builder.variable(kind), builder.variable(wide)

    def at_most(address: Any) -> Any:
        return builder.xor(builder.load_from(address, kind, 1), flips)

    def row_of(row: Any) -> Any:
        value = builder.and_(at_most(builder.add(row, last)), used)
        builder.store(value, most)
        if WIDE > ROWS:
            with builder.if_then(builder.icmp_signed(">", blocks, long(0))):
                builder.store(constant(wide, 0), widest)
                with builder.each(blocks, WIDE) as offset:
                    value = builder.load_from(builder.add(row, offset), wide, 1)
                    value = builder.xor(value, wide_flips)
                    builder.store(_larger(builder, builder.load(widest), value), widest)
                value = builder.load(widest)
                while (count := value.type.count) > ROWS:
                    halves = (range(count // 2), range(count // 2, count))
                    value = _larger(builder, *(builder.pick(value, half) for half in halves))
                builder.store(_larger(builder, builder.load(most), value), most)
        with builder.each(parts, ROWS) as offset:
            value = at_most(builder.add(row, builder.add(done, offset)))
            builder.store(_larger(builder, builder.load(most), value), most)
        return builder.load(most)

    with builder.each(groups) as group:
        first = builder.add(x, builder.mul(builder.mul(group, long(ROWS)), length))
        for number, slot in enumerate(scratch):
            builder.store(row_of(builder.add(first, builder.mul(length, long(number)))), slot)
        result = _across(builder, [builder.load(slot) for slot in scratch])
        result = builder.xor(result, flips)
        is_true = builder.icmp_unsigned("!=", result, constant(kind, 0))
        result = builder.select(truth, builder.zext(is_true, kind), result)
        builder.store_to(result, builder.add(y, builder.mul(group, long(ROWS))), 1)
