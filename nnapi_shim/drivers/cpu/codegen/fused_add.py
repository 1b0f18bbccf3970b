"""An ADD after a matrix product as LLVM code: see lowering/fused_add.py.

Quantized sums are computed in float32; lanes in which rounding is ambiguous are recomputed in the
integers of `add_quantized` in binary.py. Where instructions round as the reference, all sums are
computed with them, and nothing is recomputed.
"""

from collections.abc import Callable, Sequence
from typing import Any

from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.requantization import (
    HAS_ROUNDING_PRODUCTS,
    minimum_confidence,
)
from nnapi_shim.drivers.cpu.codegen.vector import (
    BYTE,
    FLOAT,
    HALFWORD,
    LONG,
    WORD,
    Builder,
    constant,
    long,
    vector,
)
from nnapi_shim.drivers.cpu.lowering.fixed_point import SUM_SHIFT
from nnapi_shim.drivers.cpu.lowering.float_shortcut import WINDOW
from nnapi_shim.drivers.cpu.lowering.fused_add import ADDITION

PRE_SHIFT = 5
"""Of SUM_SHIFT, what is shifted in int16: numbers of 9 bits, and the bits of `coarse`, have room.
"""
OFFSETS = {name: 8 * at for at, name in enumerate(ADDITION.fields)}


def number_of_block(builder: Any, addition: Any, name: str, kind: Any) -> Any:
    """A number of the block, 32 bits of it."""
    return builder.load_from(builder.add(addition, long(OFFSETS[name])), kind, 4)


class AdditionConstants:
    """The block's constants in all lanes, for sums in float32 or in integers.

    low, high: bounds of the product's results, as int32. product_zero: their zero point, where the
    results are without it, else 0. zero_point: of the sums. is_fine: -1 where the product's results
    are input 1 of the SUM, else 0.
    """

    def __init__(
        self, builder: Any, addition: Any, low: Any, high: Any, product_zero: Any, lanes: int
    ) -> None:
        def splat_constant(name: str, kind: Any) -> Any:
            return builder.splat(number_of_block(builder, addition, name, kind), lanes)

        self.own = low, high
        self.limits = [number_of_block(builder, addition, name, FLOAT) for name in ("low", "high")]
        self.zero_point = number_of_block(builder, addition, "zero_point", WORD)
        if HAS_ROUNDING_PRODUCTS:
            self.multipliers = [
                [splat_constant(name + part, WORD) for part in ("mantissa", "exponent")]
                for name in ("fine_", "")
            ]
            is_coarse, coarse, other_zero = (
                number_of_block(builder, addition, name, WORD)
                for name in ("is_coarse", "coarse", "other_zero")
            )
            short = builder.ashr(coarse, WORD(PRE_SHIFT)), builder.shl(other_zero, WORD(PRE_SHIFT))
            self.coarse, self.other_zero, self.is_fine = (
                builder.splat(builder.trunc(number, HALFWORD), 2 * lanes)
                for number in (*short, builder.sub(is_coarse, WORD(1)))
            )
            ends = [builder.trunc(builder.sub(bound, product_zero), HALFWORD) for bound in self.own]
            self.bounds = [builder.splat(bound, 2 * lanes) for bound in ends]
            return
        self.own_units = splat_constant("own_units", FLOAT)
        self.other_units = splat_constant("other_units", FLOAT)
        self.middle, self.bits = splat_constant("middle", FLOAT), splat_constant("bits", WORD)
        ones = builder.shl(WORD(1), number_of_block(builder, addition, "bits", WORD))
        self.confidence_mask = builder.splat(builder.sub(ones, WORD(WINDOW)), lanes)


def added(
    builder: Any, own: Any, others: Any, constants: AdditionConstants, lanes: int
) -> tuple[list[Any], Any]:
    """The sums of int8, in one vector each, before their bounds: vectors of `lanes`; and their
    confidence: 0 in the lanes that need exact recomputation.
    """
    results: list[Any] = []
    confidence: Any = None
    wide = [builder.sext(values, vector(WORD, values.type.count)) for values in (own, others)]
    for first in range(0, own.type.count, lanes):
        parts = [builder.pick(values, range(first, first + lanes)) for values in wide]
        x, y = (builder.sitofp(value, vector(FLOAT, lanes)) for value in parts)
        units = ISA.multiply_add(builder, y, constants.other_units, constants.middle)
        units = ISA.multiply_add(builder, x, constants.own_units, units)
        fine = ISA.rounded(builder, units)
        of_lanes = builder.and_(fine, constants.confidence_mask)
        confidence = minimum_confidence(builder, confidence, of_lanes)
        results.append(builder.ashr(fine, constants.bits))
    return results, confidence


