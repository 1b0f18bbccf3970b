"""An ADD behind a matrix product as LLVM code: see lowering/fused_add.py.

Quantized sums come from float32 where that tells them, which is said of each lane, and else from
the integers of `add_quantized` in binary.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.requantization import less_sure
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    FLOAT,
    LONG,
    WORD,
    clamp_integers,
    function,
    load,
    long,
    splat,
    store,
    vector,
)
from nnapi_shim.drivers.cpu.lowering.float_shortcut import WINDOW
from nnapi_shim.drivers.cpu.lowering.fused_add import ADDITION

OFFSETS = {name: 8 * at for at, name in enumerate(ADDITION.fields)}


def constant(builder: Any, addition: Any, name: str, kind: Any) -> Any:
    """A number of the block, 32 bits of it."""
    return load(builder, builder.add(addition, long(OFFSETS[name])), kind, 4)


class Addition:
    """The block's constants in all lanes, for sums that are told by float32.

    low, high: bounds of the product's results, as int32.
    """

    def __init__(self, builder: Any, addition: Any, low: Any, high: Any, lanes: int) -> None:
        def lanes_of(name: str, kind: Any) -> Any:
            return splat(builder, constant(builder, addition, name, kind), lanes)

        self.own = low, high
        self.limits = [constant(builder, addition, name, FLOAT) for name in ("low", "high")]
        self.bounds = [splat(builder, bound, lanes) for bound in self.own]
        self.own_units, self.other_units = (lanes_of(f"{x}_units", FLOAT) for x in ("own", "other"))
        self.middle, self.bits = lanes_of("middle", FLOAT), lanes_of("bits", WORD)
        ones = builder.shl(WORD(1), constant(builder, addition, "bits", WORD))
        self.near = splat(builder, builder.sub(ones, WORD(WINDOW)), lanes)


def added(
    builder: Any, rows: Sequence[Any], others: Sequence[Any], constants: Addition
) -> tuple[list[Any], Any]:
    """The sums of vectors of the product's results, before their bounds, and of int8; and a vector
    that is 0 in the lanes in which one of them may be the one below.
    """
    kind = rows[0].type
    results: list[Any] = []
    sure: Any = None
    for steps, other in zip(rows, others, strict=True):
        own = clamp_integers(builder, steps, *constants.bounds)
        x, y = (
            builder.sitofp(value, vector(FLOAT, kind.count))
            for value in (own, builder.sext(other, kind))
        )
        units = ISA.multiply_add(builder, y, constants.other_units, constants.middle)
        units = ISA.multiply_add(builder, x, constants.own_units, units)
        fine = ISA.rounded(builder, units)
        sure = less_sure(builder, sure, builder.and_(fine, constants.near))
        results.append(builder.ashr(fine, constants.bits))
    return results, sure


def added_exactly(
    builder: Any,
    sums: Any,
    columns: Any,
    others: Callable[[Any, Any, Any], Any],
    given: Sequence[Any],
    lanes: int,
) -> None:
    """The same in place, exactly, for `columns` results of the product in memory.

    others(builder, address, count): a vector of bytes, as many of them as are wanted. given: the
    address of the bytes, the block, the product's bounds as int32, and what makes the bytes int8.
    """
    name = f"nnk_added_{lanes}"
    fn, is_new = function(builder.module, name, [LONG] * 4 + [WORD] * 2 + [BYTE])
    if is_new:
        _write(fn, others, lanes)
    builder.call(fn, [sums, columns, *given])


def _write(fn: Any, others: Callable[[Any, Any, Any], Any], lanes: int) -> None:
    """The function (sums, columns, bytes, block, low, high, flip)."""
    builder = ir.IRBuilder(fn.append_basic_block("entry"))
    sums, columns, source, addition, low, high, flip = fn.args
    kind, wide = vector(WORD, lanes), vector(LONG, lanes)

    def number(name: str) -> Any:
        return splat(builder, constant(builder, addition, name, WORD), lanes)

    def halved(value: Any, nudge: Any, away: Any, down: Any) -> Any:
        """As `rounded_twice` in fixed_point.py."""
        negative = builder.ashr(value, ir.Constant(kind, [31] * lanes))
        total = builder.add(builder.add(value, nudge), builder.and_(negative, away))
        return builder.ashr(total, down)

    count = builder.udiv(builder.add(columns, long(lanes - 1)), long(lanes))
    is_coarse = builder.icmp_signed("!=", constant(builder, addition, "is_coarse", WORD), WORD(0))
    with cgutils.for_range(builder, count) as loop:
        first = builder.mul(loop.index, long(lanes))
        place = builder.add(sums, builder.shl(first, long(2)))
        rest = others(builder, builder.add(source, first), builder.sub(columns, first))
        own = clamp_integers(
            builder, load(builder, place, kind, 4), *(splat(builder, x, lanes) for x in (low, high))
        )
        own = builder.add(own, number("own_zero"))
        other = builder.sext(builder.xor(rest, splat(builder, flip, lanes)), kind)
        other = builder.add(other, number("other_zero"))
        coarse = builder.select(is_coarse, own, other)
        fine = builder.select(is_coarse, other, own)
        low_part = builder.mul(fine, number("fine_low"))
        fine = builder.add(
            builder.mul(fine, number("fine_high")),
            builder.ashr(low_part, ir.Constant(kind, [10] * lanes)),
        )
        two = ir.Constant(kind, [-2] * lanes)
        fine = halved(fine, number("fine_nudge"), two, number("fine_down"))
        total = builder.add(builder.mul(coarse, number("coarse")), fine)
        product = builder.mul(builder.sext(total, wide), builder.sext(number("mantissa"), wide))
        product = builder.trunc(builder.ashr(product, ir.Constant(wide, [30] * lanes)), kind)
        result = halved(product, *[number(name) for name in ("nudge", "away", "down")])
        store(builder, builder.add(result, number("zero_point")), place, 4)
    builder.ret_void()
