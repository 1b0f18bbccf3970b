"""Requantization of int32 sums to bytes of the output, with both roundings of the reference.

SRDHM and RDPOT (semantics.md 5.3) are floors of sums, which nest, so that both together are

    floor(sum * m + 1/2 + 2^-(n + 1))    for a multiplier m = M * 2^(-n - 31), n > 0

with a minus in front of the last power for negative sums, and without it where m is 1/2 or more.
This and the zero point are computed in float32, in steps of 2^-BITS, plus half a step. Within 8
bits the error is less than 3/4 of a step, so that only a result of 0 or 1 steps above an integer
may belong below it: such results are recomputed exactly in 64-bit integers. So are infinities and
results outside of int32, which round to -2^31 or 0. Of random sums, one in 2^13 needs it.

A table has for each of `width` columns, one array after the other: float32 scale, the rounding
addends for sums from 0 on and for negative ones, in steps; int32 M and exponent (semantics.md 5.2).

Where the instruction set has both roundings (`has_rounding_products`), all sums are requantized
with them. The first arrays of a table are then int32: M, the exponent if it is above 0, and if it
is below, else 0; where M is 0, -1.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from llvmlite import ir

from nnapi_shim.drivers.cpu.codegen.isa import ISA
from nnapi_shim.drivers.cpu.codegen.numeric import bits64_of, f32, i32
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
from nnapi_shim.drivers.cpu.toolchain.kernel import helper

BITS = 14
HAS_ROUNDING_PRODUCTS = ISA.has_rounding_products
"""Whether instructions round as the reference. Then `to_bytes` adds the zero point: to int16, twice
as many at once.
"""
WINDOW = 2
"""Steps above an integer that need exact recomputation: a power of 2."""
LIMIT = 512
"""Sums of multipliers of 1 or more have results outside of 8 bits from here on."""
MAX_EXPONENT = 21
"""Largest exponent. LIMIT still fits an int32 if shifted by it, and every sum but 0 is beyond."""


@helper
def decomposed(multiplier):
    """(M, e) with multiplier = M * 2^(e - 31) and 2^30 <= M < 2^31, of a float64 that is not
    negative; (0, 0) on underflow and for NaN. e is at most MOST_LEFT.
    """
    bits = bits64_of(multiplier)
    exponent = (bits >> 52) - 1022
    mantissa = ((bits & ((1 << 52) - 1) | (1 << 52)) + (1 << 21)) >> 22
    if mantissa == 1 << 31:
        mantissa, exponent = 1 << 30, exponent + 1
    if exponent < -31 or multiplier != multiplier:
        mantissa, exponent = 0, 0
    return mantissa, min(exponent, MAX_EXPONENT)


@helper
def write_column(table, width, column, multiplier, zero_point):
    """The entries of one column; zero_point: of the output, as of an int8."""
    mantissa, exponent = decomposed(multiplier)
    floats, words = f32(table), i32(table)
    words[3 * width + column] = mantissa
    words[4 * width + column] = exponent
    if HAS_ROUNDING_PRODUCTS:
        words[column] = mantissa
        words[width + column] = max(exponent, 0)
        # 0 may be shifted as well: then all columns are, also those that only fill a vector.
        words[2 * width + column] = min(exponent, 0) if mantissa else -1
        return
    floats[column] = mantissa * 2.0 ** (exponent - 31 + BITS)
    middle = (zero_point + 0.5) * 2.0**BITS + 0.5
    away = 2.0 ** (BITS - 1 + exponent) if exponent < 0 else 0.0
    floats[width + column] = middle + away
    floats[2 * width + column] = middle - away


# As LLVM code


class ColumnConstants:
    """A table's entries for `count` vectors of neighbouring columns from the column `first` on."""

    def __init__(
        self, builder: Any, table: Any, width: Any, first: Any, count: int, lanes: int
    ) -> None:
        def entries(number: int) -> Any:
            skipped = builder.add(builder.mul(width, long(number)), first)
            return builder.add(table, builder.shl(skipped, long(2)))

        arrays = [entries(number) for number in range(3)]
        self.exact = [entries(number) for number in (3, 4)]
        kind = vector(WORD if HAS_ROUNDING_PRODUCTS else FLOAT, lanes)
        self.constants = [
            [builder.load_from(builder.add(at, long(4 * lanes * n)), kind, 4) for at in arrays]
            for n in range(count)
        ]


class ByteOutput(NamedTuple):
    """How steps of the output become bytes: plus zero_point, unless it is None or added already,
    within [low, high], xor flip.

    All in the range of an int8, low and high as floats; flip is 0x80 where the output is uint8.
    """

    zero_point: Any
    low: Any
    high: Any
    flip: Any