def rounded_sums(
    builder: Any, rows: Sequence[Any], others: Any, constants: AdditionConstants
) -> list[Any]:
    """Vectors of sums without their zero point, with the instructions of the roundings.

    The product's results are without their zero point, which is that of its input of the SUM. Two
    vectors at a time: the numbers, of 9 bits, are int16 until they are multiplied.
    """
    lanes, kind = rows[0].type.count, rows[0].type
    halves = range(lanes), range(lanes, 2 * lanes)
    (fine_mantissa, fine_right), (sum_mantissa, sum_right) = constants.multipliers
    results = []
    for at in range(0, len(rows), 2):
        pair = rows[at], rows[min(at + 1, len(rows) - 1)]
        numbers = [min(lane, others.type.count - 1) for lane in range(at * lanes, (at + 2) * lanes)]
        own = builder.clamp_integers(ISA.narrowed(builder, *pair), *constants.bounds)
        by = constant(own.type, PRE_SHIFT)
        own = builder.shl(own, by)
        other = builder.shl(builder.sext(builder.pick(others, numbers), own.type), by)
        other = builder.add(other, constants.other_zero)
        swapped = builder.and_(builder.xor(own, other), constants.is_fine)
        coarse, fine = builder.xor(own, swapped), builder.xor(other, swapped)
        for half in halves[: len(rows) - at]:
            term = builder.sext(builder.pick(fine, half), kind)
            term = builder.shl(term, constant(kind, SUM_SHIFT - PRE_SHIFT))
            term = ISA.requantized(builder, term, fine_mantissa, fine_right, is_shifted=True)
            exact = builder.mul(
                *(builder.sext(builder.pick(x, half), kind) for x in (coarse, constants.coarse))
            )
            total = builder.add(term, exact)
            results.append(
                ISA.requantized(builder, total, sum_mantissa, sum_right, is_shifted=True)
            )
    return results


def added_exactly(
    builder: Any,
    sums: Any,
    columns: Any,
    others: Callable[[Any, Any, Any], Any],
    args: Sequence[Any],
    lanes: int,
) -> None:
    """The same in place, exactly, for `columns` results of the product in memory.

    others(builder, address, count): a vector of `count` bytes at an address. args: the address of
    the bytes, the block, the product's bounds as int32, and the flip that makes the bytes int8.
    """
    name = f"nnk_added_{lanes}"
    fn, is_new = builder.outlined(name, [LONG] * 4 + [WORD] * 2 + [BYTE])
    if is_new:
        _write(fn, others, lanes)
    builder.call(fn, [sums, columns, *args])


def _write(fn: Any, others: Callable[[Any, Any, Any], Any], lanes: int) -> None:
    """The function (sums, columns, bytes, block, low, high, flip)."""
    builder = Builder(fn.append_basic_block("entry"))
    sums, columns, source, addition, low, high, flip = fn.args
    kind, wide = vector(WORD, lanes), vector(LONG, lanes)

    def splat_word(name: str) -> Any:
        return builder.splat(number_of_block(builder, addition, name, WORD), lanes)

    def rounding_shift(value: Any, nudge: Any, away: Any, down: Any) -> Any:
        """As `rounded_twice` in fixed_point.py."""
        negative = builder.ashr(value, constant(kind, 31))
        total = builder.add(builder.add(value, nudge), builder.and_(negative, away))
        return builder.ashr(total, down)

    count = builder.udiv(builder.add(columns, long(lanes - 1)), long(lanes))
    is_coarse = builder.icmp_signed(
        "!=", number_of_block(builder, addition, "is_coarse", WORD), WORD(0)
    )
    with builder.each(count, lanes) as first:
        address = builder.add(sums, builder.shl(first, long(2)))
        other_bytes = others(builder, builder.add(source, first), builder.sub(columns, first))
        bounds = (builder.splat(bound, lanes) for bound in (low, high))
        own = builder.clamp_integers(builder.load_from(address, kind, 4), *bounds)
        own = builder.add(own, splat_word("own_zero"))
        other = builder.sext(builder.xor(other_bytes, builder.splat(flip, lanes)), kind)
        other = builder.add(other, splat_word("other_zero"))
        coarse = builder.select(is_coarse, own, other)
        fine = builder.select(is_coarse, other, own)
        low_part = builder.mul(fine, splat_word("fine_low"))
        fine = builder.add(
            builder.mul(fine, splat_word("fine_high")),
            builder.ashr(low_part, constant(kind, 10)),
        )
        two = constant(kind, -2)
        fine = rounding_shift(fine, splat_word("fine_nudge"), two, splat_word("fine_down"))
        total = builder.add(builder.mul(coarse, splat_word("coarse")), fine)
        product = builder.mul(builder.sext(total, wide), builder.sext(splat_word("mantissa"), wide))
        product = builder.trunc(builder.ashr(product, constant(wide, 30)), kind)
        result = rounding_shift(product, *[splat_word(name) for name in ("nudge", "away", "down")])
        builder.store_to(builder.add(result, splat_word("zero_point")), address, 4)
    builder.ret_void()
