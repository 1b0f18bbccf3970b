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

OFFSETS = {name: 8 * at for at, name in enumerate(ADDITION.fields)}


def number_of_block(builder: Any, addition: Any, name: str, kind: Any) -> Any:
    """A number of the block, 32 bits of it."""
    return builder.load_from(builder.add(addition, long(OFFSETS[name])), kind, 4)


class AdditionConstants:
    """The block's constants in all lanes, for sums in float32 or in integers.

    low, high: bounds of the product's results, as int32. product_zero: their zero point, where the
    results are without it, else 0. zero_point: of the sums.
    """

    def __init__(
        self, builder: Any, addition: Any, low: Any, high: Any, product_zero: Any, lanes: int
    ) -> None:
        def splat_constant(name: str, kind: Any) -> Any:
            return builder.splat(number_of_block(builder, addition, name, kind), lanes)

        self.own = low, high
        self.limits = [number_of_block(builder, addition, name, FLOAT) for name in ("low", "high")]
        self.zero_point = number_of_block(builder, addition, "zero_point", WORD)
        ends = (builder.sub(bound, product_zero) for bound in self.own)
        self.bounds = [builder.splat(bound, lanes) for bound in ends]
        if HAS_ROUNDING_PRODUCTS:
            own_zero = number_of_block(builder, addition, "own_zero", WORD)
            self.zeros = [
                builder.splat(builder.add(own_zero, product_zero), lanes),
                splat_constant("other_zero", WORD),
            ]
            self.multipliers = [
                [splat_constant(name + part, WORD) for part in ("mantissa", "exponent")]
                for name in ("own_", "other_", "")
            ]
            return
        self.own_units = splat_constant("own_units", FLOAT)
        self.other_units = splat_constant("other_units", FLOAT)
        self.middle, self.bits = splat_constant("middle", FLOAT), splat_constant("bits", WORD)
        ones = builder.shl(WORD(1), number_of_block(builder, addition, "bits", WORD))
        self.confidence_mask = builder.splat(builder.sub(ones, WORD(WINDOW)), lanes)


def added(
    builder: Any, rows: Sequence[Any], others: Sequence[Any], constants: AdditionConstants
) -> tuple[list[Any], Any]:
    """The sums of vectors of the product's results, before their bounds, and of the other numbers;
    and their confidence: 0 in the lanes that need exact recomputation; None: none does.
    """
    kind = rows[0].type
    if HAS_ROUNDING_PRODUCTS:
        return [_sum(builder, *both, constants) for both in zip(rows, others, strict=True)], None
    results: list[Any] = []
    confidence: Any = None
    for steps, other in zip(rows, others, strict=True):
        own = builder.clamp_integers(steps, *constants.bounds)
        x, y = (builder.sitofp(value, vector(FLOAT, kind.count)) for value in (own, other))
        units = ISA.multiply_add(builder, y, constants.other_units, constants.middle)
        units = ISA.multiply_add(builder, x, constants.own_units, units)
        fine = ISA.rounded(builder, units)
        of_lanes = builder.and_(fine, constants.confidence_mask)
        confidence = minimum_confidence(builder, confidence, of_lanes)
        results.append(builder.ashr(fine, constants.bits))
    return results, confidence


def _sum(builder: Any, steps: Any, other: Any, constants: AdditionConstants) -> Any:
    """One vector of sums without their zero point, with the instructions of the roundings."""
    own = builder.clamp_integers(steps, *constants.bounds)
    shift = constant(own.type, SUM_SHIFT)
    *inputs, of_sum = constants.multipliers
    terms = []
    for value, zero, multiplier in zip((own, other), constants.zeros, inputs, strict=True):
        shifted = builder.shl(builder.add(value, zero), shift)
        terms.append(ISA.requantized(builder, shifted, *multiplier))
    return ISA.requantized(builder, builder.add(*terms), *of_sum)


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