def high_products(
    builder: Any, rows: Sequence[Sequence[Any]], columns: ColumnConstants
) -> Sequence[Sequence[Any]]:
    """Rows of int32 sums, where HAS_ROUNDING_PRODUCTS multiplied by the M of their columns. One
    check tells whether all multipliers are below 1/2, so that all products are shifted right.
    """
    if not HAS_ROUNDING_PRODUCTS:
        return rows
    kind = rows[0][0].type
    largest = reduce(partial(builder.call_same, "llvm.smax"), [x for *_, x in columns.constants])
    largest = builder.call_by_name(f"llvm.vector.reduce.smax.v{kind.count}i32", WORD, largest)
    slots = [[builder.variable(kind) for _ in sums] for sums in rows]
    is_shifted = builder.icmp_signed("<", largest, WORD(0))
    with builder.if_else(is_shifted, likely=True) as (then, otherwise):
        for branch, always_right in ((then, True), (otherwise, False)):
            with branch:
                for sums, row in zip(rows, slots, strict=True):
                    for total, slot, own in zip(sums, row, columns.constants, strict=True):
                        mantissa, left, right = own
                        if always_right:
                            product = ISA.high_product(builder, total, mantissa)
                        else:
                            total = ISA.shifted_left(builder, total, left)
                            product = ISA.high_product(builder, total, mantissa, right)
                        builder.store(product, slot)
    return [[builder.load(slot) for slot in row] for row in slots]


def requantize_row(
    builder: Any, sums: Sequence[Any], columns: ColumnConstants
) -> tuple[list[Any], Any]:
    """Requantize vectors of `high_products`: (steps of the output, the lane-wise minimum of the
    confidence). A confidence of 0 means that the lane needs exact recomputation; None: no
    lane does. The zero point is added already, unless HAS_ROUNDING_PRODUCTS.
    """
    kind = sums[0].type
    if HAS_ROUNDING_PRODUCTS:
        pairs = zip(sums, columns.constants, strict=True)
        return [ISA.shifted_right(builder, product, right) for product, (*_, right) in pairs], None
    zero, bits, confidence_mask = (
        constant(kind, value) for value in (0, BITS, (1 << BITS) - WINDOW)
    )
    results: list[Any] = []
    confidence: Any = None
    for total, (scale, positive, negative) in zip(sums, columns.constants, strict=True):
        is_negative = builder.icmp_signed("<", total, zero)
        addend = builder.select(is_negative, negative, positive)
        value = builder.sitofp(total, addend.type)
        fine = ISA.rounded(builder, ISA.multiply_add(builder, value, scale, addend))
        confidence = minimum_confidence(builder, confidence, builder.and_(fine, confidence_mask))
        results.append(builder.ashr(fine, bits))
    return results, confidence


def minimum_confidence(builder: Any, confidence: Any, other: Any) -> Any:
    """The lane-wise minimum; each may be None.

    Minimums take less time than comparisons, whose results of one bit per lane need mask registers.
    """
    if confidence is None or other is None:
        return other if confidence is None else confidence
    return builder.select(builder.icmp_unsigned("<", confidence, other), confidence, other)


def needs_exact(builder: Any, confidence: Any) -> Any:
    """Whether the confidence of any lane is 0."""
    lanes = builder.icmp_signed("==", confidence, ir.Constant(confidence.type, None))
    bits = builder.bitcast(lanes, ir.IntType(confidence.type.count))
    return builder.icmp_unsigned("!=", bits, bits.type(0))


def requantize_exact(
    builder: Any, sums: Any, count: int, columns: ColumnConstants, last: ByteOutput, kind: Any
) -> None:
    """Requantize `count` vectors of sums in memory in 64-bit integers, in place."""
    function = _exact_function(builder, kind.count)
    builder.call(function, [sums, long(count), last.zero_point, *columns.exact])


def requantize(
    builder: Any, rows: Sequence[Sequence[Any]], columns: ColumnConstants, last: ByteOutput
) -> list[Any]:
    """Rows of `high_products` as steps of the output, one vector after the other, as
    requantize_row has them; all of them are recomputed exactly if one lane needs it.
    """
    kind = rows[0][0].type
    results: list[Any] = []
    confidence: Any = None
    for sums in rows:
        steps, row_confidence = requantize_row(builder, sums, columns)
        results += [builder.variable(kind, value) for value in steps]
        confidence = minimum_confidence(builder, confidence, row_confidence)
    if confidence is None:
        return [builder.load(slot) for slot in results]
    with builder.if_then(needs_exact(builder, confidence), likely=False):
        size, count = 4 * kind.count, len(rows[0])
        scratch = builder.ptrtoint(builder.variable(ir.ArrayType(kind, len(results))), LONG)
        addresses = [builder.add(scratch, long(at * size)) for at in range(len(results))]
        for number, sums in enumerate(rows):
            row = addresses[number * count : (number + 1) * count]
            for address, total in zip(row, sums, strict=True):
                builder.store_to(total, address, 4)
            requantize_exact(builder, row[0], count, columns, last, kind)
        for address, slot in zip(addresses, results, strict=True):
            builder.store(builder.load_from(address, kind, 4), slot)
    return [builder.load(slot) for slot in results]


