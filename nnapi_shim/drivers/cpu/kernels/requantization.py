"""The end of quantized sums: int32 to bytes of the output, rounded twice as the reference does it.

SRDHM and RDPOT (semantics.md 5.3) are floors of sums and nest, so that both are one shift:

    RDPOT(SRDHM(sum, M), n) = (sum * M + addend) >> shift                             in 64 bits

with shift 31 + n and addend 2^30 + 2^(30 + n), less 2^31 for negative sums; 2^30 alone where n is
0. A multiplier of 1 or more, M * 2^(e - 31), has shift 31 - e and addend 2^(30 - e); its sums are
kept to LIMIT before, beyond which every result lies outside of 8 bits.

A table has for `width` columns, `half` of them even ones: int32 M[width], int32 limit[width] and,
in 64 bits, the addends of positive sums, those of negative ones and the shifts, of each first the
`half` of even columns, then those of odd ones: the order in which 32-bit lanes are multiplied.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from nnapi_shim.drivers.cpu.kernels.kernel import helper
from nnapi_shim.drivers.cpu.kernels.numeric import bits64_of, i32, i64
from nnapi_shim.drivers.cpu.kernels.vector import (
    BYTE,
    HALFWORD,
    LONG,
    WORD,
    clamp_integers,
    declaration,
    load,
    long,
    packed,
    pick,
    splat,
    vector,
)
from nnapi_shim.drivers.cpu.lowering.tiling import Tiling

LIMIT = 512
MOST_BITS = 21
"""To the left. More would shift LIMIT out of 32 bits; as many take every sum but 0 beyond LIMIT."""


@helper
def decomposed(multiplier):
    """(M, e) with multiplier = M * 2^(e - 31) and 2^30 <= M < 2^31, of a float64 that is not
    negative (semantics.md 5.2); (0, 0) for what is too small and for NaN. e is at most MOST_BITS.
    """
    bits = bits64_of(multiplier)
    exponent = (bits >> 52) - 1022
    mantissa = ((bits & ((1 << 52) - 1) | (1 << 52)) + (1 << 21)) >> 22
    if mantissa == 1 << 31:
        mantissa, exponent = 1 << 30, exponent + 1
    if exponent < -31 or multiplier != multiplier:
        mantissa, exponent = 0, 0
    return mantissa, min(exponent, MOST_BITS)


@helper
def write_column(table, width, column, multiplier):
    """The entries of one column."""
    mantissa, exponent = decomposed(multiplier)
    words, half = i32(table), (width + 1) // 2
    words[column] = mantissa
    words[width + column] = LIMIT if exponent > 0 else (1 << 31) - 1
    positive, negative = 1 << (30 - max(exponent, 0)), 0
    if exponent < 0:
        positive += 1 << (30 - exponent)
        negative = 1 << 31
    longs = i64(table + 8 * width)
    at = column // 2 + column % 2 * half
    longs[at] = positive
    longs[2 * half + at] = positive - negative
    longs[4 * half + at] = 31 - exponent


# As LLVM code


class Columns(NamedTuple):
    """A table's entries for one vector of sums; pairs are those of its even and its odd lanes."""

    mantissas: Sequence[Any]
    limit: Any
    positive: Sequence[Any]
    negative: Sequence[Any]
    shift: Sequence[Any]