def _exact_function(caller: Any, lanes: int) -> Any:
    """The function (sums, count, zero_point, mantissas, exponents) for `count` vectors, in place.

    Addend of sum * M, and number of bits that are shifted out then: 2^30 and 31 for SRDHM,
    with n more and 2^(30 + n) - 2^31 * (sum < 0) for RDPOT. An exponent above 0 takes off bits.
    """
    fn, is_new = caller.outlined(f"nnk_requantize_{lanes}", [LONG] * 5)
    if not is_new:
        return fn
    builder = Builder(fn.append_basic_block("entry"))
    sums, count, zero_point, *arrays = fn.args
    kind = vector(WORD, lanes)
    limit, least, one = (constant(kind, x) for x in (LIMIT, -LIMIT, 1))
    with builder.each(count, 4 * lanes) as offset:
        address = builder.add(sums, offset)
        total = builder.load_from(address, kind, 4)
        mantissa, exponent = (builder.load_from(builder.add(at, offset), kind, 4) for at in arrays)
        shifts_left = builder.icmp_signed(">=", exponent, one)
        clamped = builder.clamp_integers(total, least, limit)
        total = builder.select(shifts_left, clamped, total)
        parts = [_sign_extend_lanes(builder, x) for x in (total, mantissa, exponent)]
        halves = [_multiply_exact(builder, *part) for part in zip(*parts, strict=True)]
        order = [at + part for at in range(0, lanes, 2) for part in (0, lanes)]
        even, odd = (builder.bitcast(half, kind) for half in halves)
        merged = builder.pick_of_two(even, odd, order)
        zero = builder.splat(builder.trunc(zero_point, WORD), lanes)
        builder.store_to(builder.add(merged, zero), address, 4)
    builder.ret_void()
    return fn


def _sign_extend_lanes(builder: Any, words: Any) -> list[Any]:
    """Even and odd lanes in 64 bits each."""
    pairs = builder.bitcast(words, vector(LONG, words.type.count // 2))
    by_word = constant(pairs.type, 32)
    return [builder.ashr(builder.shl(pairs, by_word), by_word), builder.ashr(pairs, by_word)]


def _multiply_exact(builder: Any, total: Any, mantissa: Any, exponent: Any) -> Any:
    """RDPOT(SRDHM(total << e+, M), e-) in 64 bits."""
    zero, one, thirty, half, merged = (
        constant(total.type, value) for value in (0, 1, 30, 1 << 30, 1 << 31)
    )
    bits = builder.sub(thirty, exponent)
    addend = builder.shl(one, bits)
    shrinks = builder.icmp_signed("<", exponent, zero)
    is_negative = builder.icmp_signed("<", total, zero)
    borrow = builder.select(builder.and_(shrinks, is_negative), merged, zero)
    addend = builder.add(addend, builder.select(shrinks, half, zero))
    product = builder.sub(builder.add(builder.mul(total, mantissa), addend), borrow)
    return builder.ashr(product, builder.add(bits, one))


def to_bytes(
    builder: Any,
    vectors: Sequence[Any],
    last: ByteOutput,
) -> Any:
    """Vectors of steps, concatenated to one vector of bytes."""
    lanes = vectors[0].type.count
    wanted = lanes * len(vectors)
    groups = [(x, list(range(at * lanes, (at + 1) * lanes))) for at, x in enumerate(vectors)]
    groups = narrow_pairs(builder, groups)
    if HAS_ROUNDING_PRODUCTS and last.zero_point is not None:
        kind = groups[0][0].type
        zero_point = builder.splat(builder.trunc(last.zero_point, HALFWORD), kind.count)
        groups = [(builder.call_same("llvm.sadd.sat", x, zero_point), at) for x, at in groups]
    [(result, order)] = narrow_pairs(builder, groups)
    ends = (builder.fptosi(bound, WORD) for bound in (last.low, last.high))
    low, high, flip = (
        builder.splat(builder.trunc(x, BYTE), result.type.count) for x in (*ends, last.flip)
    )
    result = builder.xor(builder.clamp_integers(result, low, high), flip)
    return in_order(builder, result, order, wanted)


def in_order(builder: Any, narrow: Any, order: Sequence[int], wanted: int) -> Any:
    """The first bytes of those that `narrow_pairs` left in this order, in that of their numbers."""
    # The order is kept in groups of four bytes: one permutation of words.
    words = builder.bitcast(narrow, vector(WORD, narrow.type.count // 4))
    chosen = builder.pick(words, [order.index(at) // 4 for at in range(0, wanted, 4)])
    return builder.bitcast(chosen, vector(BYTE, wanted))


def narrow_pairs(
    builder: Any, groups: Sequence[Any], narrowed: Callable[[Any, Any, Any], Any] = ISA.narrowed
) -> list[Any]:
    """Pairs of vectors, narrowed to one of elements of half the size; each with the numbers of its
    elements, in the order in which the instruction leaves them.
    """
    result = []
    for at in range(0, len(groups), 2):
        (a, first), (b, second) = groups[at], groups[min(at + 1, len(groups) - 1)]
        order = ISA.narrowing_order(first, second, a.type.element.width)
        result.append((narrowed(builder, a, b), order))
    return result