def columns_at(builder: Any, table: Any, width: Any, first: Any, lanes: int) -> Columns:
    """The entries of `lanes` columns of a table from column `first` on."""
    words = vector(WORD, lanes)
    mantissas = load(builder, builder.add(table, builder.shl(first, long(2))), words, 4)
    limits = builder.shl(builder.add(width, first), long(2))
    limit = load(builder, builder.add(table, limits), words, 4)
    half = builder.shl(builder.lshr(builder.add(width, long(1)), long(1)), long(3))
    longs = builder.add(table, builder.shl(width, long(3)))
    longs = builder.add(longs, builder.shl(builder.lshr(first, long(1)), long(3)))
    # Where the first column is an odd one, the even lanes are odd columns.
    is_odd = builder.trunc(first, ir.IntType(1))
    even = builder.add(longs, builder.select(is_odd, half, long(0)))
    odd = builder.add(longs, builder.select(is_odd, long(8), half))
    pairs = []
    for number in range(3):
        skipped = builder.mul(half, long(2 * number))
        places = (builder.add(place, skipped) for place in (even, odd))
        pairs.append([load(builder, place, vector(LONG, lanes // 2), 8) for place in places])
    return Columns(_wide(builder, mantissas), limit, *pairs)


def _wide(builder: Any, words: Any) -> list[Any]:
    """Even and odd lanes in 64 bits each."""
    pairs = builder.bitcast(words, vector(LONG, words.type.count // 2))
    by_word = ir.Constant(pairs.type, [32] * pairs.type.count)
    return [builder.ashr(builder.shl(pairs, by_word), by_word), builder.ashr(pairs, by_word)]


def within_limit(builder: Any, total: Any, columns: Columns) -> Any:
    """Sums of multipliers of 1 or more, kept to LIMIT; all others as they are."""
    lowest = builder.xor(columns.limit, ir.Constant(total.type, [-1] * total.type.count))
    return clamp_integers(builder, total, lowest, columns.limit)


def scaled(builder: Any, total: Any, columns: Columns) -> Any:
    """int32 sums in steps of the output."""
    kind = columns.shift[0].type
    zero = ir.Constant(kind, None)
    results = []
    for lane, x in enumerate(_wide(builder, total)):
        product = builder.mul(x, columns.mantissas[lane])
        is_negative = builder.icmp_signed("<", product, zero)
        addend = builder.select(is_negative, columns.negative[lane], columns.positive[lane])
        result = builder.ashr(builder.add(product, addend), columns.shift[lane])
        results.append(builder.bitcast(result, total.type))
    count = total.type.count
    order = [at + part for at in range(0, count, 2) for part in (0, count)]
    mask = ir.Constant(vector(WORD, count), order)
    return builder.shuffle_vector(*results, mask)


class Bytes(NamedTuple):
    """What becomes of steps of the output: plus zero_point, within [low, high], xor flip.

    All in the range of an int8, low and high as floats; flip is 0x80 where the output is uint8.
    """

    zero_point: Any
    low: Any
    high: Any
    flip: Any


def to_bytes(builder: Any, steps: Sequence[Any], last: Bytes, tiling: Tiling) -> Any:
    """Vectors of int32, one behind the other, as one vector of bytes."""
    lanes = steps[0].type.count
    groups = [(x, list(range(at * lanes, (at + 1) * lanes))) for at, x in enumerate(steps)]
    wanted = lanes * len(steps)
    groups = _halved(builder, groups, tiling)
    kind = groups[0][0].type
    zero_point = splat(builder, builder.trunc(last.zero_point, HALFWORD), kind.count)
    name = f"llvm.sadd.sat.v{kind.count}i16"
    add = declaration(builder.module, name, kind, [kind, kind])
    groups = [(builder.call(add, [x, zero_point]), order) for x, order in groups]
    [(result, order)] = _halved(builder, groups, tiling)
    ends = (builder.fptosi(bound, WORD) for bound in (last.low, last.high))
    low, high, flip = (
        splat(builder, builder.trunc(x, BYTE), result.type.count) for x in (*ends, last.flip)
    )
    result = builder.xor(clamp_integers(builder, result, low, high), flip)
    return pick(builder, result, [order.index(at) for at in range(wanted)])


def _halved(builder: Any, groups: Sequence[Any], tiling: Tiling) -> list[Any]:
    """Pairs of vectors as one of elements of half the size, saturated; each with the numbers of
    its elements, which the processor's instructions mix.
    """
    result = []
    for at in range(0, len(groups), 2):
        (a, first), (b, second) = groups[at], groups[min(at + 1, len(groups) - 1)]
        size = 128 // a.type.element.width if tiling.packs else len(first)
        order = [
            number
            for start in range(0, len(first), size)
            for part in (first, second)
            for number in part[start : start + size]
        ]
        result.append((packed(builder, a, b, tiling.packs), order))
    return result
